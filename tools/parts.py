#!/usr/bin/env python3
"""Runs the parts of the test suites and prints one table at the end.

usage: tools/parts.py gate                      every part of the gate
       tools/parts.py long [--again] [PART...]  the long suite, or these parts and what they need
       tools/parts.py --list                    all parts: suite, lane, usual seconds, command

tools/parts.toml declares the parts. A part that fails stops only the parts that come `after` it.
The output of each part is in build/parts/NAME.log.

The long suite remembers the result of each part by commit, if the working tree has no changes. A
second call on the same commit runs the parts that failed or never ran, and its table shows the
others as "earlier". --again runs them all.

The parts that failed stand behind the table, with the first of their failed cases. The last line is
`N passed, N failed`, with `, N skipped` unless that is 0: the cases of all parts. A part without
countable cases counts as one case.

exit codes: 0 all parts passed, 1 a part failed, 2 wrong usage or an invalid table, 130 interrupted
"""

import pathlib
import sys
import time

import parts_memory
import parts_report
import parts_runner
import parts_table
from parts_report import Result
from parts_table import Part

ROOT = pathlib.Path(__file__).resolve().parents[1]
INTERRUPTED = 130


class Remembered:
    """The results of one commit in the long suite, if the working tree is clean."""

    def __init__(self, root: pathlib.Path):
        self._root = root
        self._memory = parts_memory.Memory(root / "build/parts/results.json")
        self._commit, why = parts_memory.clean_commit(root)
        if self._commit is None:
            say(f"results are not remembered: {why}")

    def load(self) -> dict[str, Result]:
        return self._memory.load(self._commit) if self._commit else {}

    def store(self, result: Result) -> None:
        """Forgets the commit once the tree has changed: later results are not of that commit."""
        if self._commit and parts_memory.clean_commit(self._root)[0] != self._commit:
            self._commit = None
            say("results are no longer remembered: the working tree changed during the run")
        if self._commit:
            self._memory.store(self._commit, result)


def say(text: str) -> None:
    print(text, flush=True)


def run_suite(parts: list[Part], names: list[str], again: bool, root: pathlib.Path) -> int:
    """Runs all `parts` of a suite, or those with these names. Returns the exit code."""
    suite = parts[0].suite
    (root / "build/parts").mkdir(parents=True, exist_ok=True)
    remembered = Remembered(root) if suite == "long" else None
    earlier = remembered.load() if remembered else {}
    passed = {name for name, result in earlier.items() if result.state == "passed"}
    todo = parts_table.choose(parts, names, set() if again else passed)
    zone = time.strftime("%Z")
    say(f"{suite}: {len(todo)} of {len(parts)} parts to run; times of day are {zone}")
    runner = parts_runner.Runner(
        todo,
        passed - {part.name for part in todo},
        parts_runner.Options(
            root=root,
            logs=root / "build/parts",
            say=say,
            on_end=remembered.store if remembered else lambda result: None,
        ),
    )
    began = time.monotonic()
    results = earlier | runner.run()
    say(f"\n{suite}: {time.monotonic() - began:,.0f} s\n")
    say("\n".join(parts_report.table(parts, results)))
    if missing := [part.name for part in parts if part.name not in results]:
        say(f"\nno result yet: {', '.join(missing)}")
    shown = [results[part.name] for part in parts if part.name in results]
    if failed := parts_report.failed_lines(shown):
        say("\n" + "\n".join(failed))
    say(f"\n{parts_report.closing_line(shown)}")
    if runner.stopped:
        return INTERRUPTED
    return 1 if failed else 0


def main(arguments: list[str], root: pathlib.Path = ROOT) -> int:
    command, *names = arguments or [""]
    again = command == "long" and "--again" in names
    names = [name for name in names if not (again and name == "--again")]
    if arguments == ["--help"]:
        say(__doc__)
        return 0
    if (
        command not in (*parts_table.SUITES, "--list")
        or (names and command != "long")
        or any(name.startswith("-") for name in names)
    ):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        parts = parts_table.parse_table((root / "tools/parts.toml").read_text())
        if command == "--list":
            say("\n".join(parts_report.list_lines(parts)))
            return 0
        parts = [part for part in parts if part.suite == command]
        if not parts:
            raise parts_table.BadTable(f'suite "{command}" has no parts')
        return run_suite(parts, names, again, root)
    except parts_table.BadTable as error:
        print(f"tools/parts.toml: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
