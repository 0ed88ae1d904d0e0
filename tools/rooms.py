#!/usr/bin/env python3
"""The rooms of src/, as src/rooms.toml has them: checks #include lines, writes CMake's libraries.

usage: tools/rooms.py [SRC]          checks; one line for each finding, and exit status 1
       tools/rooms.py --cmake [SRC]  also prints `muster_room(...)` for each room, lower ones first
       tools/rooms.py --links FILE.. prints `target_link_libraries(...)` for programs elsewhere
       tools/rooms.py --list [SRC]   prints the storeys and rooms with what they hold

A room links the rooms that its files include, no more: building one room's tests builds little.
"""

import collections
import dataclasses
import pathlib
import re
import sys
import tomllib

INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.M)
OTHERS = re.compile(r"^\s*#include <([^>]+)>", re.M)
LINES_MAX = 4000
FILES_MAX = 40
KEYS = {"holds", "uses", "pure", "library"}
# What a room links for including the header of a library, in the order that a static link needs.
LIBRARIES = {
    "sqlite3.h": ["sqlite3"],
    "re2/re2.h": ["re2"],
    "pugixml.hpp": ["pugixml"],
    "yaml.h": ["yaml"],
    "libdeflate.h": ["deflate"],
    "archive.h": ["archive", "z"],
    "zstd.h": ["zstd"],
    "zlib.h": ["z"],
    "openssl/": ["OpenSSL::SSL", "OpenSSL::Crypto"],
}


@dataclasses.dataclass(eq=False)
class Room:
    path: str  # Below src/: "net/loop"; of a storey's own room "net".
    holds: str
    uses: list[str]
    pure: bool
    library: bool  # False: CMake builds it by hand.

    @property
    def storey(self) -> str:
        return self.path.split("/")[0]

    @property
    def name(self) -> str:
        return self.path.split("/")[-1]


class Rooms:
    """The table; `find` tells a file's room."""

    def __init__(self, text: str) -> None:
        self.wrong: list[str] = []
        self.by_path: dict[str, Room] = {}
        self.storeys: dict[str, list[str]] = {}  # What each may use, in the table's order.
        for storey, table in tomllib.loads(text).items():
            self.storeys[storey] = table.get("uses", [])
            self._add(storey, table, [])
            for name, room in table.items():
                if isinstance(room, dict):
                    self._add(f"{storey}/{name}", room, room.get("uses", []))
        self._check_table()

    def _add(self, path: str, table: dict, uses: list[str]) -> None:
        unknown = [key for key in table if key not in KEYS and not isinstance(table[key], dict)]
        if unknown or "holds" not in table:
            self.wrong.append(f"[{path}]: needs holds, and knows {', '.join(sorted(KEYS))}")
        self.by_path[path] = Room(
            path, table.get("holds", ""), uses, table.get("pure", False), table.get("library", True)
        )

    def _check_table(self) -> None:
        names = collections.Counter(room.name for room in self.by_path.values())
        self.wrong += [f"two rooms are called {name}" for name in names if names[name] > 1]
        below: list[str] = []
        for storey, uses in self.storeys.items():
            for other in uses:
                if other.split("/")[0] not in below or other not in self.by_path:
                    self.wrong.append(f"[{storey}]: uses {other}, which is no storey below it")
            below.append(storey)
        for room in self.by_path.values():
            for other in room.uses:
                if f"{room.storey}/{other}" not in self.by_path:
                    self.wrong.append(f"[{room.path}]: uses {other}, which is no room beside it")

    def find(self, path: str) -> Room | None:
        """The room of a file or folder below src/."""
        folder = path.rpartition("/")[0]
        return self.by_path.get(folder)

    def may_use(self, room: Room, other: Room) -> bool:
        if other.path == room.path:
            return True
        if other.storey != room.storey:
            uses = self.storeys[room.storey]
            return other.storey in uses or other.path in uses
        return other.path == other.storey or other.name in room.uses


@dataclasses.dataclass
class Source:
    """What the files of the rooms include of each other."""

    rooms: Rooms
    # By room: the rooms that its files include, and those that only its tests include.
    includes: dict[str, set[str]]
    of_tests: dict[str, set[str]]
    filled: set[str]  # Rooms with files.
    libs: dict[str, list[str]]  # By room: the libraries of others whose headers its files include.
    findings: list[str]


def is_test(name: str) -> bool:
    return name.endswith("_test.cc")


