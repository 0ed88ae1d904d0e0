"""Plain English in the texts that users read: help, error messages, README.md and docs/users.

usage: tools/prose.py [FOLDER] [--no-hints]
       tools/prose.py [FOLDER] --draw 60 [--seed 1]    sentences at random, for a reader to judge

Words of HARD are findings, and so are messages and flags' help that start with a capital letter and
not with a name (see starts_with_a_word): they are printed, and the exit code is 1. Everything else
is a hint for a writer: the patterns of HINTS, sentences over 30 words, help over two lines, and
messages that end in a full stop. Code blocks (which hold the message patterns) and quoted code are
not read.

--draw prints what a reader is given who has not seen the code: 15 sentences each of help, errors,
users' docs and decisions. Such a reader judges whether each sentence reads naturally and says one
thing; the goal is 57 of 60. For 0.1.0 there were three draws, with the seeds 281151, 281152 and
281153: readers accepted 60, 59 and 59 of 60. Once the texts have changed, a seed draws others.
"""

import argparse
import dataclasses
import pathlib
import random
import re
import sys
from collections.abc import Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import error_texts  # noqa: E402

HARD = re.compile(
    r"\b(told|tells|stands|nobody|whoever|anew|mend|is none|for so long|be had"
    r"|(?<!there )is no(?! (?:longer|more)\b)(?= \w))\b",
    re.I,
)
# A first word in capitals or with a capital, a digit or a sign inside is a name (GPU, S3, TLS,
# InstanceType, Muster.Spares, WWW-Authenticate); these names look like words.
NAMES = {"Environment", "Python", "Slurm"}
CAPITALIZED = re.compile(r"([A-Z][a-z]*)(?![\w/.=-])")
# Words of AWS and of sagemaker-training, byte for byte.
OF_OTHERS = ("Invalid filter pattern", "Expecting 's3' scheme")
# AWS writes its refusals as sentences, and so does muster where it refuses in AWS's place.
IN_PLACE_OF_AWS = ("src/aws/", "src/server/")
SENTENCE = re.compile(r"\.(?: [A-Z]|$)")
# Words that are often wrong, and what is meant most of the time.
HINTS = {
    r"somebody": "name the user or program",
    r"of its own|of their own|of one's own": '"its own …", or "separate"',
    r"beside": '"next to", or "besides"',
    r"at all times": '"always"',
    r"by itself": '"automatically"',
    r"(?:is|are) taken": '"accepted"',
    r"so long|so much|so many": "name the limit",
    r"the ways?|no way": '"route", "link" or "method"',
    r"(?:is|are|was|were) (?:given|asked)": "name who passes or requests it",
    r"comes|goes|gets on": "name what happens",
    r"begins?|began": '"start"',
    r"where there (?:is|are)|what there is": "name the thing",
    r"heed(?:s|ed)?": '"supported" or "used"',
    r"odd one": '"outlier"',
}
HINT = re.compile("|".join(rf"(?P<h{i}>\b(?:{each})\b)" for i, each in enumerate(HINTS)), re.I)
WORDS_MAX = 30
# Two lines of 80 columns, behind the column of the flags' names.
HELP_MAX = 2 * 48

