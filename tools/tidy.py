#!/usr/bin/env python3
"""Checks what no compiler checks: who includes whom, bans, sizes, names. Runs as a ctest.

usage: tools/tidy.py [FOLDER]

Exits with 1 and prints one line for each finding: FILE:LINE: what, and what to do instead.
"""

import pathlib
import re
import sys
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import tidy_commands  # noqa: E402
import tidy_comments  # noqa: E402
import tidy_coroutines  # noqa: E402

# Who may include whom; every room may include itself. CMake links exactly this.
ROOMS = {
    "base": "",
    "command": "base",
    "loop": "base",
    "http": "base loop",
    "job": "base",
    "vpc": "base job",
    "hostname": "",
    "launch": "base job",
    "supervise": "base loop job",
    "coordinate": "base loop job",
    "preflight": "base",
    "packing": "base",
    "aws": "base loop http",
    "image": "base loop http supervise packing aws",
    "stacks": "base job vpc aws",
    "s3wire": "base aws",
    "s3client": "base loop http aws s3wire packing",
    "access": "base aws s3wire",
    "web": "base aws",
    "bucket": "base loop aws s3wire",
    "s3server": "base loop http aws s3wire access bucket",
    "registry": "base loop http aws image s3wire access",
    "code": "base loop http job supervise packing aws s3wire s3client",
    "container": "base loop http job supervise",
    "env": "base command job supervise",
    "ranks": "base command loop job launch supervise",
    "calls": "base loop job launch supervise coordinate preflight s3wire s3client env "
    "ranks",
    "operators": "base command loop job launch supervise code env ranks calls",
    "toolkit": "base command loop job launch aws s3wire s3client code env ranks calls operators",
    "unwind": "base",
    "sampler": "base command loop job supervise unwind",
    "devices": "base loop job supervise",
    "steward": "base command loop job supervise aws s3wire s3client packing container devices",
    "engine": "base loop job supervise",
    "slurm": "base",
    "node": "base command loop job supervise packing image container devices",
    "cluster": "base loop job supervise packing image engine slurm",
    "local": "base loop job supervise engine devices",
    "platform": "base loop job engine",
    "machine": "base loop job supervise preflight image engine devices slurm cluster local "
    "platform",
    "api": "base job aws",
    "store": "base",
    "logs": "base loop job aws platform api store",
    "jobs": "base loop http job vpc aws image s3wire s3client access api store logs engine "
    "platform",
    "server": "base command loop http job packing vpc aws image stacks s3wire s3client access "
    "s3server registry bucket web api env store logs jobs engine platform machine",
    "cli": "base command loop http job launch supervise aws image s3wire s3client packing env "
    "preflight slurm platform machine",
    "programs": "base command loop http job vpc launch supervise coordinate preflight packing aws "
    "image stacks s3wire s3client access web bucket s3server registry code container env ranks "
    "calls operators toolkit unwind sampler devices steward node engine slurm cluster local "
    "platform machine api store logs jobs server cli",
}

# Rooms whose every file is pure, and files of any room whose text says "Pure: " do no I/O.
PURE_ROOMS = ("job", "vpc", "stacks", "launch", "slurm")
# In a pure room, these touch the world; each says why.
IMPURE_FILES = {
    "src/job/journal.cc": "appends to a descriptor that the steward owns",
}
IMPURE = [
    (r'#include "loop/', "pure code knows no event loop"),
    (r"#include <(unistd\.h|fstream|filesystem|fcntl\.h|sys/[a-z]+\.h)>", "pure code does no I/O"),
    (r"::now\(\)|\bwall_time\(", "pure code is told the time"),
]

# (text, say instead, where it is allowed: how a path starts or ends)
BANS = [
    (r"\bsystem\(", "start programs by argv: supervise::spawn", ()),
    (r"\bpopen\(", "start programs by argv: supervise::spawn", ()),
    (
        r"\b(std::)?getenv\(",
        "only src/programs reads the environment and hands it down",
        ("src/programs/", "tests/", "_test.cc"),
    ),
    (r"\b(sleep_for|sleep_until|usleep|nanosleep)\b", "wait on a descriptor or a loop::Timer", ()),
    # Literals have no other way; a test may open the namespace that it tests.
    (r"\busing namespace (?!std::\w*literals\b)", "name things in full", ("tests/", "_test.cc")),
    (r"std::endl\b", "'\\n'; flush where it is meant", ()),
    (r"\basio\b", "loop::Task, loop::Timer: only loop knows Asio", ("src/loop/",)),
    (r"#include <CLI/", "command::Line: only command knows CLI11", ("src/command/",)),
    (r"\bNULL\b", "nullptr", ()),
    (r"#include <regex>", "parse by hand: std::regex is slow and recursive", ()),
]

LINES_MAX = 600
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
NAME = re.compile(r"^[a-z][a-z0-9_]*(\.[a-z]+)*$")
VAGUE = re.compile(r"^(utils?|common|manager|helpers?|misc)(_|\.|$)")
INCLUDE = re.compile(r'^\s*#include "([a-z0-9_]+)/[a-z0-9_/]+\.h"')
# Not a function, whatever ends in "{"; a test case may be long, since its table is.
NO_FUNCTION = re.compile(r"^(namespace|class|struct|union|enum|extern|const|constexpr|TEST_CASE)\b")

CODE = (".cc", ".h")
TEXT = (".cc", ".h", ".py", ".md", ".txt", ".cmake", ".json", ".sh")


