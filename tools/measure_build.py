#!/usr/bin/env python3
"""How long it takes from a changed .cc file to its room's tests' verdict, room by room.

usage: tools/measure_build.py BUILD_FOLDER [ROOM...]

Each room's longest source is touched, its test program is built and run, without the compiler's
cache. Seconds, and in brackets seconds of processors: on a machine that does other things only the
latter mean something. The whole tree must be built before: what else is missing is built, too.
"""

import os
import pathlib
import resource
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
GOAL = 20.0  # Seconds, of which CONTRIBUTING.md speaks.


def longest_source(room: pathlib.Path) -> pathlib.Path | None:
    sources = [path for path in room.glob("*.cc") if not path.name.endswith("_test.cc")]
    return max(sources, key=lambda path: path.stat().st_size, default=None)


def timed(argv: list) -> tuple[float, float]:
    """Seconds, and seconds of processors, of a command that must succeed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.monotonic()
    env = {**os.environ, "CCACHE_DISABLE": "1"}
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, env=env)
    took = time.monotonic() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    build, asked = pathlib.Path(arguments[0]), arguments[1:]
    rooms = sorted({path.parent for path in (ROOT / "src").rglob("*_test.cc")})
    slow = []
    for room in rooms:
        source = longest_source(room)
        if source is None or (asked and room.name not in asked):
            continue
        target = f"{room.name}_test"
        subprocess.run(["cmake", "--build", build, "--target", target], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        source.touch()
        built = timed(["cmake", "--build", build, "--target", target])
        ran = timed([build / target, "--minimal"])
        whole = built[0] + ran[0]
        cells = [f"{what[0]:6.1f} ({what[1]:5.1f})" for what in (built, ran)]
        print(f"{room.name:12} {source.name:26} build {cells[0]}  run {cells[1]}", flush=True)
        if whole > GOAL:
            slow.append(f"{room.name}: {whole:.1f} s, more than {GOAL:g}")
    for line in slow:
        print(line, file=sys.stderr)
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
