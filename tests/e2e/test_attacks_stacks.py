"""What reads the memory of a job's processes has no rights on the machine, and is not believed."""

import os
import shutil
import subprocess
import tempfile

import pytest

from fit import GUARD_SECONDS
from lab import VENV
from process import wait_until
from still import compiled

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


def told(machine, folder, program: str, python="/usr/bin/python3") -> str:
    path = f"{folder}/py-spy"
    with open(path, "w") as file:
        file.write(program)
    os.chmod(path, 0o755)
    (machine.source / "script.py").write_text(SCRIPT)
    variables = {"PATH": f"{folder}:{machine.environment()['PATH']}"}
    words = ("--source-dir", machine.source, "--name", "still", "--python", python)
    fit = machine.sm("fit", "script.py", *words, environment=variables)
    wait_until("the job", lambda: b"begun" in fit.out, GUARD_SECONDS)
    stacks = machine.sm("stacks", "still")
    assert stacks.wait(GUARD_SECONDS) == 0, stacks.text
    assert machine.sm("stop", "still", "--wait").wait(GUARD_SECONDS) == 0
    fit.wait(GUARD_SECONDS)
    return stacks.out.decode()


@pytest.mark.parametrize("where", ["on PATH", "in the job's Python environment"])
def test_a_reader_that_was_taken_over_reaches_nothing_of_the_machine(machine, programs, where):
    state = machine.state / "jobs"
    pid = os.getpid()
    program = TAKEN_OVER % (pid, pid, machine.state, state)
    if where == "on PATH":
        text = told(machine, programs, program)
    else:
        os.chmod(programs, 0o700)
        venv = f"{programs}/venv"
        subprocess.run([VENV / "bin/python", "-m", "venv", "--without-pip", venv], check=True)
        text = told(machine, f"{venv}/bin", program, f"{venv}/bin/python")
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
def test_a_reader_with_invalid_output_is_an_error_of_its_process(machine, programs, program):
    text = told(machine, programs, program)
    assert "algo-1\n  (" in text, text


# Code in a file that begins as a program does, and says what its reader should choke on: tables of
# 67 million entries, records that name themselves, an expression that runs for good, names that go
# on. Its frame pointer points to itself. 30,000 mappings beside it.
HOSTILE = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static uint8_t file[0x3000];
static void put(size_t at, uint64_t value, size_t bytes) { memcpy(file + at, &value, bytes); }
int main(int argc, char** argv) {
  memcpy(file, "\x7f" "ELF\2\1\1", 7);
  put(18, 62, 2); put(32, 64, 8); put(40, 0x400, 8); put(54, 56, 2); put(56, 0xffff, 2);
  put(58, 64, 2); put(60, 0xffff, 2); put(62, 3, 2);
  put(64, 1, 4);  /* The first segment is the file, */
  put(120, 0x6474e550, 4); put(120 + 16, 0x800, 8);  /* the second its frames' table. */
  for (int i = 0; i < 40; ++i) {  /* Sections: symbols without end, whose names are symbols. */
    const size_t at = 0x400 + i * 64;
    put(at, 0, 4); put(at + 4, i % 2 ? 2 : 11, 4); put(at + 16, ~0ull, 8); put(at + 24, 0x10, 8);
    put(at + 32, ~0ull, 8); put(at + 40, i, 4);
  }
  put(0x800, 0x3b031b01, 4); put(0x804, 0x100, 4); put(0x808, 1 << 26, 4);
  for (size_t at = 0x80c; at < 0x1000; at += 8) { put(at, 0, 4); put(at + 4, 0x1000 - 0x800, 4); }
  put(0x1000, 0x200, 4); put(0x1004, 4, 4);          /* An FDE that is its own CIE, */
  if (argv[1][0] == 'e') {                           /* or one whose frame is found in a loop. */
    put(0x1004, 0x1004 - 0x1800, 4);
    put(0x1008, 0x2000, 8); put(0x1010, 0x1000, 8); put(0x1018, 0, 1);
    const uint8_t forever[] = {0x0f, 3, 0x2f, 0xfd, 0xff};
    memcpy(file + 0x1019, forever, sizeof forever);
    put(0x1800, 20, 4); put(0x1804, 0, 4);
    memcpy(file + 0x1808, "\1zR\0\1\x78\x10\1\0", 9);
  }
  const uint8_t code[] = {0x48, 0x89, 0xfd, 0xeb, 0xfe};  /* mov %rdi, %rbp; here: jmp here */
  memcpy(file + 0x2000, code, sizeof code);
  FILE* out = fopen("/tmp/hostile", "wb");
  fwrite(file, 1, sizeof file, out);
  fclose(out);
  FILE* in = fopen("/tmp/hostile", "rb");
  uint8_t* at = mmap(NULL, sizeof file, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(in), 0);
  for (int i = 0; i < 30000; ++i)
    mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (argv[1][0] == 't') ftruncate(fileno(fopen("/tmp/hostile", "r+")), 0x2005);
  uint64_t frame[2] = {(uint64_t)frame, (uint64_t)(at + 0x2000)};
  printf("begun\n");
  fflush(stdout);
  ((void (*)(void*))(at + 0x2000))(frame);
  return 0;
}
"""


@pytest.mark.parametrize("how", ["record", "expression", "truncated"])
def test_a_program_made_to_mislead_its_reader_does_no_harm(machine, how):
    compiled(machine.source, HOSTILE, "cc")
    (machine.source / "run.sh").write_text(f"exec ./still {how}\n")
    fit = machine.sm("fit", "run.sh", "--source-dir", machine.source, "--name", "still",
                     "--output", machine.output)  # fmt: skip
    wait_until("the job", lambda: b"begun" in fit.out, GUARD_SECONDS)
    for words in ((), ("--native",), ("--json",)):
        stacks = machine.sm("stacks", "still", *words)
        assert stacks.wait(GUARD_SECONDS) == 0, stacks.text
        assert "sm sampler" not in stacks.text and "could not all be read" not in stacks.text
        assert "hostile" in stacks.text, stacks.text
    assert machine.sm("stop", "still", "--wait").wait(GUARD_SECONDS) == 0
    fit.wait(GUARD_SECONDS)