FENCE = re.compile(r"\s*(?:>\s*)*(```|~~~)")
CODE = re.compile(r"`+[^`]*`+")
LINK = re.compile(r"\]\([^)\s]*\)|\{#[\w-]+\}|<https?:[^>]*>")
# A cross-reference in brackets, "([more](page))", and a picture are left out.
LINK_TEXT = re.compile(r" \(\[[^]]*\]\([^)\s]*\)\)|!\[[^]]*\]\([^)\s]*\)|\[([^]]*)\]\([^)\s]*\)")
HEADING = re.compile(r"(?m)^#{1,6} .*$|(?s:<!--.*?-->)")
# The flags of a usage line.
USAGE = re.compile(r"(?:--[\w-]+|[][| A-Z.])+$")
# An error that follows the name of a file.
PREDICATE = re.compile(r"(?:is|has|contains|did|uses|reports) ")
BLOCK = re.compile(r"\s*(?:#{1,6} |[-*] |\d+\. |\||>|!!! |:)")
# A sentence may also start with the lower-case name of a program, or end in a bracket.
DRAWN_END = re.compile(r"\n|(?:(?<=[.!?])|(?<=[.!?]\)))(?<!e\.g\.)(?<!i\.e\.)\s+(?=[\w`*(])")
# A sentence in bold, unlike a label of a few words.
BOLD = re.compile(r"^((?:- )?\*\*(?:\S+ ){9,}[^\s*]+[.!?]\*\*) ")
SENTENCE_END = re.compile(r"(?<=[.!?:;])[\")*]*\s+(?=[\"(*…]*[A-Z…])|\s\|\s|\|$")
FLAG_HELP = re.compile(
    r'"--[\w-]+",\s*"[^"]*",\s*((?:"(?:[^"\\]|\\.)*"\s*)+)|\.help =\s*((?:"(?:[^"\\]|\\.)*"\s*)+)'
)
STRINGS = re.compile(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*')


@dataclasses.dataclass(frozen=True)
class Passage:
    """Some text of one kind (help, error or docs), and where it is."""

    path: pathlib.Path
    line: int
    kind: str
    text: str


@dataclasses.dataclass(frozen=True)
class Remark:
    path: pathlib.Path
    line: int
    hard: bool
    what: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {'' if self.hard else 'hint: '}{self.what}"


def plain(text: str) -> str:
    """Without quoted code and link targets, and of the same lines."""
    text = CODE.sub(lambda found: "…" + "\n" * found[0].count("\n"), text)
    return LINK.sub("]", text)


def passages_of_page(path: pathlib.Path, text: str) -> Iterator[Passage]:
    """Paragraphs, headings, list items and rows of tables of a page in Markdown."""
    lines: list[str] = []
    begin, fenced = 0, False
    for number, line in enumerate([*text.splitlines(), ""], 1):
        fence = FENCE.match(line)
        if lines and (fence or not line.strip() or BLOCK.match(line)):
            yield Passage(path, begin, "docs", plain("\n".join(lines)))
            lines = []
        if fence:
            fenced = not fenced
        elif not fenced and line.strip():
            begin = begin if lines else number
            lines.append(line)


def passages_of_help(path: pathlib.Path, source: str) -> Iterator[Passage]:
    """All texts of more than one word in a table of commands; flags' help is a kind of its own."""
    source = re.sub(r"(?m)^\s*//.*$", "", source)
    of_flags = {each.start(group) for each in FLAG_HELP.finditer(source) for group in (1, 2)}
    for found in STRINGS.finditer(source):
        text = "".join(each[1:-1] for each in re.findall(r'"(?:[^"\\\n]|\\.)*"', found[0]))
        text = text.replace('\\"', '"').replace("\\n", "\n")
        if " " not in text or text.startswith(("sm ", "eval ", "command/")):
            continue  # A name or an example's line.
        if source[: found.start()].endswith((" false, ", " true, ")):
            continue  # A flag's choices.
        kind = "flag" if found.start() in of_flags else "help"
        yield Passage(path, source.count("\n", 0, found.start()) + 1, kind, plain(text))


def passages(root: pathlib.Path) -> Iterator[Passage]:
    tables = sorted((root / "src/command").glob("table_*.cc")) + [root / "src/command/page.h"]
    for file in tables:
        if file.exists():
            yield from passages_of_help(file.relative_to(root), file.read_text())
    for each in error_texts.error_texts(root):
        yield Passage(each.path, each.line, "error", plain(each.text))
    for file in [root / "README.md", *sorted((root / "docs/users").glob("*.md"))]:
        if file.exists():
            yield from passages_of_page(file.relative_to(root), file.read_text())


def starts_with_a_word(passage: Passage) -> bool:
    """Whether a message starts with a capital letter that is not a name's, or an AWS refusal's."""
    first = CAPITALIZED.match(passage.text)
    if not first or first[1] in NAMES or passage.text.startswith(OF_OTHERS):
        return False
    refusal = passage.path.as_posix().startswith(IN_PLACE_OF_AWS)
    return not (refusal and SENTENCE.search(passage.text))


def remarks_on(passage: Passage) -> Iterator[Remark]:
    def at(offset: int, hard: bool, what: str) -> Remark:
        lines = passage.text.count("\n", 0, offset) if passage.kind == "docs" else 0
        return Remark(passage.path, passage.line + lines, hard, what)

    text = passage.text
    one_line = re.sub(r"\s", " ", text)
    for found in HARD.finditer(one_line):
        around = one_line[max(found.start() - 30, 0) : found.end() + 30].strip()
        yield at(found.start(), True, f'"{found[0]}" in "{around}"')
    if passage.kind in ("error", "flag") and starts_with_a_word(passage):
        yield at(0, True, f"a message starts in lower case, except for names: {text[:50]}")
    for found in HINT.finditer(one_line):
        meant = list(HINTS.values())[int(str(found.lastgroup)[1:])]
        yield at(found.start(), False, f'"{found[0]}": {meant}')
    start = 0
    for end in [*(each.start() for each in SENTENCE_END.finditer(text)), len(text)]:
        words = re.findall(r"[\w…][^\s|]*", text[start:end])
        if len(words) > WORDS_MAX:
            yield at(start, False, f"{len(words)} words: {' '.join(words[:8])} …")
        start = end
    if passage.kind == "flag" and len(text) > HELP_MAX:
        yield at(0, False, f"help of {len(text)} characters, at most {HELP_MAX}: {text[:50]}…")
    if passage.kind == "error" and text.endswith(".") and not re.search(r"[.:] [A-Z]|^[A-Z]", text):
        yield at(0, False, f"a message ends in a full stop: {text[-50:]}")


def remarks(root: pathlib.Path) -> list[Remark]:
    found = (remark for passage in passages(root) for remark in remarks_on(passage))
    return list(dict.fromkeys(found))


def sentences(root: pathlib.Path) -> dict[str, list[str]]:
    """Whole sentences of help, errors, users' docs and decisions, with their code, by kind."""
    pages = {"docs": [root / "README.md", *(root / "docs/users").glob("*.md")]}
    pages["decisions"] = list((root / "docs/decisions").glob("*.md"))
    found: dict[str, list[str]] = {"help": [], "errors": []}
    for table in sorted((root / "src/command").glob("table_*.cc")):
        texts = [each.text for each in passages_of_help(table, table.read_text())]
        found["help"] += [each for each in texts if not USAGE.match(each)]
    texts = [each.text for each in error_texts.error_texts(root)]
    found["errors"] = [f"…: {each}" if PREDICATE.match(each) else each for each in texts]
    for kind, files in pages.items():
        found[kind] = []
        for file in sorted(each for each in files if each.exists()):
            prose = re.sub(r"(?ms)^\s*(```|~~~).*?^\s*\1", "", file.read_text())
            prose = HEADING.sub("\n", prose)
            for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*] |\d+\. |\|))", prose):
                text = re.sub(r"\s+", " ", LINK.sub("", LINK_TEXT.sub(r"\1", paragraph))).strip()
                if text.startswith("|"):
                    continue
                found[kind] += DRAWN_END.split(BOLD.sub(r"\1\n", text))
    return {
        kind: [each.strip() for each in texts if len(each.split()) >= 5]
        for kind, texts in found.items()
    }


def draw(root: pathlib.Path, count: int, seed: int) -> list[str]:
    """As many of each kind, none twice."""
    chance = random.Random(seed)
    drawn: list[str] = []
    for texts in sentences(root).values():
        drawn += chance.sample(sorted(set(texts)), min(count // 4, len(set(texts))))
    chance.shuffle(drawn)
    return drawn


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tools/prose.py")
    parser.add_argument("folder", nargs="?", default=".")
    parser.add_argument("--no-hints", action="store_true")
    parser.add_argument("--draw", type=int, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(words)
    if options.draw:
        drawn = draw(pathlib.Path(options.folder), options.draw, options.seed)
        for number, text in enumerate(drawn, 1):
            print(f"{number}. {text}")
        return 0
    found = remarks(pathlib.Path(options.folder))
    hard = [each for each in found if each.hard]
    for each in hard if options.no_hints else found:
        print(each)
    print(f"prose: {len(hard)} findings, {len(found) - len(hard)} hints")
    return 1 if hard else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
