"""How long the main job takes with two binaries, in turns: what a change cost.

    bench/fit_in_turns.py BEFORE AFTER [ROUNDS]

Runs 3 hosts x 2 ranks by `sm fit` and prints medians of wall seconds with their ratio: from the
command to the first line of the last rank (start), from the last line of a rank to the command's
end (end), and both with what lies between (whole).
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from history import Figure, record

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
RANKS = 6
SCRIPT = """
from mpi4py import MPI
world = MPI.COMM_WORLD
world.allreduce(1)
print("trained on rank", world.Get_rank(), flush=True)
world.Barrier()
"""


def run(sm: pathlib.Path, folder: pathlib.Path) -> dict[str, float]:
    source = folder / "source"
    source.mkdir(exist_ok=True)
    (source / "job.py").write_text(SCRIPT)
    argv = [sm, "fit", "job.py", "--source-dir", source, "--hosts", "3",
            "--processes-per-host", "2",
            "--python", REPOSITORY / "build/venv/bin/python"]  # fmt: skip
    env = {**os.environ, "MUSTER_STATE": str(folder / "state")}
    begun = time.monotonic()
    process = subprocess.Popen(argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    here = []
    for line in process.stdout:
        if b"trained on rank" in line:
            here.append(time.monotonic())
    code = process.wait()
    ended = time.monotonic()
    assert code == 0 and len(here) == RANKS, f"{sm}: exit code {code}, {len(here)} ranks"
    return {"start": here[-1] - begun, "end": ended - here[-1], "whole": ended - begun}


def main() -> None:
    before, after = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    taken: dict[pathlib.Path, list[dict[str, float]]] = {before: [], after: []}
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build") as folder:
        for turn in range(rounds):
            for sm in (before, after) if turn % 2 == 0 else (after, before):
                taken[sm].append(run(sm, pathlib.Path(folder)))
    for what in ("start", "end", "whole"):
        old, new = (statistics.median(each[what] for each in taken[sm]) for sm in (before, after))
        print(f"{what}: {old:.3f} s before, {new:.3f} s after, ratio {new / old:.3f}")
        record([Figure(f"sm fit, 3 hosts x 2: {what}", round(new, 4), "s", "lower")])


if __name__ == "__main__":
    main()
