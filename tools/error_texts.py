"""The texts of all errors that the sources make: tests/e2e/test_explain.py looks each up.

usage: tools/error_texts.py [FOLDER]    prints FILE:LINE: TEXT

An error is made by a call of one of MAKERS. Of its arguments those count that hold string literals;
what is no literal is a "…" of the text, and each branch of a "?:" makes a text of its own.
"""

import dataclasses
import itertools
import pathlib
import re
import sys
from collections.abc import Iterator

# How a maker joins its arguments, where it is not by ": ". The longest beginning of a path counts.
FORMS = {
    "fail": "{1}",
    "fail_errno": "{0}: Input/output error",
    "errno_text": "{0}: Input/output error",
    "wrong_line": "{1}",
    "wrong_value": "{0}: expected {1}, got …",
    "stop_with": "{1}",
    "complain_of": "{0}",
    "say_error": "{2}",
    "error": "{0}",
    "s3_refusal": "the server returned 400 ({0}); the server says: {1}",
    "bad_argument": "the server returned 400 (InvalidArgument); the server says: {0}",
    "Refusal": "{0}: {1}",
    "AuthRefusal": "the server returned 400 (AuthorizationHeaderMalformed); the server says: {1}",
    "refused": "{0}",
    "unfit": "object …: {1}",
    "malformed": "SerializationException: {0}",
    "not_serialized": "SerializationException: {0}",
    "denied": "the command from mpirun was rejected: {0}",
    "expected": "{0}: expected {1}",
    "invalid": "{0}",
    "bad_entry": 'sagemaker_program "…" {1}',
    "library_error": "{0}: wrong data",
    "failed_here": "{1}",
    "return": "{0}: {1}",
    "src/aws/api/cbor_protocol fail": "SerializationException: invalid or unsupported CBOR: {0}",
    "src/job/training/python_json expected": "line …, column …: expected {0}",
    "src/server/cloudformation/ invalid": None,  # As AWS says it.
    "src/server/operations/stack invalid": None,
    "src/server/registry/ invalid": None,
    "src/server/web/ invalid": None,
    "src/server/web/web_server_hosts fail": None,  # Calls that only the page itself makes.
    "src/server/web/web_server_metrics fail": None,
    "src/server/web/web_server_runs fail": None,
    "src/server/runs/ fail": None,
    "src/server/runs/ refused": None,
    "at_line": "line …: {1}",
    "bad_head": "{0}",
    "invalid_bind": "--bind: {0}",
    "invalid_challenge": "WWW-Authenticate: {0}",
    "invalid_host_list": 'the list of hosts "…": {1}',
    "invalid_hosts": "{0}: {1}",
    "invalid_image": "TrainingImage {0}: {1}",
    "invalid_manifest": "{0}",
    "invalid_message": "{0}: {1}",
    "invalid_reference": 'image "…": {1}',
    "invalid_signature": "invalid signature: {0}",
    "invalid_vpc": "VpcConfig: {0}",
    "invalid_timeline": "invalid timeline: {0}",
    "invalid_stacks": "stacks: expected {0}",
    "src/job/training/config_files expected": "/opt/ml/input/config/{0}: expected {1}",
    "src/job/training/config_files fail": "/opt/ml/input/config/{1}",
    "expected_key": "jobs.{0}: expected {1}",
    "src/platform/places/slurm_cluster expected": "engine.slurm: {0}: expected {1}",
    "src/platform/places/slurm_cluster fail": "engine.slurm: {1}",
    "invalid_options": "sagemaker_mpi_custom_mpi_options: {0}",
    "src/job/launch/mpirun_options refused": '"{0}" cannot be set by a job: {1}',
    "src/server/registry/ denied": "{0}",
    "invalid_filter": "Invalid filter pattern: {0}",
    "invalid_name": 'sagemaker_program: the entry point "…" {0}; expected a relative path '
    "inside the source folder, such as train.py or bin/train.sh",
    "unusable": "output: {0}",
}
MAKERS = {form.rsplit(" ", 1)[-1] for form in FORMS}
# Made for tests alone.
LEFT_OUT = ("src/engine/fake.cc",)
# What is given to a maker and no error.
NO_ERRORS = ("Reporting training FAILURE", "text", "…")

