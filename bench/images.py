"""How soon hosts of an image that is here say their first line: one in turns with a host that has
no image, and 64 together.

    bench/images.py [SM] [start] [hosts]

Medians of wall seconds from the command on. SM is a release build: the image has no libraries.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from history import Figure, record

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests/e2e"))
from oci_image import layer, programs, write_layout  # noqa: E402
from process import Process  # noqa: E402

ROUNDS = 20
HOSTS = 64
SCRIPT = b"#!/bin/sh\necho trains\n"


def first_line(argv: list, state: pathlib.Path, lines: int = 1) -> float:
    """Seconds from the command to the last host's line."""
    out = state / "output"
    process = Process([*argv, "--output", out], env={**os.environ, "MUSTER_STATE": str(state)})
    assert process.wait(300) == 0, process.text
    shutil.rmtree(out)
    assert process.out.count(b"trains") == lines, process.text
    return process.time_of(b"trains") - process.started_at


def small_image(sm: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Brings an image that can run `train` as `small`; its store."""
    state = folder / "state"
    state.mkdir(exist_ok=True)
    write_layout(folder / "small", [layer(programs("/bin/sh")), layer({"bin/train": SCRIPT})],
                 process={"Env": ["PATH=/bin"]})  # fmt: skip
    argv = [sm, "image", "import", f"oci:{folder}/small:v1", "--name", "small"]
    env = {**os.environ, "MUSTER_STATE": str(state)}
    subprocess.run(argv, env=env, stdout=subprocess.DEVNULL, check=True)
    return state


def start(sm: pathlib.Path, folder: pathlib.Path) -> None:
    state = small_image(sm, folder)
    script = folder / "job.sh"
    script.write_bytes(SCRIPT)
    sides = {
        "without an image": [sm, "fit", script],
        "of an image": [sm, "fit", "--image", "small"],
    }
    taken: dict[str, list[float]] = {what: [] for what in sides}
    first = first_line(sides["of an image"], state)
    for turn in range(ROUNDS):
        for what in sides if turn % 2 == 0 else reversed(sides):
            taken[what].append(first_line(sides[what], state))
    plain, image = (statistics.median(taken[what]) * 1000 for what in sides)
    print(f"start: {plain:.0f} ms to the first line without an image, {image:.0f} with one that is "
          f"here ({image / plain:.2f}); {first * 1000:.0f} the first time")  # fmt: skip
    record([Figure("image, start: first line_ms", round(image), "ms", "lower"),
            Figure("image, start: of one without an image", round(image / plain, 3), "ratio",
                   "lower")])  # fmt: skip


def hosts(sm: pathlib.Path, folder: pathlib.Path) -> None:
    state = small_image(sm, folder)
    argv = [sm, "fit", "--image", "small", "--hosts", HOSTS]
    taken = statistics.median(first_line(argv, state, HOSTS) for _ in range(3))
    print(f"hosts: {taken:.2f} s to the last of {HOSTS} hosts' first lines")
    record([Figure(f"image, start of {HOSTS} hosts: last line_s", round(taken, 2), "s", "lower")])


def main() -> None:
    words = sys.argv[1:]
    works = [work for work in (start, hosts) if work.__name__ in words]
    named = [word for word in words if word not in ("start", "hosts")]
    sm = pathlib.Path(named[0] if named else REPOSITORY / "build/release/sm").resolve()
    with tempfile.TemporaryDirectory(dir=REPOSITORY / "build") as name:
        for work in works or (start, hosts):
            work(sm, pathlib.Path(name))


if __name__ == "__main__":
    main()