def read(src: pathlib.Path) -> Source:
    rooms = Rooms((src / "rooms.toml").read_text())
    found = [f"src/rooms.toml: {line}" for line in rooms.wrong]
    includes: dict[str, set[str]] = {path: set() for path in rooms.by_path}
    of_tests: dict[str, set[str]] = {path: set() for path in rooms.by_path}
    others: dict[str, set[str]] = collections.defaultdict(set)
    lines: collections.Counter[str] = collections.Counter()
    files: collections.Counter[str] = collections.Counter()
    for file in sorted([*src.rglob("*.cc"), *src.rglob("*.h")]):
        path = file.relative_to(src).as_posix()
        text = file.read_text()
        room = rooms.find(path)
        if room is not None:
            others[room.path].update(OTHERS.findall(text))
        if room is None:
            if "/" in path:  # src/main.cc may include everything.
                found.append(f"src/{path}: is in no room of src/rooms.toml")
            continue
        if not is_test(path):
            lines[room.path] += text.count("\n")
            files[room.path] += 1
        for match in INCLUDE.finditer(text):
            other = rooms.find(match[1])
            where = f"src/{path}:{text.count(chr(10), 0, match.start(1)) + 1}"
            if other is None or not (src / match[1]).exists():
                found.append(f"{where}: there is no src/{match[1]}")
            elif not rooms.may_use(room, other):
                found.append(f"{where}: {room.path} may not include {other.path} (src/rooms.toml)")
            elif other.path != room.path:
                (of_tests if is_test(path) else includes)[room.path].add(other.path)
    for path in rooms.by_path:
        if lines[path] > LINES_MAX:
            found.append(f"src/{path}: {lines[path]} lines, at most {LINES_MAX}: split it")
        if files[path] > FILES_MAX:
            found.append(f"src/{path}: {files[path]} files, at most {FILES_MAX}: split it")
    found += unused(rooms, includes, of_tests)
    libs = {path: libraries(headers) for path, headers in others.items()}
    return Source(rooms, includes, of_tests, set(files), libs, found + cycles(includes))


def libraries(headers: set[str]) -> list[str]:
    return [
        lib
        for start, libs in LIBRARIES.items()
        if any(header.startswith(start) for header in headers)
        for lib in libs
    ]


def unused(
    rooms: Rooms, includes: dict[str, set[str]], of_tests: dict[str, set[str]]
) -> list[str]:
    """Permissions that nothing needs."""
    found = []
    for storey, uses in rooms.storeys.items():
        used = {
            other
            for path, room in rooms.by_path.items()
            if room.storey == storey
            for other in includes[path] | of_tests[path]
        }
        for other in uses:
            if not any(each == other or each.startswith(f"{other}/") for each in used):
                found.append(f"src/rooms.toml: [{storey}]: nothing in it uses {other}")
    for path, room in rooms.by_path.items():
        for other in room.uses:
            if f"{room.storey}/{other}" not in includes[path] | of_tests[path]:
                found.append(f"src/rooms.toml: [{path}]: nothing in it uses {other}")
    return found


def in_order(includes: dict[str, set[str]]) -> list[str]:
    """Rooms after those that they include; those of a cycle are left out."""
    order: list[str] = []
    while True:
        ready = [path for path in includes if path not in order and includes[path] <= set(order)]
        if not ready:
            return order
        order += ready


def cycles(includes: dict[str, set[str]]) -> list[str]:
    rest = set(includes) - set(in_order(includes))
    return [f"src/{path}: is in a cycle of includes" for path in sorted(rest)]


def cmake(source: Source) -> str:
    text = ""
    for path in in_order(source.includes):
        room = source.rooms.by_path[path]
        if not room.library or path not in source.filled:
            continue
        deps = [source.rooms.by_path[each].name for each in sorted(source.includes[path])]
        tests = sorted(source.of_tests[path] - source.includes[path])
        words = [room.name, path, *(["DEPS", *deps] if deps else [])]
        if tests:
            words += ["TEST_DEPS", *(source.rooms.by_path[each].name for each in tests)]
        libs = source.libs.get(path)
        words += ["LIBS", *libs] if libs else []
        text += f"muster_room({' '.join(words)})\n"
    return text


def links(rooms: Rooms, programs: list[pathlib.Path]) -> str:
    """For programs outside of src/, one of each file: fuzz/yaml.cc is fuzz_yaml."""
    text = ""
    for path in programs:
        found = {rooms.find(name) for name in INCLUDE.findall(path.read_text())}
        names = " ".join(sorted(f"muster_{room.name}" for room in found if room))
        if names:
            text += f"target_link_libraries({path.parent.name}_{path.stem} PRIVATE {names})\n"
    return text


def listing(rooms: Rooms) -> str:
    text = ""
    for path, room in rooms.by_path.items():
        indent = "" if path == room.storey else "  "
        text += f"{indent + room.name:20}{room.holds}\n"
    return text


def main(arguments: list[str]) -> int:
    default = pathlib.Path(__file__).resolve().parents[1] / "src"
    words = [each for each in arguments if each.startswith("--")]
    paths = [pathlib.Path(each) for each in arguments if each not in words]
    if words == ["--links"]:
        print(links(Rooms((default / "rooms.toml").read_text()), paths), end="")
        return 0
    src = (paths or [default])[0]
    if words == ["--list"]:
        print(listing(Rooms((src / "rooms.toml").read_text())), end="")
        return 0
    if words not in ([], ["--cmake"]):
        print(__doc__, file=sys.stderr)
        return 2
    source = read(src)
    for line in source.findings:
        print(line, file=sys.stderr)
    if words and not source.findings:
        print(cmake(source), end="")
    return 1 if source.findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
