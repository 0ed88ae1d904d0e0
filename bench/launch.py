"""What a launch over many hosts of one machine costs, against bare mpirun with as many ranks on it.

    bench/launch.py [SM]

64 hosts of one MPI rank each by `sm fit`, `mpirun -np 64` without hosts, 64 hosts without MPI, and
8 hosts with it, in turns. Medians of wall seconds and of the processor time of all processes: on a
machine that is busy with other things the latter is the steadier figure.
"""

import dataclasses
import os
import pathlib
import resource
import shutil
import statistics
import sys
import tempfile

from history import Figure, record

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests/e2e"))
from process import Process  # noqa: E402

ROUNDS = 3
HOSTS, FEW = 64, 8
PYTHON = REPOSITORY / "build/venv/bin/python"
MPI_SCRIPT = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
print("hello", comm.Get_rank(), flush=True)
"""
PLAIN_SCRIPT = 'print("hello", flush=True)\n'


@dataclasses.dataclass
class Run:
    wall: float
    cpu: float


def run(argv: list, lines: int, folder: pathlib.Path) -> Run:
    """Containers' processes are waited for by their stewards, and those by `sm fit`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = Process(argv, env={**os.environ, "MUSTER_STATE": str(folder / "state")})
    assert process.wait(300) == 0, process.text
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Bare mpirun breaks lines of ranks that write at the same time: words are counted.
    assert process.out.count(b"hello") == lines, process.text
    shutil.rmtree(folder / "output", ignore_errors=True)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return Run(process.ended_at - process.started_at, cpu)


def main() -> None:
    sm = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "build/release/sm")
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build") as name:
        folder = pathlib.Path(name)
        mpi, plain = folder / "mpi.py", folder / "plain.py"
        mpi.write_text(MPI_SCRIPT)
        plain.write_text(PLAIN_SCRIPT)

        def fit(script: pathlib.Path, hosts: int, *more: str) -> list:
            return [sm.resolve(), "fit", script, "--hosts", hosts, "--python", PYTHON,
                    "--output", folder / "output", *more]  # fmt: skip

        bare = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-bind-to", "none"]
        sides = {
            "mpirun -np 64": ([*bare, "-np", HOSTS, PYTHON, mpi], HOSTS),
            "64 hosts": (fit(mpi, HOSTS, "--mpi"), HOSTS),
            "64 hosts without MPI": (fit(plain, HOSTS), HOSTS),
            "8 hosts": (fit(mpi, FEW, "--mpi"), FEW),
        }
        runs: dict[str, list[Run]] = {what: [] for what in sides}
        for turn in range(ROUNDS):
            for what in sides if turn % 2 == 0 else reversed(sides):
                runs[what].append(run(*sides[what], folder))
    wall = {what: statistics.median(one.wall for one in each) for what, each in runs.items()}
    cpu = {what: statistics.median(one.cpu for one in each) for what, each in runs.items()}
    for what in sides:
        print(f"launch: {what}: {wall[what]:.2f} s, {cpu[what]:.2f} s of CPU", flush=True)
    for what, over, under in (("64 hosts to mpirun -np 64", "64 hosts", "mpirun -np 64"),
                              ("64 hosts to 8", "64 hosts", "8 hosts")):  # fmt: skip
        times, work = wall[over] / wall[under], cpu[over] / cpu[under]
        print(f"launch: {what}: {times:.2f} times the time, {work:.2f} times the CPU")
        record([Figure(f"launch, {what}: time", round(times, 3), "ratio", "lower"),
                Figure(f"launch, {what}: CPU", round(work, 3), "ratio", "lower")])  # fmt: skip


if __name__ == "__main__":
    main()
