#!/usr/bin/env python3
"""Runs the unit and simulation tests of a coverage build and shows what of each room they run.

usage: tools/coverage.py BUILD_FOLDER [--floors | --missing ROOM]

Lines and branches of src/, tests left out, as gcov counts them. With --floors rooms that decide
must not fall below what FLOORS says; --missing names the lines of a room that are not run, or not
with all their branches, as the last run left them. End-to-end tests are not counted: programs that
are killed write no counts.

A branch is one way that a decision of ours can go. What the compiler adds is left out:

- Both ways on from a call: to the next instruction, or to wherever an exception is caught. That is
  gcov's fallthrough before a throw, always in this order. We throw nothing.
- Branches of a line that only closes something, or is a constructor's empty body: destructors, on
  ways out that other lines have decided.
- Those of CHECK_THAT: what would be a defect ends the process, and no test brings it about.

What is left in though it is the compiler's: destructors for when half of a braced list, or of a
text that is put together, throws. Nothing tells which of a line's branches these are.

Bodies of coroutines are not measured at all, neither lines nor branches: GCC 12 makes no counts for
them. What they decide is worth a function of its own, which is measured.
"""

import concurrent.futures
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Rooms that decide, and the branches that their tests must run, in percent: a little less than
# their own tests and the simulations were measured to run (90.3, 89.1, 91.8, 85.9, 85.8, 94.1).
FLOORS = {"calls": 89, "coordinate": 88, "jobs": 90, "launch": 85, "platform": 85, "queue": 93}

# Lines whose branches are none of ours.
NO_DECISION = re.compile(r"^\s*[\])};,]+$|^\s*\w+\([\w.]*\) \{\}$|\bCHECK_THAT\(")

# The runs of each branch of a line, and of the line, by the function that it is part of: a template
# or a lambda makes several of one line.
Lines = dict[int, dict[str, tuple[int, list[int]]]]
Counts = dict[str, int]


def decisions(branches: list[dict]) -> list[int]:
    """The runs of a line's branches, calls left out."""
    following = [*branches[1:], {"throw": False}]
    return [
        branch["count"]
        for branch, after in zip(branches, following)
        if not branch["throw"] and not after["throw"]
    ]


def is_ours(path: pathlib.Path) -> bool:
    """Code of a room, and no test's."""
    if not path.is_relative_to(ROOT / "src"):
        return False
    return not path.stem.endswith(("_test", "testing"))


def add(files: dict[pathlib.Path, Lines], report: dict) -> None:
    """One object's counts, added to what other objects counted of the same headers."""
    folder = pathlib.Path(report["current_working_directory"])
    for file in report["files"]:
        path = pathlib.Path(os.path.normpath(folder / file["file"]))
        if not is_ours(path):
            continue
        lines = files.setdefault(path, {})
        text = path.read_text().splitlines()
        for line in file["lines"]:
            number = line["line_number"]
            decides = not any(NO_DECISION.search(each) for each in text[number - 1 : number])
            ways = decisions(line["branches"]) if decides else []
            functions = lines.setdefault(number, {})
            name = line.get("function_name", "")
            runs, before = functions.get(name, (0, []))
            both = [sum(pair) for pair in itertools.zip_longest(before, ways, fillvalue=0)]
            functions[name] = (runs + line["count"], both)


def counts_of(lines: Lines) -> Counts:
    ways = [way for functions in lines.values() for _, each in functions.values() for way in each]
    return {
        "line_covered": sum(any(runs for runs, _ in each.values()) for each in lines.values()),
        "line_total": len(lines),
        "branch_covered": sum(way > 0 for way in ways),
        "branch_total": len(ways),
    }


def room_of(path: pathlib.Path) -> str:
    return path.parent.name


def by_room(files: dict[pathlib.Path, Lines]) -> dict[str, Counts]:
    """The counts of files, added up by room; rooms sorted by name."""
    rooms: dict[str, Counts] = {}
    for path, lines in files.items():
        room = rooms.setdefault(room_of(path), {})
        for name, count in counts_of(lines).items():
            room[name] = room.get(name, 0) + count
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


def missing(path: pathlib.Path, lines: Lines) -> list[str]:
    """The file's lines that are not run, or not with all their branches."""
    found = []
    text = path.read_text().splitlines()
    for number, functions in sorted(lines.items()):
        ways = [way for _, each in functions.values() for way in each]
        is_run = sum(way > 0 for way in ways)
        if is_run == len(ways) and any(runs for runs, _ in functions.values()):
            continue
        place = f"{path.relative_to(ROOT)}:{number}"
        found.append(f"{place}: {is_run} of {len(ways)}: {text[number - 1].strip()}")
    return found


def run_test(program: pathlib.Path) -> str:
    """What a test program printed, if a test failed."""
    sandbox = ["tests/sandbox"] if os.geteuid() == 0 else []
    argv = [*sandbox, program.relative_to(ROOT)]
    done = subprocess.run(
        argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace"
    )
    return f"{program.name}:\n{done.stdout}" if done.returncode else ""


def run_tests(build: pathlib.Path) -> None:
    for counts in build.rglob("*.gcda"):
        counts.unlink()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        failed = "\n".join(filter(None, pool.map(run_test, sorted(build.glob("*_test")))))
    if failed:
        sys.exit(f"{failed}\ncoverage: a test fails, so nothing is counted")


def report_of(counts: pathlib.Path) -> dict:
    argv = ["gcov", "--json-format", "--stdout", "--branch-probabilities", counts]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, cwd=counts.parent)
    return json.loads(done.stdout)


def read(build: pathlib.Path) -> dict[pathlib.Path, Lines]:
    """What the build's programs have counted."""
    files: dict[pathlib.Path, Lines] = {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for report in pool.map(report_of, sorted(build.rglob("*.gcda"))):
            add(files, report)
    return dict(sorted(files.items()))


def main(arguments: list[str]) -> int:
    wanted = arguments[1:]
    is_missing = wanted[:1] == ["--missing"] and len(wanted) == 2
    if not arguments or (wanted not in ([], ["--floors"]) and not is_missing):
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(arguments[0]).resolve()
    if is_missing:
        for path, lines in read(build).items():
            if room_of(path) == wanted[1]:
                print("\n".join(missing(path, lines)))
        return 0
    run_tests(build)
    rooms = by_room(read(build))
    print(table(rooms))
    found = below(rooms, FLOORS) if wanted else []
    for line in found:
        print(f"coverage: {line}; tools/coverage.py {arguments[0]} --missing ROOM says what")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
