#!/usr/bin/env python3
"""The sources that a set of programs needs and that a compiler without coroutines can build.

    tools/sources_of.py fuzz/create_job.cc [FILE ...]

Prints, one a line and sorted, what the #include lines lead to: the rooms under src/ that hold no
coroutine whole, of other rooms each .cc beside a header that was reached. A function of a room with
coroutines must therefore stand in the .cc that has its header's name.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def included(file):
    """The headers under src/ that a file names, relative to src/."""
    return re.findall(r'^#include "([\w/]+/\w+\.h)"', file.read_text(), re.M)


def sources_in(room):
    return [path for path in room.glob("*.cc") if not path.stem.endswith("_test")]


def has_coroutines(room):
    return any(re.search(r"\bco_(await|return)\b", path.read_text()) for path in sources_in(room))


def sources_of(files, src):
    """Every .cc under src that the programs `files` (a list of paths) need."""
    pure, todo, done = {}, list(files), set()
    while todo:
        file = todo.pop()
        for header in included(file):
            path = src / header
            room = path.parent
            if room not in pure:
                pure[room] = not has_coroutines(room)
            beside = sources_in(room) if pure[room] else [path.with_suffix(".cc")]
            for each in [path, *beside]:
                if each not in done and each.exists():
                    done.add(each)
                    todo.append(each)
    return sorted(path for path in done if path.suffix == ".cc")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for source in sources_of([pathlib.Path(name) for name in sys.argv[1:]], ROOT / "src"):
        print(source)
