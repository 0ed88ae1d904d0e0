"""What a job that runs into one of its limits costs the job beside it.

    bench/neighbours.py [SM]

One job of `--cpus 1` does steps of equal work and says when each ended. Beside it run, one after
another, jobs that take all they can get of processors, memory, processes, the disk and /dev/shm.
Prints the median step beside each, as a ratio to the median step alone; fails above 1.2, which
jobs may not cost each other where there are processors for both (two at least).
"""

import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from history import Figure, record

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
MOST = 1.2
ALONE_SECONDS = 8.0
STEPS = """
import time
while True:
    begun = time.monotonic()
    sum(number * number for number in range(200_000))
    print("step", begun, time.monotonic() - begun, flush=True)
"""
# Each ends by itself, most by its limit; `for` the first some seconds.
HOGS = {
    "processors": (
        ("--cpus", "1"),
        "import multiprocessing, time\n"
        "def spin():\n"
        "    while True: pass\n"
        "for _ in range(8): multiprocessing.Process(target=spin, daemon=True).start()\n"
        "time.sleep(8)\n",
    ),
    "memory": (
        ("--cpus", "1", "--memory", "512m"),
        "held = []\nwhile True: held.append(bytearray(1 << 20))\n",
    ),
    "processes": (
        ("--cpus", "1"),
        "import threading, time\n"
        "threading.stack_size(64 << 10)\n"
        "while True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n",
    ),
    "disk": (
        ("--cpus", "1", "--volume-size", "2"),
        "block = bytes(1 << 20)\n"
        "with open('/opt/ml/model/m', 'wb', buffering=0) as file:\n"
        "    while True: file.write(block)\n",
    ),
    "shared memory": (
        ("--cpus", "1", "--shm-size", "512m"),
        "block = bytes(1 << 20)\n"
        "with open('/dev/shm/m', 'wb', buffering=0) as file:\n"
        "    while True: file.write(block)\n",
    ),
}


def start(sm: pathlib.Path, folder: pathlib.Path, name: str, script: str, *words: str):
    source = folder / name.replace(" ", "-")
    source.mkdir()
    (source / "job.py").write_text(script)
    argv = [sm, "fit", "job.py", "--source-dir", source, "--output", source / "out",
            "--network", "none", *words]  # fmt: skip
    env = {**os.environ, "MUSTER_STATE": str(folder / "state")}
    return subprocess.Popen(
        argv, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def read_steps(process, steps: list[tuple[float, float]]) -> None:
    for line in process.stdout:
        if found := re.search(r"step ([0-9.]+) ([0-9.]+)", line):
            steps.append((float(found[1]), float(found[2])))


def main() -> None:
    given = sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "build/release/sm"
    sm = pathlib.Path(given).resolve()
    steps: list[tuple[float, float]] = []
    spans: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build") as name:
        folder = pathlib.Path(name)
        worker = start(sm, folder, "worker", STEPS, "--cpus", "1")
        reader = threading.Thread(target=read_steps, args=(worker, steps), daemon=True)
        reader.start()
        while not steps:
            time.sleep(0.05)
        begun = time.monotonic()
        time.sleep(ALONE_SECONDS)
        alone = (begun, time.monotonic())
        for what, (words, script) in HOGS.items():
            begun = time.monotonic()
            hog = start(sm, folder, what, script, *words)
            said = hog.communicate()[0]
            spans[what] = (begun, time.monotonic())
            reason = [line for line in said.splitlines() if line.strip()][-1:]
            print(f"{what}: {spans[what][1] - begun:.1f} s, {' '.join(reason)[:150]}")
        worker.terminate()
        worker.wait()
        reader.join(10)

    def median(span: tuple[float, float]) -> float:
        return statistics.median(took for at, took in steps if span[0] <= at <= span[1])

    figures = {what: median(span) / median(alone) for what, span in spans.items()}
    print(f"alone: {median(alone) * 1000:.1f} ms a step")
    for what, ratio in figures.items():
        print(f"beside a job over its limit of {what}: {ratio:.2f} of that")
    record([Figure(f"neighbour of {what}", round(ratio, 3), "ratio", "lower")
            for what, ratio in figures.items()])  # fmt: skip
    if max(figures.values()) > MOST and len(os.sched_getaffinity(0)) > 1:
        sys.exit(f"a step may take {MOST} of its time alone")


if __name__ == "__main__":
    main()
