"""Commands and output in the docs that test_docs.py cannot run as they are printed.

README.md's jobs and operators run, or show their plan. All other commands of README.md, of
docs/debugging.md and of the users' pages exist, with their flags. Output that follows no command,
such as a GPU's figures, is what a unit test expects of the code that prints it.
"""

import ast
import itertools
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from fit import GUARD_SECONDS
from lab import REPOSITORY, SM
from test_docs import BLOCK, DEBUGGING, PAGES
from test_operators import with_sm
from training import host_environment

sys.path.insert(0, str(REPOSITORY / "tools"))

from gpu_check import parts as gpu_parts  # noqa: E402
from gpu_check.run import Report  # noqa: E402

README = REPOSITORY / "README.md"
GPUS = REPOSITORY / "docs/users/gpus.md"
# The pages that quote output of commands that no test of docs runs: how many blocks, and the tests
# that expect this output.
QUOTED = {
    "gpus": (
        7,
        "src/cli/top/top_test.cc",
        "src/cli/view/job_view_test.cc",
        "src/engine/slurm/view_test.cc",
        "src/machine/steward/card_memory_test.cc",
        "src/os/devices/xid_test.cc",
        "src/platform/hang_test.cc",
        "src/platform/stack_tree_test.cc",
    ),
    "queue": (2, "src/cli/view/job_view_test.cc", "src/server/queue/queue_outlook_test.cc"),
    "rootless": (1, "src/platform/places/rootless_user_test.cc"),
    "several-machines": (3, "src/engine/slurm/view_test.cc", "src/job/preflight/judge_test.cc"),
    "slurm": (
        2,
        "src/cli/view/job_view_test.cc",
        "src/engine/cluster/swap_test.cc",
        "tests/e2e/test_rehearsal.py",
    ),
}
# What the caller of the code under test writes before a line.
LEAD = re.compile(
    r"^(?:sm(?: fit: without root)?: |algo-\d muster: )?(?:warning: )?(?:preflight: )?"
    r"(?:Waiting for free hosts: )?"
)
STRING = r'"(?:[^"\\\n]|\\.)*"'
FLAG = re.compile(r"(?<![\w-])--?[a-zA-Z][\w-]*")
# What README.md's first example trains with: rank 3 fails.
TRAIN = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.Get_rank() == 0:
    print("epoch 1: loss 0.48", flush=True)
comm.Barrier()
if comm.Get_rank() == 3:
    raise ValueError("batch 17: expected 32 labels, got 31")
