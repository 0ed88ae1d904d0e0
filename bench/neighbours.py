"""What a job that runs into one of its limits costs the job beside it.

    bench/neighbours.py [SM]

One job of `--cpus 1` does steps of equal work and says when each ended. Beside it run, one after
another, jobs that take all they can get of processors, memory, processes, the disk, /dev/shm and
the log. Prints the median step beside each, as a ratio to the median step just before and after
it; fails above 1.2, which jobs may not cost each other where there are processors for both (two at
least, and nothing else on the machine).
"""

import contextlib
import dataclasses
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable

from history import Figure, record

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
MOST = 1.2
ALONE_SECONDS = 3.0
START_SECONDS = 60.0
STEPS = """
import time
while True:
    begun = time.monotonic()
    sum(number * number for number in range(200_000))
    print("step", begun, time.monotonic() - begun, flush=True)
"""
FILL = """
block = bytes(1 << 20)
with open("%s", "wb", buffering=0) as file:
    while True: file.write(block)
"""


@dataclasses.dataclass(frozen=True)
class Hog:
    """A job that takes all it can get of something: flags, script, and what its end says."""

    flags: tuple[str, ...]
    script: str
    end: str


HOGS = {
    "processors": Hog(
        (),
        "import multiprocessing, time\n"
        "def spin():\n"
        "    while True: pass\n"
        "for _ in range(8): multiprocessing.Process(target=spin, daemon=True).start()\n"
        "time.sleep(5)\n",
        "Completed",
    ),
    "memory": Hog(
        ("--memory", "512m"),
        "held = []\nwhile True: held.append(bytearray(1 << 20))\n",
        "reached its memory limit (512 MiB)",
    ),
    "processes": Hog(
        (),
        "import threading, time\n"
        "threading.stack_size(64 << 10)\n"
        "while True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n",
        "reached its limit of 16384 processes",
    ),
    "disk": Hog(
        ("--volume-size", "1"), FILL % "/opt/ml/model/m", "disk: 1 GiB of VolumeSizeInGB=1 full"
    ),
    "shared memory": Hog(("--shm-size", "512m"), FILL % "/dev/shm/m", "/dev/shm: 512 MiB full"),
    "log": Hog(
        (),
        "import time\n"
        "end = time.monotonic() + 5\n"
        "while time.monotonic() < end: print('x' * 200)\n",
        "Completed",
    ),
}


class Worker:
    """The job that does steps, and when each began and how long it took."""

    def __init__(self, sm: pathlib.Path, folder: pathlib.Path):
        self.steps: list[tuple[float, float]] = []
        self.process = start(sm, folder, "worker", STEPS)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        for line in self.process.stdout:
            if found := re.search(r"step ([0-9.]+) ([0-9.]+)", line):
                self.steps.append((float(found[1]), float(found[2])))

    def wait_for_a_step(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not self.steps:
            assert self.process.poll() is None and time.monotonic() < deadline, "no step came"
            time.sleep(0.05)

    def between(self, begun: float, ended: float) -> list[float]:
        return [took for at, took in self.steps if begun <= at <= ended]

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.reader.join(10)


def start(sm: pathlib.Path, folder: pathlib.Path, name: str, script: str, *words: str):
    source = folder / name.replace(" ", "-")
    source.mkdir()
    (source / "job.py").write_text(script)
    argv = [sm, "fit", "job.py", "--source-dir", source, "--output", source / "out",
            "--cpus", "1", "--network", "none", *words]  # fmt: skip
    env = {**os.environ, "MUSTER_STATE": str(folder / "state")}
    return subprocess.Popen(
        argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def run_hog(sm: pathlib.Path, folder: pathlib.Path, name: str) -> None:
    hog = HOGS[name]
    process = start(sm, folder, name, hog.script, *hog.flags)
    ends = False
    for line in process.stdout:  # Not kept: one of them floods it.
        ends = ends or hog.end in line
    process.wait()
    assert ends, f"{name}: its end did not say: {hog.end}"


def measure(sm: pathlib.Path, folder: pathlib.Path, names: Iterable[str]) -> dict[str, float]:
    """The median step beside each, in median steps of the seconds before and after it."""
    spans = {}
    with contextlib.ExitStack() as ends:
        worker = Worker(sm, folder)
        ends.callback(worker.end)
        worker.wait_for_a_step()
        for name in names:
            alone = time.monotonic()
            time.sleep(ALONE_SECONDS)
            begun = time.monotonic()
            run_hog(sm, folder, name)
            ended = time.monotonic()
            time.sleep(ALONE_SECONDS)
            spans[name] = (alone, begun, ended, time.monotonic())
    ratios = {}
    for name, (alone, begun, ended, last) in spans.items():
        beside = worker.between(begun, ended)
        without = worker.between(alone, begun) + worker.between(ended, last)
        ratios[name] = statistics.median(beside) / statistics.median(without)
        print(f"beside a job over its limit of {name}: {ratios[name]:.2f} "
              f"({ended - begun:.1f} s, {statistics.median(without) * 1000:.1f} ms a step alone)",
              flush=True)  # fmt: skip
    return ratios


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "build/release/sm"
    sm = pathlib.Path(given).resolve()
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build") as name:
        ratios = measure(sm, pathlib.Path(name), HOGS)
    record([Figure(f"neighbour of {what}", round(ratio, 3), "ratio", "lower")
            for what, ratio in ratios.items()])  # fmt: skip
    cores = len(os.sched_getaffinity(0))
    if cores < 3:
        ratios.pop("log")  # What reads the lines takes a processor, too.
    if max(ratios.values()) > MOST and cores > 1:
        sys.exit(f"a step may take {MOST} of its time alone")


if __name__ == "__main__":
    main()
