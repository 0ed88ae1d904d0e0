"""`make bench`: muster against bare mpirun, the PyPI package sagemaker-training, and bare python.

All in one run on the same machine, so that the ratios mean something; medians of several runs.
"""

import argparse
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from folder import own_folder  # noqa: E402
from history import Figure, record  # noqa: E402
from sides import REPOSITORY, Result, Work, run  # noqa: E402

MPI_SCRIPT = """
from mpi4py import MPI
comm = MPI.COMM_WORLD
print("first", comm.Get_rank(), flush=True)
comm.Barrier()
print("last", comm.Get_rank(), flush=True)
"""
PLAIN_SCRIPT = 'print("first 0", flush=True)\nprint("last 0", flush=True)\n'

LINES = 200_000
# Lines of 100 bytes, written in large pieces: next to no cost of its own.
MPI_LINES_SCRIPT = """
import sys
from mpi4py import MPI
rank = MPI.COMM_WORLD.Get_rank()
print("first", rank, flush=True)
for _ in range(COUNT // 500):
    sys.stdout.buffer.write((b"x" * 99 + b"\\n") * 500)
    sys.stdout.buffer.flush()
print("last", rank, flush=True)
"""
PLAIN_LINES_SCRIPT = MPI_LINES_SCRIPT.replace("from mpi4py import MPI\n", "").replace(
    "MPI.COMM_WORLD.Get_rank()", "0"
)


def median(results: list[Result]) -> Result:
    return Result(
        *(
            statistics.median(getattr(result, name) for result in results)
            for name in ("first", "end", "total", "cpu")
        )
    )


class Bench:
    def __init__(self, runs: int, reference_runs: int, only: list[str], folder: pathlib.Path):
        self.runs, self.reference_runs, self.only, self.folder = runs, reference_runs, only, folder
        self.made = 0

    def sides(self, names: list[str]) -> list[str]:
        return [name for name in names if not self.only or name in self.only]

    def measure(self, side: str, work: Work, runs: int) -> Result:
        results = []
        for _ in range(runs):
            self.made += 1
            results.append(run(side, work, self.folder / str(self.made)))
        return median(results)

    def compare(self, title: str, work: Work, names: list[str], baseline: str) -> None:
        """Times of each side, and its ratio to the baseline's in brackets."""
        print(f"\n{title}\n  {'':10} {'first line':>16} {'end':>16} {'total':>16}", flush=True)
        base: Result | None = None
        for side in self.sides(names):
            slow = side == "reference" and work.mpi
            got = self.measure(side, work, self.reference_runs if slow else self.runs)
            base = base or got
            cells = [
                f"{value:8.3f} s {value / against:4.1f}x"
                for value, against in (
                    (got.first, base.first),
                    (got.end, base.end),
                    (got.total, base.total),
                )
            ]
            print(f"  {side:10} " + " ".join(f"{cell:>16}" for cell in cells), flush=True)
            if side == "muster":
                record(
                    [
                        Figure(f"{title}: {what}", round(getattr(got, what), 4), "s", "lower")
                        for what in ("first", "end", "total")
                    ]
                )
        print(f"  (ratios to {baseline})")

    def line_cost(
        self, title: str, hosts: int, processes: int, mpi: bool, names: list[str]
    ) -> None:
        """CPU of all processes of the job for one line more, the writer's own part included."""
        print(f"\n{title}: CPU for one line of 100 bytes, writer included", flush=True)
        script = MPI_LINES_SCRIPT if mpi else PLAIN_LINES_SCRIPT
        for side in self.sides(names):
            runs = 1 if side == "reference" and mpi else 3
            few, many = (
                self.measure(
                    side, Work(hosts, processes, script.replace("COUNT", str(count)), mpi), runs
                )
                for count in (500, LINES)
            )
            lines = (LINES - 500) * hosts * processes
            each = (many.cpu - few.cpu) / lines * 1e6
            print(f"  {side:10} {each:6.2f} us", flush=True)
            if side == "muster":
                record([Figure(f"{title}: CPU of a line", round(each, 3), "us", "lower")])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--reference-runs", type=int, default=3, help="it takes 35 s a run with MPI"
    )
    parser.add_argument("--only", nargs="*", default=[], help="python mpirun reference muster")
    options = parser.parse_args()
    with own_folder() as folder:
        bench = Bench(options.runs, options.reference_runs, options.only, folder)
        mpi = ["mpirun", "reference", "muster"]
        plain = ["python", "reference", "muster"]
        bench.compare("3 hosts x 2 processes", Work(3, 2, MPI_SCRIPT), mpi, "bare mpirun over sshd")
        bench.compare("8 hosts x 1 process", Work(8, 1, MPI_SCRIPT), mpi, "bare mpirun over sshd")
        bench.compare(
            "1 host, 1 process, no MPI", Work(1, 1, PLAIN_SCRIPT, False), plain, "bare python"
        )
        bench.line_cost("1 process", 1, 1, False, plain)
        bench.line_cost("2 MPI ranks on 1 host", 1, 2, True, mpi)
        bench.line_cost("2 hosts x 1 MPI rank", 2, 1, True, ["muster"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
