#!/usr/bin/env python3
"""Checks what no compiler checks: rooms (tools/rooms.py), bans, sizes, names. Runs as a ctest.

usage: tools/tidy.py [FOLDER]

Exits with 1 and prints one line for each finding: FILE:LINE: what, and what to do instead.
"""

import pathlib
import re
import sys
from collections.abc import Callable

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import rooms  # noqa: E402
import tidy_commands  # noqa: E402
import tidy_comments  # noqa: E402
import tidy_coroutines  # noqa: E402
import tidy_test_names  # noqa: E402

# Files that say "Pure: " and all files of rooms that src/rooms.toml calls pure do no I/O, but
# these.
IMPURE_FILES = {
    "src/job/wire/journal.cc": "appends to a descriptor that the steward owns",
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
        "only src/main.cc reads the environment and hands it down",
        ("src/main.cc", "tests/", "_test.cc"),
    ),
    (r"\b(sleep_for|sleep_until|usleep|nanosleep)\b", "wait on a descriptor or a loop::Timer", ()),
    # Literals have no other way; a test may open the namespace that it tests.
    (r"\busing namespace (?!std::\w*literals\b)", "name things in full", ("tests/", "_test.cc")),
    (r"std::endl\b", "'\\n'; flush where it is meant", ()),
    (
        r"\basio\b",
        "loop::Task, loop::Timer: only loop and sockets know Asio",
        ("src/net/loop/", "src/net/sockets/"),
    ),
    (r"#include <CLI/", "command::Line: only command knows CLI11", ("src/command/",)),
    (r"\bNULL\b", "nullptr", ()),
    (r"#include <regex>", "parse by hand: std::regex is slow and recursive", ()),
]

LINES_MAX = 600
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100
NAME = re.compile(r"^[a-z][a-z0-9_]*(\.[a-z]+)*$")
VAGUE = re.compile(r"^(utils?|common|manager|helpers?|misc)(_|\.|$)")
# Not a function, whatever ends in "{"; a test case may be long, since its table is.
NO_FUNCTION = re.compile(r"^(namespace|class|struct|union|enum|extern|const|constexpr|TEST_CASE)\b")

CODE = (".cc", ".h")
TEXT = (".cc", ".h", ".py", ".md", ".txt", ".cmake", ".json", ".sh")


def without_comments_and_strings(line: str) -> str:
    """Good enough for bans: a ban inside a string or a comment is no use of it."""
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    return re.sub(r"//.*", "", line)


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


def is_pure(path: str, text: str, table: rooms.Rooms) -> bool:
    if path in IMPURE_FILES or path.endswith("_test.cc"):
        return False
    said = path.endswith(".h") and re.search(r"^\s*///? Pure: ", text, re.M)
    room = table.find(path.removeprefix("src/"))
    return bool(said or (room is not None and room.pure))


def check_code(path: str, text: str, table: rooms.Rooms) -> list[str]:
    lines = text.splitlines()
    found = []
    if path.endswith(".h") and not text.startswith("#pragma once\n"):
        found.append(f"{path}:1: a header starts with #pragma once")
    pure = is_pure(path, text, table)
    for number, line in enumerate(lines, 1):
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


def check_file(
    path: str, data: bytes, table: rooms.Rooms, exists: Callable[[str], bool] = lambda name: True
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
    return found + (check_code(path, text, table) if path.endswith(CODE) else [])


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
    source = rooms.read(root / "src")
    found = list(source.findings)
    for path in files:
        name = path.relative_to(root).as_posix()
        found += check_file(
            name, path.read_bytes(), source.rooms, lambda other: (root / other).exists()
        )
    tests = tidy_test_names.read(root, files)
    for path in files:
        name = path.relative_to(root).as_posix()
        if name.startswith("docs/") and path.suffix == ".md":
            found += tidy_test_names.check(name, path.read_text(), tests)
    for line in found:
        print(line)
    print(f"tidy: {len(files)} files, {len(found)} findings", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
