"""`sm image`: images from folders and archives, kept once a layer, whole or not at all."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tarfile

import pytest

from lab import SM
from oci_image import layer, special, write_archive, write_layout
from process import wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="images need root")


class Images:
    """`sm image` with a state folder of its own."""

    def __init__(self, state: pathlib.Path):
        self.state = state
        self.env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "MUSTER_STATE": str(state)}

    def start(self, *words) -> subprocess.Popen:
        return subprocess.Popen(
            [SM, "image", *map(str, words)],
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words, code: int = 0, seconds: int = 120) -> subprocess.CompletedProcess:
        child = self.start(*words)
        out, err = child.communicate(timeout=seconds)
        assert child.returncode == code, (out, err)
        return subprocess.CompletedProcess(words, code, out, err)

    def inspect(self, name: str) -> dict:
        return json.loads(self.run("inspect", name).stdout)

    def layers(self) -> list[str]:
        return sorted(path.name for path in (self.state / "images/layers").iterdir())


@pytest.fixture
def images(tmp_path):
    return Images(tmp_path / "state")


BASE = {"bin/sh": b"shell", "etc/old": b"old", "data/1": b"1", "keep": b"keep"}


def test_import_list_inspect_remove(images, tmp_path):
    write_archive(tmp_path / "box.tar", [layer(BASE), layer({"train": b"train"})], "team/box:v1")
    told = images.run("import", f"docker-archive:{tmp_path}/box.tar").stdout
    assert told.startswith("docker.io/team/box:v1  sha256:") and told.endswith("  2 layers\n")
    seen = images.inspect("team/box:v1")
    assert seen["Entrypoint"] == ["/train"]
    assert pathlib.Path(seen["Layers"][1], "train").read_bytes() == b"train"
    [listed] = images.run("ls", "--json").stdout.splitlines()
    assert json.loads(listed)["Name"] == "docker.io/team/box:v1"
    assert "docker.io/team/box:v1  sha256:" in images.run("ls").stdout
    again = images.run("import", f"docker-archive:{tmp_path}/box.tar", "--name", "box", "--json")
    assert json.loads(again.stdout) == {
        "Name": "docker.io/library/box:latest",
        "Digest": seen["Digest"],
        "Layers": 2,
    }
    assert len(images.layers()) == 2
    images.run("rm", "team/box:v1")
    assert len(images.layers()) == 2
    assert json.loads(images.run("prune", "--all", "--json").stdout)["Removed"] == [
        "docker.io/library/box:latest"
    ]
    assert images.layers() == []
    assert images.run("ls").stdout == "no images\n"


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["import", "box.tar"], "docker-archive:FILE[:NAME] or oci:DIR[:TAG]; use sm image pull"),
        (["import", "oci:/not/there"], "No such file"),
        (["rm", "box"], "there is no image docker.io/library/box:latest; list the images with"),
        (["prune", "--size", "much"], "--size: expected"),
    ],
)
def test_what_is_wrong_is_said(images, words, want):
    assert want in images.run(*words, code=2).stderr


def test_layers_are_what_an_overlay_shows(images, tmp_path):
    top = {
        "etc/.wh.old": b"",
        "data/.wh..wh..opq": b"",
        "data/2": b"2",
        "hard": special("hard", tarfile.LNKTYPE, "keep"),
        "abs": special("abs", tarfile.SYMTYPE, "/keep"),
        "su": special("su", tarfile.REGTYPE, mode=0o4755, uid=7, gid=8),
        "../../up": b"up",
        "mem": special("mem", tarfile.CHRTYPE, devmajor=1, devminor=1),
    }
    write_layout(tmp_path / "box", [layer(BASE), layer(top)])
    told = images.run("import", f"oci:{tmp_path}/box:v1")
    assert "'mem' left out: it is a device, 1:1" in told.stderr
    lowers = ":".join(reversed(images.inspect("localhost/box:v1")["Layers"]))
    merged = tmp_path / "merged"
    merged.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lowers}", merged],
        capture_output=True,
        text=True,
    )
    if mounted.returncode != 0:
        pytest.skip(f"no overlay can be mounted: {mounted.stderr.strip()}")
    try:
        found = sorted(str(path.relative_to(merged)) for path in merged.rglob("*"))
        assert found == sorted(
            "abs bin bin/sh data data/2 etc hard keep su up".split()
        )
        assert os.readlink(merged / "abs") == "/keep"
        assert (merged / "hard").read_bytes() == b"keep"
        assert (merged / "hard").stat().st_nlink == 2
        status = (merged / "su").stat()
        assert (status.st_mode & 0o7777, status.st_uid, status.st_gid) == (0o4755, 7, 8)
    finally:
        subprocess.run(["umount", merged], check=True)
    assert not (tmp_path / "up").exists()


def big_layers() -> list[bytes]:
    noise = random.Random(7)
    return [layer({f"{i}/{n}": noise.randbytes(1 << 20) for n in range(8)}) for i in range(3)]


def test_two_processes_at_one_image(images, tmp_path):
    write_layout(tmp_path / "box", big_layers())
    children = [images.start("import", f"oci:{tmp_path}/box:v1") for _ in range(2)]
    for child in children:
        out, err = child.communicate(timeout=120)
        assert child.returncode == 0, err
        assert out.startswith("localhost/box:v1")
    assert len(images.layers()) == 3
    assert all(len(name) == 64 for name in images.layers())


def test_a_killed_import_leaves_nothing_in_the_way(images, tmp_path):
    write_layout(tmp_path / "box", big_layers())
    child = images.start("import", f"oci:{tmp_path}/box:v1")
    folder = images.state / "images/layers"
    wait_until("a layer begun", lambda: folder.exists() and any(folder.glob(".new-*/root/*")))
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert images.run("ls").stdout == "no images\n"
    images.run("import", f"oci:{tmp_path}/box:v1")
    assert len(images.layers()) == 3
    for number, path in enumerate(images.inspect("localhost/box:v1")["Layers"]):
        sizes = {f.stat().st_size for f in pathlib.Path(path, str(number)).iterdir()}
        assert sizes == {1 << 20}


def test_a_huge_hole_takes_no_disk(images, tmp_path):
    """`truncate -s 1G` as a layer's member: 1 GiB of zeros in its tar."""
    (tmp_path / "src").mkdir()
    with open(tmp_path / "src/hole", "wb") as hole:
        hole.truncate(1 << 30)
    tar = subprocess.run(
        ["tar", "-C", tmp_path / "src", "-cf", "-", "hole"], capture_output=True, check=True
    ).stdout
    write_layout(tmp_path / "box", [tar])
    images.run("import", f"oci:{tmp_path}/box:v1")
    [path] = images.inspect("localhost/box:v1")["Layers"]
    status = pathlib.Path(path, "hole").stat()
    assert status.st_size == 1 << 30
    assert status.st_blocks == 0


