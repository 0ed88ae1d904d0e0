"""`sm stacks` of programs that are not Python's, and of what is below Python's calls."""

import re

import pytest

from fit import GUARD_SECONDS
from lab import SM, VENV
from oci_image import layer, programs, write_layout
from process import wait_until
from still import STILL, compiled

MARK = "<- stuck in a different place than most"
BARRIER = """
from mpi4py import MPI
def train():
    if MPI.COMM_WORLD.rank != 2:
        MPI.COMM_WORLD.Barrier()
    MPI.COMM_WORLD.recv(source=0, tag=9)
print("begun, rank", MPI.COMM_WORLD.rank, flush=True)
train()
"""
# Each rank prints the longest time that it was stopped. It never waits, so this is the time in
# which it neither ran nor waited for a CPU. The three clocks show the same moment if they are read
# without a break. The sleep at the start checks that the rank can measure its own pauses.
HELD = """
import os, time
from mpi4py import MPI
waits = os.open("/proc/thread-self/schedstat", os.O_RDONLY)
def held():
    while True:
        begin = time.monotonic_ns()
        used = time.thread_time_ns() + int(os.pread(waits, 99, 0).split()[1])
        now = time.monotonic_ns()
        if now - begin < 200_000:
            return now - used
begin = held()
time.sleep(0.15)
print(f"rank {MPI.COMM_WORLD.rank} held by itself: {(held() - begin) / 1e6:.3f} ms", flush=True)
def train():
    longest, last = 0, held()
    while True:
        now = held()
        if now - last > longest:
            longest = now - last
            print(f"rank {MPI.COMM_WORLD.rank} held by others: {longest / 1e6:.3f} ms", flush=True)
            now = held()
        last = now
train()
"""
HELD_MAX_MS = 100


def stacks(machine, *words: str) -> str:
    told = machine.sm("stacks", "still", *words)
    assert told.wait(GUARD_SECONDS) == 0, told.text
    return told.out.decode()


def stop(machine, fit) -> None:
    assert machine.sm("stop", "still", "--wait").wait(GUARD_SECONDS) == 0
    fit.wait(GUARD_SECONDS)


def begin(machine, how: str, *words):
    (machine.source / "run.sh").write_text(f"exec ./still {how}\n")
    fit = machine.sm("fit", "run.sh", "--source-dir", machine.source, "--name", "still",
                     "--output", machine.output, *words)  # fmt: skip
    ranks = 4 if "--processes-per-host" in words else 1
    wait_until("all ranks", lambda: fit.out.decode().count("begun, rank") == ranks, GUARD_SECONDS)
    return fit


MPI = ("--hosts", 2, "--processes-per-host", 2, "--python", VENV / "bin/python")


@pytest.mark.parametrize("how, call", [("spins", "spin"), ("reads", "read_batch")])
def test_ranks_in_c_are_identified_by_their_calls(machine, how, call):
    compiled(machine.source, STILL, "mpicc", "-DWITH_MPI")
    fit = begin(machine, how, *MPI)

    def odd() -> bool:
        text = stacks(machine)
        return f"rank 2  {MARK}" in text and "MPI_Barrier  libmpi.so" in text

    wait_until("rank 2 marked", odd, GUARD_SECONDS)
    text = stacks(machine)
    assert re.search(rf"rank 2  {MARK}\n +{call}  still\n", text), text
    assert re.search(r"ranks 0-3\n +main  still\n", text), text
    stop(machine, fit)


def test_native_calls_stand_below_pythons(machine):
    fit = machine.fit(BARRIER, "--name", "still", hosts=2, per_host=2)
    wait_until("all ranks", lambda: fit.out.decode().count("begun, rank") == 4, GUARD_SECONDS)

    def below() -> bool:
        text = stacks(machine, "--native")
        return bool(re.search(r"train  script.py:5\n(.*\n)* +MPI_Barrier  libmpi.so", text))

    wait_until("native calls", below, GUARD_SECONDS)
    text = stacks(machine, "--native")
    assert "_PyEval_EvalFrameDefault" not in text and "could not be read" not in text, text
    assert re.search(r"train  script.py:6\n(.*\n)* +MPI_(Mp|Mr|R)", text), text
    stop(machine, fit)


@pytest.mark.deep  # A figure of a quiet machine.
def test_no_rank_is_held_for_long(machine):
    fit = machine.fit(HELD, "--name", "still", hosts=2, per_host=4)

    def told(whose: str) -> dict[str, float]:
        """The last time that each rank printed, which is the longest."""
        pattern = rf"rank (\d) held by {whose}: ([\d.]+) ms\n"
        return {rank: float(ms) for rank, ms in re.findall(pattern, fit.out.decode())}

    wait_until("all ranks", lambda: len(told("others")) == 8, GUARD_SECONDS)
    assert all(ms > HELD_MAX_MS for ms in told("itself").values()), told("itself")
    for words in ((), ("--native",)) * 3:
        assert "train  script.py" in stacks(machine, *words)
    assert all(ms < HELD_MAX_MS for ms in told("others").values()), told("others")
    stop(machine, fit)


@pytest.mark.parametrize("flags", [(), ("-static",), ("-static", "-s")],
                         ids=["dynamic", "static", "stripped"])  # fmt: skip
def test_an_images_own_program_is_shown(machine, tmp_path, flags):
    """The machine has no such file: it is read where the host has it."""
    program = compiled(tmp_path / "build", STILL, "cc", *flags)
    members = {**programs("/bin/sh", str(SM), str(program)),
               "etc/passwd": b"root:x:0:0::/root:/bin/sh\n"}  # fmt: skip
    members["opt/still"] = members.pop(str(program).removeprefix("/"))
    del members[str(SM).removeprefix("/")]
    write_layout(tmp_path / "image", [layer(members)], process={"Entrypoint": ["/opt/still"]})
    words = ("image", "import", f"oci:{tmp_path / 'image'}:v1", "--name", "still:v1")
    imported = machine.sm(*words)
    assert imported.wait(GUARD_SECONDS) == 0, imported.text
    fit = machine.sm("fit", "--image", "still:v1", "--name", "still", "--output", machine.output,
                     "--", "reads")  # fmt: skip
    wait_until("the program", lambda: b"begun" in fit.out, GUARD_SECONDS)
    text = stacks(machine)
    wanted = r"0x[0-9a-f]+  still" if "-s" in flags else "main  still\n +read_batch  still"
    assert re.search(wanted, text), text
    assert "could not" not in text, text
    stop(machine, fit)
