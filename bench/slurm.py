"""What a job of `sm fit --engine slurm` costs on an idle cluster of three nodes, as root.

    bench/slurm.py [SM] [ROUNDS]

In turns: the same script bare under `srun -N3`, by muster with `sm` on the nodes already, by muster
that brings `sm`, and by muster under MPI with 3 x 2 ranks. Medians of seconds to the first line of
each host, from the last line to the command's end, and to the job's end in squeue; what muster adds
to srun. Then journals: three hosts that print as fast as they can, in lines a second from the first
print to the command's end, once with a node's link cut for three seconds; a lost line is an error.
"""

import pathlib
import re
import statistics
import sys
import tempfile
import time

from history import Figure, record

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests/e2e"))
from process import Process, wait_until  # noqa: E402
from slurm_cluster import Cluster  # noqa: E402

PYTHON = REPOSITORY / "build/venv/bin/python"
NODES = 3
LINES = 1_000_000  # Each host's.
CUT_SECONDS = 3.0
SCRIPT = 'print("first", flush=True)\nprint("last", flush=True)\n'
MPI_SCRIPT = """
from mpi4py import MPI
world = MPI.COMM_WORLD
world.allreduce(1)
print("first", flush=True)
world.Barrier()
print("last", flush=True)
"""
# The clock is the machine's, which all of the cluster is on.
WRITER = f"""
import sys, time
print("begins at", time.monotonic(), flush=True)
for start in range(0, {LINES}, 1000):
    sys.stdout.write("".join(f"line {{n}} of a journal, about as long as lines of logs are\\n"
                             for n in range(start, start + 1000)))
"""


class Bench:
    def __init__(self, cluster: Cluster, sm: pathlib.Path, folder: pathlib.Path):
        self.cluster, self.sm, self.folder = cluster, sm, folder

    def fit(self, script: str, *words, brings: bool = False, output=None) -> Process:
        """`output`: a file for what it prints, else that is kept with its times."""
        source = self.folder / "source"
        source.mkdir(exist_ok=True)
        (source / "script.py").write_text(script)
        argv = self.cluster.argv(
            "login", "env", f"MUSTER_STATE={self.folder}/state", self.sm, "fit", "script.py",
            "--source-dir", source, "--engine", "slurm", "--hosts", NODES, "--python", PYTHON,
            "--output", self.folder / "output", "--overwrite",
            *([] if brings else ["--slurm", f"sm={self.sm}"]), *words,
        )  # fmt: skip
        if output:
            argv = ["sh", "-c", 'out=$1; shift; exec "$@" >"$out"', "sh", str(output), *argv]
        return Process(argv)

    def srun(self) -> Process:
        script = self.folder / "bare.py"
        script.write_text(SCRIPT)
        return Process(self.cluster.argv("login", "srun", "-N", NODES, PYTHON, script))

    def queue(self) -> str:
        return self.cluster.out("login", "squeue", "-h", "-t", "all", "-o", "%T")

    def is_idle(self) -> bool:
        return not {"RUNNING", "COMPLETING", "PENDING", "CONFIGURING"} & set(self.queue().split())

    def times(self, job: Process, lines: int) -> dict[str, float]:
        wait_until("the last line", lambda: job.out.count(b"last\n") == lines or not job.running())
        wait_until("Slurm to be free of it", self.is_idle)
        idle_at = time.monotonic()
        code = job.wait(60)
        assert code == 0, f"exit code {code}\n{job.text}"
        assert job.out.count(b"last\n") == lines, job.text
        last = job.time_of(b"last\n")
        return {
            "first line": job.time_of(b"first\n") - job.started_at,
            "end": job.ended_at - last,
            "end in squeue": idle_at - last,
        }

    def journals(self, cut: bool) -> tuple[float, int]:
        """Lines a second, and how many of them are not there."""
        printed = self.folder / "printed"
        job = self.fit(WRITER, output=printed)
        if cut:
            wait_until("the first lines", lambda: printed.stat().st_size > 1 << 20, 60)
            self.cluster.out("node2", "ip", "link", "set", "eth0", "down")
            job.wait_for_time(time.monotonic() + CUT_SECONDS)
            self.cluster.out("node2", "ip", "link", "set", "eth0", "up")
        assert job.wait(300) == 0, job.text
        text = printed.read_text()
        begun = min(float(word) for word in re.findall(r"begins at ([\d.]+)", text))
        next_lines = {f"algo-{number}": 0 for number in range(1, NODES + 1)}
        for host, number in re.findall(r"(algo-\d).* line (\d+) of", text):
            assert int(number) == next_lines[host], f"{host}: line {number} is out of place"
            next_lines[host] += 1
        lost = NODES * LINES - sum(next_lines.values())
        return NODES * LINES / (job.ended_at - begun), lost


def main() -> None:
    sm = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "build/release/sm")
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build") as name:
        folder = pathlib.Path(name)
        with Cluster(folder / "cluster", NODES) as cluster:
            bench = Bench(cluster, sm.resolve(), folder)
            measure_start(bench, rounds)
            measure_journals(bench)


def measure_start(bench: Bench, rounds: int) -> None:
    sides = {
        "srun": (bench.srun, NODES),
        "sm on nodes": (lambda: bench.fit(SCRIPT), NODES),
        "sm brought": (lambda: bench.fit(SCRIPT, brings=True), NODES),
        "3 x 2 MPI": (lambda: bench.fit(MPI_SCRIPT, "--processes-per-host", 2), 2 * NODES),
    }
    runs: dict[str, list[dict[str, float]]] = {side: [] for side in sides}
    for turn in range(rounds):
        for side in sides if turn % 2 == 0 else reversed(sides):
            start, lines = sides[side]
            runs[side].append(bench.times(start(), lines))
    bare = {}
    for side, each in runs.items():
        taken = {what: statistics.median(one[what] for one in each) for what in each[0]}
        bare = bare or taken
        print(f"slurm: {side}: " + ", ".join(f"{what} {s:.2f} s" for what, s in taken.items()))
        if side != "srun":
            above = taken["first line"] - bare["first line"]
            print(f"slurm: {side}: first line {above:.2f} s above srun's", flush=True)
            figures = {"first line above srun's": above, "end": taken["end"]}
            for what, value in figures.items():
                record([Figure(f"slurm, {side}: {what}", round(value, 3), "s", "lower")])


def measure_journals(bench: Bench) -> None:
    for cut in (False, True):
        rate, lost = bench.journals(cut)
        what = "with a link cut" if cut else "whole links"
        print(f"slurm: journals, {what}: {rate:,.0f} lines a second, {lost} lost", flush=True)
        assert lost == 0
        if not cut:
            record([Figure("slurm: journals", round(rate), "1/s", "higher")])


if __name__ == "__main__":
    main()
