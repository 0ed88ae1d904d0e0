"""web/: what it may hold, and that files of others are as they were published."""

import hashlib
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import pack_web  # noqa: E402

WEB = ROOT / "web"
MODULES_MAX = 34
PACKED_BYTES_MAX = 100_000


def files(*suffixes: str) -> list[pathlib.Path]:
    """The files that are packed: no unit tests."""
    found = (path for path in WEB.rglob("*") if path.suffix in suffixes)
    return sorted(path for path in found if not path.name.endswith("_test.js"))


def test_the_page_is_small():
    assert len(files(".js", ".mjs")) <= MODULES_MAX
    data, _ = pack_web.pack(WEB)
    assert len(data) <= PACKED_BYTES_MAX


def test_files_of_others_are_as_they_were_published():
    table = (WEB / "vendor" / "README.md").read_text()
    row = r"^\| (\S+\.(?:mjs|css)) \| .* \| .*(LICENSE-\S+) \| ([0-9a-f]{64}) \|$"
    rows = re.findall(row, table, re.M)
    vendored = {path.name for path in files(".mjs", ".css") if path.parent.name == "vendor"}
    assert {row[0] for row in rows} == vendored
    for name, licence, digest in rows:
        data = (WEB / "vendor" / name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest, name
        assert (WEB / "vendor" / licence).is_file()


@pytest.mark.parametrize("path", files(".js", ".mjs", ".css", ".html"), ids=lambda path: path.name)
def test_nothing_comes_from_elsewhere_or_is_made_of_text(path):
    text = path.read_text()
    if path.parent.name != "vendor":
        assert not re.search(r"https?://", text), "an address of another host"
    # Preact has the means, for who asks for them; the page does not.
    if path.parent.name != "vendor":
        assert not re.search(r"innerHTML|insertAdjacentHTML|document\.write", text)
    assert not re.search(r"\beval\(|new Function\(", text)
    assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=\"|\son[a-z]+=\"", text)


def test_every_module_is_asked_for_at_once():
    index = (WEB / "index.html").read_text()
    for path in files(".js", ".mjs"):
        assert f'{{files}}/{path.relative_to(WEB).as_posix()}"' in index


def test_packing_twice_gives_the_same_bytes(tmp_path):
    made = []
    for name in ("a", "b"):
        paths = tmp_path / f"{name}.bin", tmp_path / f"{name}.inc"
        subprocess.run([sys.executable, ROOT / "tools/pack_web.py", WEB, *paths], check=True)
        made.append([path.read_bytes() for path in paths])
    assert made[0] == made[1]
    assert b"{files}" not in made[0][0]