comm.Barrier()
"""


def blocks_of(page: pathlib.Path, language: str) -> list[str]:
    return [text for found, _, text in BLOCK.findall(page.read_text()) if found == language]


def pattern_of(line: str) -> str:
    """A line of output, whatever its times and other numbers; a remark behind it is left out."""
    words = re.split(r" {3,}(?=[a-z`])", line.rstrip())[0]
    return re.sub(r"\d+", r"\\d+", re.escape(words))


# --- README.md's jobs ---


def test_readmes_example_of_a_failure_looks_like_that(machine):
    (lines,) = [text for text in blocks_of(README, "text") if text.startswith("$ sm fit")]
    command, *output = lines.splitlines()
    (machine.source / "train.py").write_text(TRAIN)
    words = [*shlex.split(command)[2:], "--source-dir", machine.source]
    words[words.index("out")] = machine.output
    job = machine.sm(*words)
    assert job.wait(GUARD_SECONDS) == 1, job.text
    for line in output:
        assert re.search(f"^{pattern_of(line)}$", job.text, re.M), (line, job.text)


def test_readmes_demo_prints_what_readme_says(machine):
    (output,) = [text for text in blocks_of(README, "text") if "Billable seconds" in text]
    source = REPOSITORY / "examples/mpi-demo"
    job = machine.sm("fit", "mpi_demo.py", "--source-dir", source, "--hosts", 3,
                     "--processes-per-host", 2, "--output", machine.output)  # fmt: skip
    assert job.wait(GUARD_SECONDS) == 0, job.text
    for line in output.splitlines():
        assert re.search(f"^{pattern_of(line)}$", job.text, re.M), (line, job.text)


def test_readmes_own_job_can_be_planned(machine):
    (command,) = [text for text in blocks_of(README, "sh") if " fit train.py" in text]
    words = shlex.split(command.replace("\\\n", " "))
    assert words[:2] == ["build/release/sm", "fit"]
    (machine.folder / "code").mkdir()
    (machine.folder / "data").mkdir()
    (machine.folder / "code/train.py").write_text(TRAIN)
    done = subprocess.run([SM, *words[1:], "--print-plan"], cwd=machine.folder,
                          env=machine.environment(), capture_output=True, text=True,
                          timeout=GUARD_SECONDS)  # fmt: skip
    assert done.returncode == 0 and '"epochs"' in done.stdout, done


(LINES,) = [text.splitlines() for text in blocks_of(README, "sh") if "sm mpirun" in text]
OPERATORS = {line.split()[1] for line in LINES}


@pytest.mark.parametrize("line", LINES)
def test_readmes_operators_can_be_planned(training, line):
    job = training(1, 1, "", files={"ds.json": "{}"})
    sm, *words = shlex.split(line)
    names = 2 if words[0] in ("tf", "mxnet") else 1
    planned = [sm, *words[:names], "--print-plan", *words[names:]]
    job.trains["algo-1"] = job.hosts[0].start(planned, env=with_sm(host_environment(job.key)))
    job.succeed()
    assert "launcher: " in job.leader.text, job.leader.text


# --- commands that are only named ---


INTERNAL = {"rank"}  # muster itself starts it, so it has no help.


def help_of(words: list[str]) -> str | None:
    done = subprocess.run([SM, "help", *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def named_commands(text: str) -> list[list[str]]:
    """`sm ...` in code; of `sm a|b`, each by itself."""
    code = [*re.findall(r"`(sm [^`]+)`", text), *re.findall(r"(?m)^(?:\$ )?(sm [^\n#]+)", text)]
    found = []
    for line in code:
        line = re.split(r' \| |"?\$\(', line)[0]  # What follows is another program's.
        words = line.replace("\\|", "|").replace("[", " ").replace("]", " ").split()[1:]
        choices = [word.split("|") for word in words[:2]]
        found += [[*first, *words[2:]] for first in itertools.product(*choices)]
    return [words for words in found if words[0] not in INTERNAL and not words[0].endswith(":")]


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_commands_have_the_flags_that_pages_name(page):
    named = named_commands(page.read_text())
    assert named
    for words in named:
        helps = [help_of(words[:count]) for count in (2, 1)]
        text = next((each for each in helps if each), None)
        assert text, f"sm {' '.join(words)}: unknown command"
        own = " ".join(words)
        if words[0] in OPERATORS:  # What follows the program is the program's.
            own = re.split(r"\.py| -- ", own)[0]
        for flag in FLAG.findall(own):
            assert re.search(rf"(?<![\w-]){flag}(?![\w-])", text), f"sm {' '.join(words)}: {flag}"


@pytest.mark.parametrize("page", [README, DEBUGGING], ids=lambda page: page.stem)
def test_make_has_the_targets_that_pages_name(page):
    makefiles = (REPOSITORY / "Makefile").read_text() + (REPOSITORY / "tools/deps.mk").read_text()
    named = set(re.findall(r"(?m)(?:`|^)make ([a-z0-9-]+)", page.read_text()))
    assert named
    for target in named:
        assert re.search(rf"(?m)^(?:[a-z0-9-]+ )*{target}(?: [a-z0-9-]+)*:", makefiles), target


def test_programs_of_a_debug_build_and_their_cases_exist():
    (commands,) = [text for text in blocks_of(DEBUGGING, "sh") if "ctest" in text]
    programs = re.findall(r"build/dev/(\w+)_test(?: -tc='([^*']+)\*')?", commands)
    programs += [(each, "") for each in re.findall(r"-R '(\w+)_test'", commands)]
    assert len(programs) > 3
    for room, case in programs:
        folders = [*(REPOSITORY / "src").glob(f"**/{room}"), REPOSITORY / "tests" / room]
        tests = [file for folder in folders for file in folder.glob("*.cc")]
        assert tests and any(f'TEST_CASE("{case}' in file.read_text() for file in tests), room
    for fuzzer, corpus in re.findall(r"fuzz_(\w+) (fuzz/found/\w+)", commands):
        assert (REPOSITORY / f"fuzz/{fuzzer}.cc").exists() and fuzzer in corpus


# --- output that follows no command ---


def literals_of(path: pathlib.Path) -> str:
    """The strings in a file's code; those that follow each other are one."""
    found = []
    for each in re.findall(rf"{STRING}(?:\s*{STRING})*", path.read_text()):
        parts = [literal[1:-1] for literal in re.findall(STRING, each)]
        found.append("".join(parts).replace("\\n", "\n").replace('\\"', '"'))
    return "\n".join(found)


