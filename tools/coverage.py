#!/usr/bin/env python3
"""Runs the unit and simulation tests of a coverage build and shows what of each room they run.

usage: tools/coverage.py BUILD_FOLDER [--floors]

Lines and branches of src/, tests left out; branches without those that only exceptions take and
those that the compiler says nobody reaches. With --floors rooms that decide must not fall below
what FLOORS says. End-to-end tests are not counted: programs that are killed write no counts.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Rooms that decide, and the branches that their tests must run, in percent: a little less than was
# measured. Only launch was, 89.5 %; coordinate, calls, platform and jobs are to come.
FLOORS = {"launch": 85}

Counts = dict[str, int]


def by_room(files: list[Counts]) -> dict[str, Counts]:
    """gcovr's summary of files, added up by room; rooms sorted by name."""
    rooms: dict[str, Counts] = {}
    for file in files:
        room = rooms.setdefault(pathlib.PurePosixPath(file["filename"]).parts[1], {})
        for name in ("line_covered", "line_total", "branch_covered", "branch_total"):
            room[name] = room.get(name, 0) + file[name]
    return dict(sorted(rooms.items()))


def percent(part: int, of: int) -> float:
    return 100.0 * part / of if of else 100.0


def table(rooms: dict[str, Counts]) -> str:
    lines = [f"{'room':12} {'lines':>14} {'branches':>16}"]
    for name, room in rooms.items():
        cells = [
            f"{percent(room[f'{what}_covered'], room[f'{what}_total']):5.1f} %"
            f" of {room[f'{what}_total']:5}"
            for what in ("line", "branch")
        ]
        lines.append(f"{name:12} {cells[0]:>14} {cells[1]:>16}")
    return "\n".join(lines)


def below(rooms: dict[str, Counts], floors: dict[str, int]) -> list[str]:
    """A line for each room whose branches are run less than its floor, or that is not there."""
    found = []
    for name, floor in floors.items():
        if name not in rooms:
            found.append(f"{name}: there is no such room; FLOORS is in tools/coverage.py")
            continue
        is_run = percent(rooms[name]["branch_covered"], rooms[name]["branch_total"])
        if is_run < floor:
            found.append(f"{name}: {is_run:.1f} % of the branches, at least {floor}")
    return found


def measure(build: pathlib.Path) -> list[Counts]:
    for counts in build.rglob("*.gcda"):
        counts.unlink()
    tests = ["ctest", "--test-dir", build, "--output-on-failure", "-E", "^tidy$"]
    subprocess.run([*tests, f"-j{os.cpu_count()}", "-Q"], check=True)
    summary = build / "coverage.json"
    flags = ["--exclude-throw-branches", "--exclude-unreachable-branches"]
    only = ["--filter", "src/", "--exclude", r".*_test\.(cc|h)$", "--exclude", r".*/testing\.h$"]
    only += ["--exclude-directories", ".*CompilerIdCXX"]
    where = ["--root", ROOT, "--object-directory", build, "-j", str(os.cpu_count())]
    argv = ["gcovr", "--json-summary", summary, *flags, *only, *where, build]
    subprocess.run(argv, check=True, cwd=ROOT)
    return json.loads(summary.read_text())["files"]


def main(arguments: list[str]) -> int:
    if not arguments or arguments[1:] not in ([], ["--floors"]):
        print(__doc__, file=sys.stderr)
        return 2
    rooms = by_room(measure(pathlib.Path(arguments[0]).resolve()))
    print(table(rooms))
    found = below(rooms, FLOORS) if arguments[1:] else []
    for line in found:
        print(f"coverage: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
