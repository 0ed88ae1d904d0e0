"""S3 of `sm server`, with s5cmd: many connections, wildcards, and parts side by side."""

import os
import pathlib
import subprocess
import urllib.request

import pytest
from lab import VENV
from sm_server import SmServer

S5CMD = VENV / "bin" / "s5cmd"
BUCKET = "s3://five"
NAMES = ("a.txt", "b c/ü.txt", "b c/d+e&f.txt", "b c/日本 语/%41.txt", "x=y/[z]~'.txt")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def s5cmd(server):
    """Runs s5cmd, with a bucket of its own for the test."""

    def run(*words, stdin: bytes | None = None, env: dict | None = None, fails=False) -> str:
        done = subprocess.run(
            [S5CMD, "--endpoint-url", server.url, *(str(word) for word in words)],
            env={**server.env(), **(env or {})},
            input=stdin,
            capture_output=True,
            timeout=120,
        )
        text = (done.stdout + done.stderr).decode()
        assert (done.returncode != 0) == fails, text
        return text

    run("mb", BUCKET)
    yield run
    run("rm", BUCKET + "/*", fails=not run("ls", BUCKET))
    run("rb", BUCKET)


@pytest.fixture
def tree(folder) -> pathlib.Path:
    for name in NAMES:
        path = folder / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return folder / "tree"


def files_of(folder: pathlib.Path) -> dict[str, bytes]:
    found = folder.rglob("*")
    return {str(p.relative_to(folder)): p.read_bytes() for p in found if p.is_file()}


def keys_in(listed: str) -> list[str]:
    """Sorted keys, which may have spaces, of `ls`'s lines: date, time, size, key."""
    return sorted(line.split(maxsplit=3)[3] for line in listed.splitlines())


def test_one_file_goes_up_and_down(s5cmd, tree, folder):
    for name in NAMES:
        s5cmd("cp", "--raw", tree / name, f"{BUCKET}/{name}")
        s5cmd("cp", "--raw", f"{BUCKET}/{name}", folder / "back")
        assert (folder / "back").read_text() == name
        assert s5cmd("cat", "--raw", f"{BUCKET}/{name}") == name


def test_folders_go_up_and_down_by_wildcards(s5cmd, tree, folder):
    s5cmd("cp", f"{tree}/", f"{BUCKET}/tree/")
    assert keys_in(s5cmd("ls", f"{BUCKET}/tree/*")) == sorted(NAMES)
    s5cmd("cp", f"{BUCKET}/tree/*", f"{folder}/back/")
    assert files_of(folder / "back") == files_of(tree)
    s5cmd("cp", f"{BUCKET}/tree/b*/*.txt", f"{folder}/some/")
    assert len(files_of(folder / "some")) == 3
    s5cmd("cp", f"{BUCKET}/tree/*", f"{BUCKET}/copy/")
    assert keys_in(s5cmd("ls", f"{BUCKET}/copy/*")) == sorted(NAMES)
    assert "tree/" in s5cmd("ls", BUCKET + "/")


def test_a_large_file_goes_in_parts_side_by_side(s5cmd, folder):
    (folder / "big").write_bytes(os.urandom(60 << 20))
    s5cmd("cp", "--part-size", 5, "--concurrency", 8, folder / "big", f"{BUCKET}/big")
    s5cmd("cp", "--part-size", 5, "--concurrency", 8, f"{BUCKET}/big", folder / "back")
    assert (folder / "back").read_bytes() == (folder / "big").read_bytes()
    assert "60.0M" in s5cmd("du", "--humanize", f"{BUCKET}/*")


def test_objects_move_and_go(s5cmd, tree):
    s5cmd("cp", f"{tree}/", f"{BUCKET}/tree/")
    s5cmd("mv", f"{BUCKET}/tree/a.txt", f"{BUCKET}/moved here.txt")
    assert s5cmd("cat", f"{BUCKET}/moved here.txt") == "a.txt"
    s5cmd("rm", f"{BUCKET}/tree/b c/*")
    assert keys_in(s5cmd("ls", f"{BUCKET}/*")) == ["moved here.txt", "tree/x=y/[z]~'.txt"]
    s5cmd("mv", f"{BUCKET}/moved here.txt", tree / "down.txt")
    assert (tree / "down.txt").read_text() == "a.txt"
    assert "no object found" in s5cmd("ls", f"{BUCKET}/moved*", fails=True)


def test_a_second_sync_moves_nothing(s5cmd, tree, folder):
    assert s5cmd("sync", f"{tree}/", f"{BUCKET}/tree/").count("cp ") == len(NAMES)
    assert s5cmd("sync", f"{tree}/", f"{BUCKET}/tree/") == ""
    assert s5cmd("sync", f"{BUCKET}/tree/*", f"{folder}/back/").count("cp ") == len(NAMES)
    assert s5cmd("sync", f"{BUCKET}/tree/*", f"{folder}/back/") == ""
    (tree / "a.txt").unlink()
    gone = s5cmd("sync", "--delete", f"{tree}/", f"{BUCKET}/tree/")
    assert gone.strip() == f"rm {BUCKET}/tree/a.txt"
    assert files_of(folder / "back").keys() == set(NAMES)


def test_a_stream_becomes_an_object_that_a_url_shows(s5cmd):
    data = os.urandom(12 << 20)
    s5cmd("pipe", "--part-size", 5, f"{BUCKET}/from a pipe", stdin=data)
    assert "1 objects" in s5cmd("du", f"{BUCKET}/*")
    url = s5cmd("presign", "--expire", "1h", f"{BUCKET}/from a pipe").strip()
    with urllib.request.urlopen(url, timeout=60) as answer:
        assert answer.read() == data
    head = s5cmd("head", f"{BUCKET}/from a pipe")
    assert f'"size":{len(data)}' in head.replace(" ", "")


def test_many_small_objects_by_one_command(s5cmd, folder):
    (folder / "many").mkdir()
    for number in range(1200):  # More than a page, and than DeleteObjects takes at once.
        (folder / "many" / f"{number:04}").write_text(str(number))
    s5cmd("cp", "--concurrency", 1, f"{folder}/many/", BUCKET + "/many/")
    assert len(keys_in(s5cmd("ls", f"{BUCKET}/many/*"))) == 1200
    s5cmd("rm", f"{BUCKET}/many/0*")
    assert len(keys_in(s5cmd("ls", f"{BUCKET}/many/*"))) == 200


def test_a_wrong_key_is_reported(s5cmd):
    wrong = {"AWS_SECRET_ACCESS_KEY": "x" * 40}
    assert "SignatureDoesNotMatch" in s5cmd("ls", BUCKET, env=wrong, fails=True)
    unknown = {"AWS_ACCESS_KEY_ID": "AKIAAAAAAAAAAAAAAAAA"}
    assert "InvalidAccessKeyId" in s5cmd("ls", BUCKET, env=unknown, fails=True)
    assert "NoSuchBucket" in s5cmd("ls", "s3://nowhere", fails=True)
