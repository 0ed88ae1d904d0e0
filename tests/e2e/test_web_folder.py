"""What web/ may hold: files of others as they were, few modules, few bytes, no other host."""

import gzip
import hashlib
import pathlib
import re
import subprocess
import sys

from lab import REPOSITORY

WEB = REPOSITORY / "web"
MODULES_MAX = 15
PACKED_BYTES_MAX = 100_000
# Names of XML's vocabularies, by which Preact makes elements; nobody asks there.
NAMESPACES = "http://www.w3.org/"


def own_and_foreign() -> list[pathlib.Path]:
    return [path for path in WEB.rglob("*") if path.suffix in (".js", ".mjs", ".css", ".html")]


def test_vendored_files_are_those_of_their_packages():
    page = (WEB / "vendor" / "README.md").read_text()
    rows = re.findall(r"^\| (\S+\.mjs) \|.*\| ([0-9a-f]{64}) \|$", page, re.M)
    assert {name for name, _ in rows} == {path.name for path in (WEB / "vendor").glob("*.mjs")}
    for name, digest in rows:
        assert hashlib.sha256((WEB / "vendor" / name).read_bytes()).hexdigest() == digest, name
    for licence in re.findall(r"LICENSE-[a-z-]+", page):
        assert (WEB / "vendor" / licence).is_file()


def test_modules_are_few_and_light():
    modules = [path for path in own_and_foreign() if path.suffix in (".js", ".mjs")]
    assert 0 < len(modules) <= MODULES_MAX
    packed = sum(len(gzip.compress(path.read_bytes(), 9)) for path in own_and_foreign())
    assert packed <= PACKED_BYTES_MAX


def test_no_file_names_another_host():
    for path in own_and_foreign():
        for url in re.findall(r"https?://[^\s\"'`)]*", path.read_text()):
            assert url.startswith(NAMESPACES), f"{path}: {url}"


def test_the_same_files_are_packed_to_the_same_bytes(tmp_path):
    made = []
    for turn in ("one", "two"):
        data, table = tmp_path / f"{turn}.bin", tmp_path / f"{turn}.inc"
        words = [sys.executable, REPOSITORY / "tools" / "pack_web.py", WEB, data, table]
        subprocess.run(words, check=True, timeout=60)
        made.append((data.read_bytes(), table.read_text()))
    assert made[0] == made[1] and len(made[0][0]) <= PACKED_BYTES_MAX
