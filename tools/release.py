#!/usr/bin/env python3
"""What a release says about itself, from CHANGELOG.md, and whether its tag is right.

usage: tools/release.py version        the version: `project(muster VERSION ...)` in CMakeLists.txt
       tools/release.py notes          the section of CHANGELOG.md for it, or what is unreleased
       tools/release.py notes TAG      the same for a tag, which must be v and the version

RELEASING.md has the steps of a release.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


class NoRelease(Exception):
    """One line for whoever releases."""


def version_in(cmake: str) -> str:
    match = re.search(r"^project\(muster VERSION (\d+\.\d+\.\d+) ", cmake, re.M)
    if match is None:
        raise NoRelease("CMakeLists.txt: no line project(muster VERSION X.Y.Z ...)")
    return match[1]


def sections_of(changelog: str) -> dict[str, str]:
    """Each version, or "Unreleased", and its text; newest first."""
    parts = re.split(r"^## \[([^\]\n]+)\](?: - (\d{4}-\d{2}-\d{2}))?$", changelog, flags=re.M)
    found = {}
    for name, date, text in zip(parts[1::3], parts[2::3], parts[3::3]):
        if name in found:
            raise NoRelease(f"CHANGELOG.md: {name} appears twice")
        if (name == "Unreleased") == bool(date):
            raise NoRelease(f"CHANGELOG.md: {name}: a version has a date, what is unreleased none")
        found[name] = text.strip()
    return found


def notes(changelog: str, version: str, tag: str | None) -> str:
    """The notes of `tag`; without one those of `version`, or of what is not released yet."""
    sections = sections_of(changelog)
    if tag is not None:
        if tag != f"v{version}":
            raise NoRelease(f"the tag is {tag}, the version in CMakeLists.txt {version}")
        if version not in sections:
            raise NoRelease(f"CHANGELOG.md has no section ## [{version}] - DATE")
    text = sections.get(version) or (sections.get("Unreleased") if tag is None else None)
    if not text:
        raise NoRelease("CHANGELOG.md has nothing to say about it")
    return text


def main(arguments: list[str]) -> int:
    try:
        version = version_in((ROOT / "CMakeLists.txt").read_text())
        if arguments == ["version"]:
            print(version)
        elif arguments[:1] == ["notes"] and len(arguments) <= 2:
            tag = arguments[1] if len(arguments) == 2 else None
            print(notes((ROOT / "CHANGELOG.md").read_text(), version, tag))
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except NoRelease as why:
        print(f"release: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
