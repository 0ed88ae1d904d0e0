"""What reads the memory of a job's processes has no rights on the machine, and is not believed."""

import os
import shutil
import tempfile

import pytest

from fit import GUARD_SECONDS
from lab import VENV
from process import wait_until

SCRIPT = "import time\nprint('begun', flush=True)\ntime.sleep(1000)\n"
# In py-spy's place: what a fault in it would give to a job.
TAKEN_OVER = """#!/bin/sh
tell() { printf '{"name": "%%s", "filename": "", "line": 0},' "$1"; }
printf '[{"thread_name": "MainThread", "active": false, "frames": ['
cat /etc/shadow >/dev/null 2>&1 && tell "reads the machine's secrets"
kill -0 %d 2>/dev/null && tell "signals the machine's processes"
cat /proc/%d/environ >/dev/null 2>&1 && tell "reads the machine's processes"
touch %s/written 2>/dev/null && tell "writes the machine's files"
cat %s/*/key >/dev/null 2>&1 && tell "reads the job's key"
tell "all was tried"
printf '{"name": "end"}]}]'
"""


@pytest.fixture
def programs():
    """A folder that everybody may enter, for a py-spy of the test's own."""
    folder = tempfile.mkdtemp(prefix="mu-")
    os.chmod(folder, 0o755)
    yield folder
    shutil.rmtree(folder)


def told(machine, programs, program: str) -> str:
    path = f"{programs}/py-spy"
    with open(path, "w") as file:
        file.write(program)
    os.chmod(path, 0o755)
    (machine.source / "script.py").write_text(SCRIPT)
    variables = {"PATH": f"{programs}:{machine.environment()['PATH']}"}
    words = ("--source-dir", machine.source, "--name", "still", "--python", VENV / "bin/python")
    fit = machine.sm("fit", "script.py", *words, environment=variables)
    wait_until("the job", lambda: b"begun" in fit.out, GUARD_SECONDS)
    stacks = machine.sm("stacks", "still")
    assert stacks.wait(GUARD_SECONDS) == 0, stacks.text
    assert machine.sm("stop", "still", "--wait").wait(GUARD_SECONDS) == 0
    fit.wait(GUARD_SECONDS)
    return stacks.out.decode()


def test_a_reader_that_was_taken_over_reaches_nothing_of_the_machine(machine, programs):
    state = machine.state / "jobs"
    pid = os.getpid()
    text = told(machine, programs, TAKEN_OVER % (pid, pid, machine.state, state))
    assert "all was tried" in text, text
    assert "machine's" not in text and "key" not in text, text


@pytest.mark.parametrize(
    "program",
    [
        "#!/bin/sh\nyes '[{' | head -c 3000000\n",
        "#!/bin/sh\necho '[{\"frames\": 3}]'\n",
        "#!/bin/sh\nwhile :; do :; done\n",
        "#!/bin/sh\necho no such process >&2; exit 1\n",
    ],
    ids=["endless", "nonsense", "busy", "failing"],
)
def test_a_reader_that_tells_nonsense_is_an_error_of_its_process(machine, programs, program):
    text = told(machine, programs, program)
    assert "algo-1\n  (" in text, text
