#!/usr/bin/env python3
"""Runs under the thread sanitizer the unit tests that have more than one thread.

usage: tools/threaded_tests.py targets             the test programs with such tests
       tools/threaded_tests.py run BUILD_FOLDER    runs them, those tests only

A test has threads if its file, or a file of ours that it includes, starts one.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
STARTS = re.compile(r"\bstd::(jthread|thread|async)\b|\b(in_thread|run_on)\(")
# One worker each, that copies files, and many rooms to be built for it: `make test-deep` has them.
LEFT_OUT = ("code", "engine", "platform")
INCLUDE = re.compile(r'^#include "([a-z0-9_]+/[a-z0-9_]+)\.h"', re.M)


def has_threads(text: str, texts: dict[str, str]) -> bool:
    """`texts`: each name without its ending, like "loop/worker", to its .h and .cc together."""
    if STARTS.search(text):
        return True
    return any(STARTS.search(texts.get(name, "")) for name in INCLUDE.findall(text))


def threaded(texts: dict[str, str]) -> dict[str, list[str]]:
    """Rooms to the names of their test files that have threads, sorted."""
    found: dict[str, list[str]] = {}
    for name, text in sorted(texts.items()):
        room, _, stem = name.partition("/")
        if room not in LEFT_OUT and stem.endswith("_test") and has_threads(text, texts):
            found.setdefault(room, []).append(f"{stem}.cc")
    return found


def texts_of(source: pathlib.Path) -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in sorted([*source.glob("*/*.cc"), *source.glob("*/*.h")]):
        name = path.relative_to(source).with_suffix("").as_posix()
        texts[name] = texts.get(name, "") + path.read_text()
    return texts


def main(arguments: list[str]) -> int:
    rooms = threaded(texts_of(ROOT / "src"))
    if arguments == ["targets"]:
        print("\n".join(f"{room}_test" for room in rooms))
        return 0
    if len(arguments) != 2 or arguments[0] != "run":
        print(__doc__, file=sys.stderr)
        return 2
    failed = 0
    for room, files in rooms.items():
        program = pathlib.Path(arguments[1]) / f"{room}_test"
        chosen = ",".join(f"*/{room}/{file}" for file in files)
        print(f"{room}: {' '.join(files)}", flush=True)
        failed += subprocess.run([program, f"--source-file={chosen}"], check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
