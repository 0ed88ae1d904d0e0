"""`sm server` as a registry with crane, oras and skopeo: push, pull, copy, list, delete."""

import json
import os
import subprocess

import pytest

import clients
from fake_registry import MANIFEST_TYPE, OciImage
from oci_image import digest
from sm_server import SmServer
from test_registry import ask, host_of, login_of

pytestmark = pytest.mark.clients
SECONDS = 300
IMAGE = OciImage({"train": os.urandom(6_000_000)}, {"etc/name": b"upper"})


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
def layout(tmp_path):
    IMAGE.write_layout(tmp_path / "layout")
    return tmp_path / "layout"


@pytest.fixture
def run(tmp_path):
    """Runs a program whose logins and caches go with the test."""

    def run_program(*words, cwd=tmp_path) -> str:
        env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
        done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=SECONDS,
                              check=False, cwd=cwd)  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run_program


def check_blobs(folder) -> None:
    for name, data in {**IMAGE.blobs(), digest(IMAGE.manifest): IMAGE.manifest}.items():
        assert (folder / "blobs/sha256" / name.removeprefix("sha256:")).read_bytes() == data


def test_skopeo(server, layout, run, tmp_path):
    skopeo, place = clients.program("skopeo"), f"docker://{host_of(server)}/skopeo/box"
    creds, plain = ["--creds", login_of(server)], "--tls-verify=false"
    to = ["--dest-creds", login_of(server), "--dest-tls-verify=false"]
    of = ["--src-creds", login_of(server), "--src-tls-verify=false"]
    run(skopeo, "copy", *to, f"oci:{layout}:v1", f"{place}:v1")
    run(skopeo, "copy", *to, *of, f"{place}:v1", f"{place}-copy:v2")
    run(skopeo, "copy", *of, f"{place}-copy:v2", f"oci:{tmp_path}/back:v1")
    check_blobs(tmp_path / "back")
    assert json.loads(run(skopeo, "list-tags", *creds, plain, place))["Tags"] == ["v1"]
    run(skopeo, "delete", *creds, plain, f"{place}:v1")
    assert ask(server, "GET", "/v2/skopeo/box/manifests/v1").status == 404


def test_crane(server, layout, run, tmp_path):
    crane, place = clients.program("crane"), f"{host_of(server)}/crane/box"
    user, password = login_of(server).split(":")
    run(crane, "auth", "login", "-u", user, "-p", password, host_of(server))
    run(crane, "push", layout, f"{place}:v1")
    assert run(crane, "digest", f"{place}:v1").strip() == digest(IMAGE.manifest)
    assert json.loads(run(crane, "manifest", f"{place}:v1")) == json.loads(IMAGE.manifest)
    run(crane, "copy", f"{place}:v1", f"{place}-copy:v2")
    run(crane, "tag", f"{place}-copy:v2", "v3")
    assert run(crane, "ls", f"{place}-copy").split() == ["v2", "v3"]
    run(crane, "pull", "--format", "oci", f"{place}-copy:v3", tmp_path / "back")
    check_blobs(tmp_path / "back")
    run(crane, "validate", "--remote", f"{place}:v1")
    run(crane, "append", "-b", f"{place}:v1", "-t", f"{place}:more", "-f", tar_of(tmp_path))
    assert len(json.loads(run(crane, "manifest", f"{place}:more"))["layers"]) == 3
    run(crane, "delete", f"{place}@{digest(IMAGE.manifest)}")
    assert run(crane, "ls", place).split() == ["more"]


def tar_of(folder):
    (folder / "extra").write_text("extra")
    subprocess.run(["tar", "-C", folder, "-cf", folder / "extra.tar", "extra"], check=True)
    return folder / "extra.tar"


def test_oras(server, layout, run, tmp_path):
    oras, place = clients.program("oras"), f"{host_of(server)}/oras/thing"
    user, password = login_of(server).split(":")
    run(oras, "login", "--plain-http", "-u", user, "-p", password, host_of(server))
    (tmp_path / "weights.bin").write_bytes(os.urandom(3_000_000))
    run(oras, "push", "--plain-http", "--artifact-type", "application/vnd.lab.weights",
        f"{place}:v1", "weights.bin:application/octet-stream")  # fmt: skip
    run(oras, "pull", "--plain-http", "-o", tmp_path / "back", f"{place}:v1")
    assert (tmp_path / "back/weights.bin").read_bytes() == (tmp_path / "weights.bin").read_bytes()
    run(oras, "cp", "--from-plain-http", "--to-plain-http", f"{place}:v1", f"{place}-copy:v2")
    assert run(oras, "repo", "tags", "--plain-http", f"{place}-copy").split() == ["v2"]
    assert {"oras/thing", "oras/thing-copy"} <= set(
        run(oras, "repo", "ls", "--plain-http", host_of(server)).split())  # fmt: skip
    run(oras, "cp", "--from-oci-layout", f"{layout}:v1", "--to-plain-http", f"{place}:image")
    answer = ask(server, "GET", "/v2/oras/thing/manifests/image")
    assert answer.body == IMAGE.manifest and answer.headers["Content-Type"] == MANIFEST_TYPE
    run(oras, "manifest", "delete", "--plain-http", "-f", f"{place}:v1")
    assert run(oras, "repo", "tags", "--plain-http", place).split() == ["image"]