def quoted_outputs(page: pathlib.Path) -> list[str]:
    """The blocks of output, but those of commands that test_docs.py runs."""
    text = page.read_text()
    found, runs, end = [], False, 0
    for block in BLOCK.finditer(text):
        if block[1] == "sh":
            runs = not block[2].strip()
        elif block[1] == "text" and (not runs or text[end : block.start()].strip()):
            found.append(block[3])
        end = block.end()
    return found


@pytest.mark.parametrize("name", QUOTED)
def test_quoted_output_is_what_tests_expect(name):
    page = REPOSITORY / f"docs/users/{name}.md"
    count, *tests = QUOTED[name]
    outputs = quoted_outputs(page)
    assert len(outputs) == count
    if page == GPUS:
        outputs.pop()  # The acceptance test's: below.
    lines = [line for output in outputs for line in output.splitlines()]
    lines += re.findall(r"`(GPU 3.*? \(Xid \d+\)[^`]*|GPU 3: Xid [^`]*)`", page.read_text())
    expected = "\n".join(literals_of(REPOSITORY / path) for path in tests)
    for line in lines:
        if line.startswith("$ "):
            continue
        for part in re.split("…|; ", LEAD.sub("", line)):  # "…": what the page leaves out.
            assert part.strip() in expected, line


def said_by(node: ast.expr) -> str:
    """A pattern of the texts that an expression makes."""
    if isinstance(node, ast.Constant):
        return re.escape(str(node.value))
    if isinstance(node, ast.JoinedStr):
        return "".join(said_by(each) for each in node.values)
    if isinstance(node, ast.BinOp):
        return said_by(node.left) + said_by(node.right)
    return ".*"


def test_the_quoted_acceptance_test_is_as_the_tool_prints_it(capsys):
    _, *rows = quoted_outputs(GPUS)[-1].splitlines()
    source = ast.parse(pathlib.Path(gpu_parts.__file__).read_text())
    functions = {each.name: each for each in source.body if isinstance(each, ast.FunctionDef)}
    for row, (name, _, _, function) in zip(rows, gpu_parts.PARTS, strict=True):
        result, part, seconds, text = re.fullmatch(r"(\w+) +(\S+) +(\S+) s  (.*)", row).groups()
        Report().add(part, result, float(seconds), text)
        assert part == name and capsys.readouterr().out == f"{row}\n"
        returns = [each for each in ast.walk(functions[function.__name__])
                   if isinstance(each, ast.Return) and each.value]  # fmt: skip
        if text.endswith("…"):
            continue
        assert any(re.fullmatch(said_by(each.value), text) for each in returns), row
