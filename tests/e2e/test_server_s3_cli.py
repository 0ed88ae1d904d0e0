"""S3 of `sm server`, with the AWS CLI."""

import os
import pathlib
import subprocess
import sys

import pytest
from lab import VENV
from sm_server import SmServer

AWS = VENV / "bin" / "aws"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def tree(folder) -> pathlib.Path:
    """A folder of files whose names are not simple; one of them goes up in parts."""
    for name in ("a.txt", "b c/ü.txt", "b c/d+e&f.txt"):
        path = folder / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (folder / "tree" / "big.bin").write_bytes(os.urandom(20 << 20))
    return folder / "tree"


def files_of(folder: pathlib.Path) -> dict[str, bytes]:
    found = {}
    for path in folder.rglob("*"):
        if path.is_file():
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found


def run(server, *words) -> str:
    done = subprocess.run(
        [str(word) for word in words], env=server.env(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def aws(server, *words) -> str:
    if not AWS.exists():
        pytest.skip(f"{AWS} is missing: requirements/test.txt brings it")
    # The CLI's first line cannot name an interpreter whose path contains a space.
    return run(server, sys.executable, AWS, *words)


def test_aws_cli_synchronises_folders(server, tree, folder):
    aws(server, "s3", "mb", "s3://cli")
    aws(server, "s3", "sync", tree, "s3://cli/tree")
    assert "upload" not in aws(server, "s3", "sync", tree, "s3://cli/tree")
    aws(server, "s3", "sync", "s3://cli/tree", folder / "back")
    assert files_of(folder / "back") == files_of(tree)
    listed = aws(server, "s3", "ls", "--recursive", "s3://cli")
    assert sorted(line[31:] for line in listed.splitlines()) == sorted(
        "tree/" + name for name in files_of(tree)
    )
    assert "PRE tree/" in aws(server, "s3", "ls", "s3://cli")


def test_aws_cli_copies_moves_and_removes(server, tree):
    aws(server, "s3", "mb", "s3://moves")
    aws(server, "s3", "cp", tree / "big.bin", "s3://moves/a/big.bin")
    aws(server, "s3", "cp", "s3://moves/a/big.bin", "s3://moves/b c/big.bin")
    aws(server, "s3", "mv", "s3://moves/b c/big.bin", "s3://moves/d")
    aws(server, "s3api", "head-object", "--bucket", "moves", "--key", "d")
    aws(server, "s3", "rm", "--recursive", "s3://moves")
    aws(server, "s3", "rb", "s3://moves")
    assert "moves" not in aws(server, "s3", "ls")
