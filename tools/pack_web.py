#!/usr/bin/env python3
"""Packs web/ for `sm`, which carries it (src/server/web/web_files.cc).

usage: tools/pack_web.py WEB BYTES TABLE

Writes BYTES, every file packed by gzip, one behind the other, and TABLE, C++ that says where each
is. Unit tests (`*_test.js`) are left out, and so are indentation and comments that fill whole
lines. All lines stay, so that a stack trace names the lines of web/. The same files always give the
same bytes. Three things are filled in on the way:

- a module that a vendored one names alone, as node's resolver has it ("preact"), gets its path:
  a browser needs an import map for the name, which the page's policy would have to let in;
- a vendored one that makes a global (`uplot.mjs`) exports it;
- `{files}` in index.html becomes the folder that the files are served in.
"""

import gzip
import hashlib
import pathlib
import re
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
TEST = "_test.js"
EXPORTS = {"vendor/uplot.mjs": b"\nexport default uPlot;\n"}
VENDORED = re.compile(rb'\bfrom"(preact)"')
# A comment that shares no line with code; no line of a template or string starts like one. And the
# start of a line: in a template of htm, a line break and the blanks after it are one blank at most.
COMMENT = re.compile(rb"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/[ \t]*)$", re.M | re.S)
INDENT = re.compile(rb"^[ \t]+", re.M)


def files_of(web: pathlib.Path) -> dict[str, bytes]:
    files = {}
    for path in sorted(web.rglob("*")):
        if path.suffix in TYPES and path.is_file() and not path.name.endswith(TEST):
            files[path.relative_to(web).as_posix()] = path.read_bytes()
    for name in files:
        if name.startswith("vendor/"):
            files[name] = VENDORED.sub(rb'from"./\1.mjs"', files[name])
        elif name.endswith((".js", ".css")):
            text = COMMENT.sub(lambda found: b"\n" * found[0].count(b"\n"), files[name])
            files[name] = INDENT.sub(b"", text)
        files[name] += EXPORTS.get(name, b"")
    return files


def edition_of(files: dict[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name, data in files.items():
        whole.update(f"{name}\n{len(data)}\n".encode() + data)
    return whole.hexdigest()[:16]


def pack(web: pathlib.Path) -> tuple[bytes, str]:
    files = files_of(web)
    edition = edition_of(files)
    files["index.html"] = files["index.html"].replace(b"{files}", f"/ui/{edition}".encode())
    data, rows = b"", []
    for name, content in files.items():
        packed = gzip.compress(content, 9, mtime=0)
        suffix = pathlib.PurePosixPath(name).suffix
        rows.append(f'    {{"{name}", "{TYPES[suffix]}", {len(data)}, {len(packed)}}},\n')
        data += packed
    table = f'constexpr std::string_view edition = "{edition}";\n'
    table += f"constexpr std::array<Row, {len(rows)}> web_rows = {{{{\n{''.join(rows)}}}}};\n"
    return data, table


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    data, table = pack(pathlib.Path(arguments[0]))
    pathlib.Path(arguments[1]).write_bytes(data)
    pathlib.Path(arguments[2]).write_text(table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
