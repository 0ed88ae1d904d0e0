"""What it costs to see where all ranks of a job stand.

    bench/stacks.py [SM]

64 ranks on four hosts wait; `sm stacks` looks at all of them, several times, at Python's calls and
at native ones. Prints the medians, and the ratios to the time that py-spy takes for the same
processes, one after another, as a person would call it.
"""

import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from history import Figure, record

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
VENV = REPOSITORY / "build/venv"
HOSTS, PER_HOST, LOOKS = 4, 16, 5
START_SECONDS = 120.0
WAITS = """
import time
from mpi4py import MPI
def step(): time.sleep(3600)
print("rank", MPI.COMM_WORLD.rank, flush=True)
step()
"""


@contextlib.contextmanager
def job(sm: str, folder: pathlib.Path):
    (folder / "waits.py").write_text(WAITS)
    variables = {**os.environ, "MUSTER_STATE": str(folder / "state"),
                 "PATH": f"{VENV}/bin:{os.environ['PATH']}"}  # fmt: skip
    fit = subprocess.Popen(
        [sm, "fit", "waits.py", "--hosts", str(HOSTS), "--processes-per-host", str(PER_HOST),
         "--python", str(VENV / "bin/python"), "--name", "bench", "--network", "none"],
        cwd=folder, env=variables, stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        told = 0
        for line in fit.stdout:
            told += "| rank " in line
            if told == HOSTS * PER_HOST:
                break
        assert told == HOSTS * PER_HOST, "not all ranks came"
        yield variables
    finally:
        subprocess.run([sm, "stop", "bench", "--wait"], env=variables, capture_output=True)
        fit.wait(START_SECONDS)


def seconds_of(work) -> float:
    begun = time.monotonic()
    work()
    return time.monotonic() - begun


def ranks() -> list[str]:
    """The processes that Python runs the script in, as this machine counts."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if re.search(rb"python[^\0]*\0.*waits\.py\0", path.read_bytes()):
                found.append(path.parent.name)
    return found


def main() -> None:
    sm = sys.argv[1] if len(sys.argv) > 1 else str(REPOSITORY / "build/release/sm")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mu-"))
    try:
        with job(sm, folder) as variables:
            def look(*words: str) -> None:
                told = subprocess.run([sm, "stacks", "bench", *words], env=variables, check=True,
                                      capture_output=True, text=True).stdout
                assert told.startswith("64 ranks on 4 hosts, at 1 place\n"), told
                assert not words or "nanosleep  libc" in told, told

            ours = statistics.median(seconds_of(look) for _ in range(LOOKS))
            native = statistics.median(seconds_of(lambda: look("--native")) for _ in range(LOOKS))
            pids = ranks()
            assert len(pids) >= HOSTS * PER_HOST, pids

            def by_hand(how: str) -> None:
                # With --native it fails on some processes: that takes its time, too.
                for pid in pids[: HOSTS * PER_HOST]:
                    subprocess.run([VENV / "bin/py-spy", "dump", how, "--pid", pid],
                                   check=how == "--nonblocking", capture_output=True)

            theirs = statistics.median(seconds_of(lambda: by_hand("--nonblocking"))
                                       for _ in range(3))  # fmt: skip
            theirs_native = seconds_of(lambda: by_hand("--native"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"stacks of 64 ranks: {ours:.2f} s, {ours / theirs:.2f} of py-spy one by one")
    ratio = round(ours / theirs, 4)
    native_ratio = round(native / theirs_native, 4)
    print(f"with native calls: {native:.2f} s, {native_ratio:.2f} of py-spy --native one by one")
    record([Figure("stacks of 64 ranks, to py-spy one by one", ratio, "ratio", "lower"),
            Figure("native stacks of 64 ranks, to py-spy --native one by one", native_ratio,
                   "ratio", "lower")])  # fmt: skip


if __name__ == "__main__":
    main()