def without_comments_and_strings(line: str) -> str:
    """Good enough for bans: a ban inside a string or a comment is no use of it."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*", "", line)


def check_include(room: str | None, path: str, number: int, line: str) -> list[str]:
    match = INCLUDE.match(line)
    if not match:
        bare = room is not None and re.match(r'^\s*#include "[^"/]+"', line)
        return [f'{path}:{number}: includes are "room/file.h"'] if bare else []
    other = match[1]
    if room is None or other == room:
        return []
    if other not in ROOMS:
        return [f"{path}:{number}: there is no room {other}"]
    may = ROOMS.get(room, "")
    if other not in may.split():
        return [f"{path}:{number}: {room} may not include {other}, only: {may or 'nothing'}"]
    return []


def check_functions(path: str, lines: list[str]) -> list[str]:
    """Functions at the outermost indentation, which is where all but inline members are."""
    found, signature, body = [], None, None
    for number, line in enumerate(lines, 1):
        if body is not None:
            length = number - signature + 1
            if line.startswith("}") and length > FUNCTION_LINES_MAX:
                most = f"at most {FUNCTION_LINES_MAX}"
                found.append(f"{path}:{signature}: function of {length} lines, {most}")
            body = None if line.startswith("}") else body
            continue
        if re.match(r"^[A-Za-z~]", line):
            signature = None if NO_FUNCTION.match(line) or "(" not in line else number
        if line.endswith("{") and signature is not None:
            body = number
        elif line.endswith((";", "}")):
            signature = None
    return found


def is_pure(path: str, room: str | None, text: str) -> bool:
    if path in IMPURE_FILES or path.endswith("_test.cc"):
        return False
    said = path.endswith(".h") and re.search(r"^\s*///? Pure: ", text, re.M)
    return room in PURE_ROOMS or bool(said)


def check_code(path: str, text: str) -> list[str]:
    lines = text.splitlines()
    parts = pathlib.PurePosixPath(path).parts
    room = parts[1] if parts[0] == "src" and len(parts) > 2 else None
    found = []
    if room is not None and room not in ROOMS:
        found.append(f"{path}:1: there is no room {room}; the table is in tools/tidy.py")
    if path.endswith(".h") and not text.startswith("#pragma once\n"):
        found.append(f"{path}:1: a header starts with #pragma once")
    pure = is_pure(path, room, text)
    for number, line in enumerate(lines, 1):
        found += check_include(room, path, number, line)
        if re.match(r'TEST_CASE\(".*;', line):
            found.append(f"{path}:{number}: a `;` ends the test's name for ctest, which runs none")
        code = without_comments_and_strings(line)
        included = line if line.lstrip().startswith("#include") else code
        for pattern, instead, allowed in BANS:
            here = any(path.startswith(place) or path.endswith(place) for place in allowed)
            if re.search(pattern, included) and not here:
                found.append(f"{path}:{number}: {re.search(pattern, included)[0]}: {instead}")
        for pattern, why in IMPURE if pure else ():
            if re.search(pattern, included):
                found.append(f"{path}:{number}: {re.search(pattern, included)[0]}: {why}")
    found += check_functions(path, lines)
    return found + tidy_commands.check(path, text) + tidy_coroutines.check(path, text)


def check_room_table(path: str, lines: list[str]) -> list[str]:
    """Rows of the table of rooms in docs/ARCHITECTURE.md that do not say what ROOMS says."""
    found = []
    for number, line in enumerate(lines, 1):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        room = cells[0]
        if not line.startswith("| ") or len(cells) != 3 or room not in ROOMS:
            continue
        if cells[2] != ROOMS[room] and cells[2] not in ("nothing", "nothing of ours", "all"):
            found.append(f"{path}:{number}: {room} may include: {ROOMS[room] or 'nothing'}")
    return found


def check_file(
    path: str, data: bytes, exists: Callable[[str], bool] = lambda name: True
) -> list[str]:
    """All findings about one file; names are relative to the repository; `exists` knows all."""
    name = pathlib.PurePosixPath(path).name
    found = []
    if path.endswith(CODE) and not NAME.match(name):
        found.append(f"{path}:1: file names are snake_case")
    if VAGUE.match(name):
        found.append(f"{path}:1: a file's name is the thing it holds, in the glossary's words")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return found + [f"{path}:1: not UTF-8"]
    if not text.endswith("\n") and text:
        found.append(f"{path}:1: no newline at the end")
    lines = text.splitlines()
    if path.endswith((*CODE, ".py")) and len(lines) > LINES_MAX:
        found.append(f"{path}:1: {len(lines)} lines, at most {LINES_MAX}")
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            found.append(f"{path}:{number}: space at the end of the line")
        if "\t" in line:
            found.append(f"{path}:{number}: a tab")
        if path.endswith((*CODE, ".py")) and len(line) > COLUMNS_MAX:
            found.append(f"{path}:{number}: {len(line)} columns, at most {COLUMNS_MAX}")
    if path.endswith((*CODE, ".py")):
        found += tidy_comments.check(path, text, exists)
    if path == "docs/ARCHITECTURE.md":
        found += check_room_table(path, lines)
    return found + (check_code(path, text) if path.endswith(CODE) else [])


def files_of(root: pathlib.Path) -> list[pathlib.Path]:
    """What this repository wrote itself; .git and build/ are not."""
    skip = {".git", "build", "__pycache__", ".pytest_cache"}
    found, todo = [], [root]
    while todo:
        for path in sorted(todo.pop().iterdir()):
            if path.name in skip or path.is_symlink():
                continue
            if path.is_dir():
                todo.append(path)
            elif path.suffix in TEXT:
                found.append(path)
    return found


def main(arguments: list[str]) -> int:
    root = pathlib.Path(arguments[0] if arguments else ".").resolve()
    files = files_of(root)
    found = []
    for path in files:
        name = path.relative_to(root).as_posix()
        found += check_file(name, path.read_bytes(), lambda other: (root / other).exists())
    for line in found:
        print(line)
    print(f"tidy: {len(files)} files, {len(found)} findings", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