TOKEN = re.compile(
    r'(?P<string>R"\((?:.|\n)*?\)"|"(?:[^"\\\n]|\\.)*")|(?P<space>//[^\n]*|/\*(?:.|\n)*?\*/|\s+)'
    r"|(?P<char>'(?:[^'\\\n]|\\.)+')|(?P<word>[A-Za-z_]\w*)|(?P<other>.)"
)
CODE = re.compile(r'"([A-Z][a-z]+){2,}"')
WRAPPINGS = ([], ["std", ":", ":", "string"], ["std", ":", ":", "move"])
TEXTS_MAX = 16


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str | None
    text: str
    at: int

    def depth(self) -> int:
        """What it adds to the number of open brackets."""
        return (self.text in "([{") - (self.text in ")]}") if self.kind == "other" else 0


@dataclasses.dataclass(frozen=True)
class ErrorText:
    path: pathlib.Path
    line: int
    text: str


def tokens(source: str) -> list[Token]:
    found = (Token(each.lastgroup, each.group(), each.start()) for each in TOKEN.finditer(source))
    return [token for token in found if token.kind != "space"]


def literal(text: str) -> str:
    if text.startswith('R"('):
        return text[3:-2]
    return text[1:-1].replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")


def split_top(part: list[Token], separator: str) -> list[list[Token]]:
    """`part` at each `separator` that stands in no bracket."""
    pieces: list[list[Token]] = [[]]
    depth = 0
    for token in part:
        depth += token.depth()
        if depth == 0 and token.kind == "other" and token.text == separator:
            pieces.append([])
        else:
            pieces[-1].append(token)
    return pieces


def unwrapped(part: list[Token]) -> list[Token]:
    """Without std::string(...) or brackets around all of it."""
    while part and part[-1].text == ")":
        start = next(at for at, token in enumerate(part) if token.text == "(")
        inner = part[start + 1 : -1]
        depths = list(itertools.accumulate(token.depth() for token in inner))
        if [token.text for token in part[:start]] not in WRAPPINGS or min(depths, default=0) < 0:
            break
        part = inner
    return part


def texts_of(part: list[Token]) -> list[str]:
    """All that an expression may say."""
    part = unwrapped(part)
    branches = split_top(part, "?")
    arms = split_top(branches[1], ":") if len(branches) == 2 else []
    if len(arms) == 2:
        return texts_of(arms[0]) + texts_of(arms[1])
    terms = split_top(part, "+")
    if len(terms) > 1:
        said = itertools.product(*(texts_of(term) for term in terms))
        return ["".join(each) for each in itertools.islice(said, TEXTS_MAX)]
    if part and all(token.kind == "string" for token in part):
        return ["".join(literal(token.text) for token in part)]
    return ["…"]


def calls(source: str) -> Iterator[tuple[Token, list[list[Token]]]]:
    """Each maker's name, and its arguments, in brackets of either kind."""
    stream = tokens(source)
    for at, token in enumerate(stream[:-1]):
        if token.text not in MAKERS or stream[at + 1].text not in ("(", "{"):
            continue
        depths = itertools.accumulate(each.depth() for each in stream[at + 1 :])
        length = next(number for number, depth in enumerate(depths) if depth == 0)
        arguments = split_top(stream[at + 2 : at + 1 + length], ",")
        if token.text != "return" or is_refusal(arguments):
            yield token, arguments


def is_refusal(arguments: list[list[Token]]) -> bool:
    """return {"NoSuchThing", "words"}"""
    code = arguments[0]
    return len(arguments) > 1 and len(code) == 1 and bool(CODE.fullmatch(code[0].text))


def form_of(path: str, maker: str) -> str | None:
    fitting = [form for form in FORMS if form.endswith(f" {maker}")]
    fitting = [form for form in fitting if path.startswith(form.split()[0])]
    return FORMS[max(fitting, key=len)] if fitting else FORMS.get(maker, "{0}")


def joined(form: str, arguments: tuple[str, ...]) -> str:
    arguments += ("…",) * 3
    text = re.sub("…+", "…", form.format(*arguments))
    return re.sub("^(ValidationException|ResourceNotFoundException): ", "", text)  # As clients do.


def error_texts(root: pathlib.Path) -> Iterator[ErrorText]:
    for path in sorted((root / "src").rglob("*.cc")):
        name = path.relative_to(root)
        if path.name.endswith("_test.cc") or str(name) in LEFT_OUT:
            continue
        source = path.read_text()
        for maker, arguments in calls(source):
            line = source.count("\n", 0, maker.at) + 1
            said = itertools.product(*(texts_of(argument) for argument in arguments))
            for texts in itertools.islice(said, TEXTS_MAX):
                form = form_of(str(name), maker.text)
                text = joined(form, texts) if form else "…"
                if text not in NO_ERRORS and any(each.strip("… :") for each in texts):
                    yield ErrorText(name, line, text)


if __name__ == "__main__":
    for each in error_texts(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")):
        print(f"{each.path}:{each.line}: {each.text}")