def test_small_images_take_little(images, tmp_path):
    """A whiteout with a path of 120,000 bytes; ten layers that link to a file that is a hole."""
    deep = layer({"a/" * 60_000 + ".wh.x": b""})
    write_layout(tmp_path / "deep", [deep])
    err = images.run("import", f"oci:{tmp_path}/deep:v1", code=2).stderr
    assert "the path has 120005 bytes; the limits are 4095 bytes and 256 parts" in err
    (tmp_path / "src").mkdir()
    with open(tmp_path / "src/hole", "wb") as hole:
        hole.truncate(1 << 40)
    sparse = ["tar", "--sparse", "-C", tmp_path / "src", "-cf", "-", "hole"]
    base = subprocess.run(sparse, capture_output=True, check=True).stdout
    links = [layer({f"{n}": special(f"{n}", tarfile.LNKTYPE, "hole")}) for n in range(10)]
    write_layout(tmp_path / "holes", [base, *links])
    err = images.run("import", f"oci:{tmp_path}/holes:v1", code=2).stderr
    assert "contains more than" in err
    with open(tmp_path / "src/hole", "wb") as hole:
        hole.truncate(100 << 30)
    base = subprocess.run(sparse, capture_output=True, check=True).stdout
    write_layout(tmp_path / "holes2", [base, *links])
    images.run("import", f"oci:{tmp_path}/holes2:v1")
    [listed] = images.run("ls", "--json").stdout.splitlines()
    assert json.loads(listed)["Bytes"] < 1 << 20


def test_a_full_disk(images, tmp_path):
    images.state.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=6m,mode=755", "tmpfs", images.state]
    mounted = subprocess.run(words)
    if mounted.returncode != 0:
        pytest.skip("no tmpfs can be mounted")
    try:
        write_layout(tmp_path / "box", big_layers())
        err = images.run("import", f"oci:{tmp_path}/box:v1", code=2).stderr
        assert "bytes on the disk (at most 3/4 of the disk's free space)" in err
        assert images.run("ls").stdout == "no images\n"
        assert images.layers() == []
    finally:
        subprocess.run(["umount", images.state], check=True)


@pytest.mark.skipif(not shutil.which("buildah"), reason="buildah is not installed")
def test_what_buildah_makes(images, tmp_path):
    env = os.environ | {"HOME": str(tmp_path)}
    folders = ["--root", tmp_path / "root", "--runroot", tmp_path / "run"]

    def buildah(*words) -> str:
        argv = ["buildah", *folders, "--storage-driver", "vfs", *words]
        done = subprocess.run(argv, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    (tmp_path / "src").mkdir()
    (tmp_path / "src/train").write_text("#!/bin/sh\n")
    work = buildah("from", "scratch")
    buildah("copy", work, tmp_path / "src", "/")
    buildah("config", "--entrypoint", '["/train"]', "--env", "A=1", work)
    buildah("commit", "-q", work, "box")
    buildah("push", "-q", "box", f"oci:{tmp_path}/layout:v1")
    buildah("push", "-q", "box", f"docker-archive:{tmp_path}/box.tar:team/box:v1")
    images.run("import", f"oci:{tmp_path}/layout:v1")
    images.run("import", f"docker-archive:{tmp_path}/box.tar")
    for name in ("localhost/layout:v1", "team/box:v1"):
        seen = images.inspect(name)
        assert (seen["Entrypoint"], seen["Env"]) == (["/train"], ["A=1"])
        assert pathlib.Path(seen["Layers"][-1], "train").read_text() == "#!/bin/sh\n"
    assert len(images.layers()) == 1
