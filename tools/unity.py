#!/usr/bin/env python3
"""Groups a room's sources, to be compiled as one file: most of a build is headers and templates,
again and again for each small file.

usage: tools/unity.py SOURCE_FOLDER MOST

Prints CMake's `set_source_files_properties(FILE PROPERTIES UNITY_GROUP NAME)`, for groups of MOST
files at most. Files that stand in one group see each other's unnamed namespaces, so none goes where

- two unnamed namespaces declare one name, or both define a macro of one name;
- one declares a name that a header of ours declares too, and another means the header's.

A program's tests are in groups of their own. Names are found by line: clang-format lets what is
declared in a namespace begin in the first column. What this misses, the compiler says.
"""

import dataclasses
import pathlib
import re
import sys

WORD = re.compile(r"[A-Za-z_]\w*")
INCLUDE = re.compile(r'^#include "([\w/]+/\w+\.h)"', re.M)
MACRO = re.compile(r"^#define (\w+)", re.M)
# Raw strings, comments, strings, characters: what holds no names.
RAW = re.compile(r'R"(\w*)\(.*?\)\1"', re.S)
NO_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"' r"|'(?:\\.|[^'\\\n])'", re.S
)
# One line, which clang-format closes without a comment, or more.
UNNAMED = re.compile(r"^namespace \{\n(.*\n(?=\}$)|(?s:.*?)^\}  // namespace$)", re.M)
NOT_NAMES = {"namespace", "template", "return", "public", "private", "final", "struct"}


def code_of(text: str) -> str:
    return NO_CODE.sub(" ", RAW.sub(" ", text))


def declared(code: str) -> set[str]:
    """The names of functions, types and values that the lines' first columns declare."""
    names = set()
    for line in code.splitlines():
        if not re.match(r"[A-Za-z_]", line):
            continue
        for _ in range(4):  # Template arguments within template arguments.
            line = re.sub(r"<[^<>]*>", " ", line)
        words = [word for word in re.findall(r"[\w:]+", re.split(r"[({=\[;]| : ", line)[0])
                 if word not in NOT_NAMES]  # fmt: skip
        # A macro's use, such as TEST_CASE, declares nothing of that name.
        if words and "::" not in words[-1] and not words[-1].isupper():
            names.add(words[-1])
    return names


@dataclasses.dataclass
class Source:
    """What one file, or a group of files, brings into a group, and what it names."""

    own: set[str] = dataclasses.field(default_factory=set)
    macros: set[str] = dataclasses.field(default_factory=set)
    words: set[str] = dataclasses.field(default_factory=set)

    def add(self, other: "Source") -> None:
        self.own |= other.own
        self.macros |= other.macros
        self.words |= other.words

    def clashes(self, other: "Source", in_headers: set[str]) -> bool:
        return bool(
            self.own & other.own
            or self.own & in_headers & other.words
            or other.own & in_headers & self.words
            or self.macros & other.words
            or other.macros & self.words
        )


class Sources:
    """Every file below `folder`; a folder in it is a room."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        headers = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*.h")}
        self._words = {name: set(WORD.findall(code_of(text))) for name, text in headers.items()}
        self._includes = {name: INCLUDE.findall(text) for name, text in headers.items()}
        self.in_headers: set[str] = set()
        for text in headers.values():
            self.in_headers |= declared(code_of(text))

    def read(self, path: pathlib.Path) -> Source:
        text = path.read_text()
        own: set[str] = set()
        for unnamed in UNNAMED.findall(RAW.sub(" ", text)):
            own |= declared(code_of(unnamed))
        words = set(WORD.findall(code_of(text)))
        todo, done = INCLUDE.findall(text), set()
        while todo:
            header = todo.pop()
            if header not in done:
                done.add(header)
                words |= self._words.get(header, set())
                todo += self._includes.get(header, [])
        return Source(own, set(MACRO.findall(text)), words)

    def groups(self, paths: list[pathlib.Path], most: int) -> list[list[pathlib.Path]]:
        """`paths` in groups, in their order: each file into the first group that it fits."""
        groups: list[tuple[list[pathlib.Path], Source]] = []
        for path in paths:
            source = self.read(path)
            for files, together in groups:
                if len(files) < most and not together.clashes(source, self.in_headers):
                    break
            else:
                files, together = [], Source()
                groups.append((files, together))
            files.append(path)
            together.add(source)
        return [files for files, _ in groups]


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or not arguments[1].isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    sources = Sources(pathlib.Path(arguments[0]).resolve())
    for room in sorted(path for path in sources.folder.rglob("*") if path.is_dir()):
        files = sorted(room.glob("*.cc"))
        tests = [path for path in files if path.name.endswith("_test.cc")]
        own = [path for path in files if path not in tests]
        for kind, paths in (("source", own), ("test", tests)):
            for number, group in enumerate(sources.groups(paths, int(arguments[1]))):
                name = f"{room.name}_{kind}_{number}"
                for path in group:
                    print(f'set_source_files_properties("{path}" PROPERTIES UNITY_GROUP {name})')
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
