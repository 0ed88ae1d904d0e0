"""Images of the largest sizes that are taken are still unpacked within their limits."""

import gzip
import hashlib
import os
import pathlib
import random
import tarfile

import pytest

from oci_image import Packed, layer, write_layout
from test_images import Images

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="images need root")

SECONDS = 3600
MEMBER_BYTES = 16 << 20  # One gzip member of a large layer.


@pytest.fixture
def images(tmp_path):
    return Images(tmp_path / "state")


def head_of(name: str, size: int, kind: bytes = tarfile.REGTYPE) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def large_layer(file: pathlib.Path, name: str, gib: int, noise: int = 1 << 20) -> Packed:
    """A layer with one file: so much of every 16 MiB is noise, the rest zeros. Made in seconds,
    since each 16 MiB are the same gzip member."""
    part = random.Random(1).randbytes(noise) + bytes(MEMBER_BYTES - noise)
    pieces = [(head_of(name, gib << 30), 1), (part, (gib << 30) // len(part)), (bytes(1024), 1)]
    tar = hashlib.sha256()
    with open(file, "wb") as out:
        for piece, times in pieces:
            member = gzip.compress(piece, 1, mtime=0)
            for _ in range(times):
                out.write(member)
                tar.update(piece)
    return Packed(file, "sha256:" + tar.hexdigest())


def layer_of_files(file: pathlib.Path, folders: int, files: int) -> Packed:
    """Folders with so many files each; a file holds its own number."""
    tar = hashlib.sha256()
    with gzip.open(file, "wb", 1) as out:

        def put(piece: bytes) -> None:
            tar.update(piece)
            out.write(piece)

        for folder in range(folders):
            put(head_of(f"data/{folder}", 0, tarfile.DIRTYPE))
            for number in range(files):
                text = f"{folder}/{number}".encode()
                put(head_of(f"data/{folder}/{number}", len(text)) + text.ljust(512, b"\0"))
        put(bytes(1024))
    return Packed(file, "sha256:" + tar.hexdigest())


@pytest.mark.deep
def test_an_image_of_999_layers_is_unpacked(images, tmp_path):
    layers = [layer({f"{number}": b"%d" % number, "last": b"%d" % number}) for number in range(999)]
    write_layout(tmp_path / "box", layers)
    images.run("import", f"oci:{tmp_path}/box:v1", seconds=SECONDS)
    paths = images.inspect("localhost/box:v1")["Layers"]
    assert len(paths) == 999
    found = [{each.name: each.read_bytes() for each in pathlib.Path(path).iterdir()}
             for path in paths]  # fmt: skip
    want = {b"%d" % number: {f"{number}": b"%d" % number, "last": b"%d" % number}
            for number in range(999)}  # fmt: skip
    assert {each["last"]: each for each in found} == want
    write_layout(tmp_path / "more", [*layers, layer({"one": b"more"})])
    err = images.run("import", f"oci:{tmp_path}/more:v1", code=2).stderr
    assert "layers: expected a list of at most 999" in err


@pytest.mark.deep
def test_an_image_of_30_gib_is_unpacked(images, tmp_path):
    """About 4 GiB of it are on the disk, once packed and once not."""
    gib = 30
    write_layout(tmp_path / "box", [large_layer(tmp_path / "packed", "weights", gib)])
    images.run("import", f"oci:{tmp_path}/box:v1", seconds=SECONDS)
    [path] = images.inspect("localhost/box:v1")["Layers"]
    status = pathlib.Path(path, "weights").stat()
    assert status.st_size == gib << 30
    assert status.st_blocks * 512 <= (gib + 1) << 26, "zeros are holes"
    noise = random.Random(1).randbytes(1 << 20)
    with open(pathlib.Path(path, "weights"), "rb") as file:
        for part in (0, 1, gib * 64 - 1):
            file.seek(part * MEMBER_BYTES)
            assert file.read((1 << 20) + 1) == noise + b"\0"


@pytest.mark.deep
def test_an_image_of_6_gib_without_holes_is_unpacked(images, tmp_path):
    """Packed it is as large, so that every byte is read, unpacked, hashed and written."""
    gib = 6
    packed = large_layer(tmp_path / "packed", "weights", gib, MEMBER_BYTES)
    write_layout(tmp_path / "box", [packed])
    images.run("import", f"oci:{tmp_path}/box:v1", seconds=SECONDS)
    [path] = images.inspect("localhost/box:v1")["Layers"]
    status = pathlib.Path(path, "weights").stat()
    assert status.st_size == gib << 30 <= status.st_blocks * 512
    noise = random.Random(1).randbytes(MEMBER_BYTES)
    with open(pathlib.Path(path, "weights"), "rb") as file:
        for part in (0, 1, gib * 64 - 1):
            file.seek(part * MEMBER_BYTES)
            assert file.read(MEMBER_BYTES) == noise


@pytest.mark.deep
def test_an_image_of_500_000_files_is_unpacked(images, tmp_path):
    folders, files = 500, 1000
    write_layout(tmp_path / "box", [layer_of_files(tmp_path / "packed", folders, files)])
    images.run("import", f"oci:{tmp_path}/box:v1", seconds=SECONDS)
    [path] = images.inspect("localhost/box:v1")["Layers"]
    counts = [len(os.listdir(each)) for each in pathlib.Path(path, "data").iterdir()]
    assert counts == [files] * folders
    assert pathlib.Path(path, "data/499/999").read_bytes() == b"499/999"
    assert pathlib.Path(path, "data/0/0").read_bytes() == b"0/0"
