"""`sm server` as a registry: pushed to and pulled from by real clients, and what it refuses."""

import base64
import hashlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import urllib.parse

import pytest
from botocore.exceptions import ClientError

from fake_registry import MANIFEST_TYPE, OciImage, index_of
from lab import SM
from oci_image import ARCHITECTURE, digest
from sm_server import SmServer

GUARD_SECONDS = 120
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
IMAGE = OciImage({"train": os.urandom(300_000)}, {"etc/name": b"upper"})


@pytest.fixture
def server(tmp_path, monkeypatch):
    monkeypatch.setenv("MUSTER_STATE", str(tmp_path / "state"))  # The machine's images.
    with SmServer(tmp_path) as started:
        yield started


def login_of(server: SmServer) -> str:
    return f"{server.keys['AWS_ACCESS_KEY_ID']}:{server.keys['AWS_SECRET_ACCESS_KEY']}"


def host_of(server: SmServer) -> str:
    return f"127.0.0.1:{server.port}"


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.body = response.status, response.headers, response.read()

    def code(self) -> str:
        return json.loads(self.body)["errors"][0]["code"]


def ask(server: SmServer, method: str, target: str, body=None, login: str | None = "own",
        **headers) -> Answer:
    """One request; `headers` with '_' for '-'."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=GUARD_SECONDS)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    if login:
        text = login_of(server) if login == "own" else login
        given["Authorization"] = "Basic " + base64.b64encode(text.encode()).decode()
    connection.request(method, target, body, given)
    answer = Answer(connection.getresponse())
    connection.close()
    return answer


def open_upload(server: SmServer) -> str:
    """Where a new upload of repository "box" lies."""
    opened = ask(server, "POST", "/v2/box/blobs/uploads/")
    assert opened.status == 202, (opened.status, opened.body)
    return opened.headers["Location"]


def push(server: SmServer, repository: str, tag: str, image: OciImage = IMAGE) -> Answer:
    for name, data in image.blobs().items():
        assert put_blob(server, repository, data, name).status == 201
    return put_manifest(server, repository, tag, image.manifest)


def put_blob(server: SmServer, repository: str, data: bytes, name: str) -> Answer:
    return ask(server, "POST", f"/v2/{repository}/blobs/uploads/?digest={name}", data)


def put_manifest(server: SmServer, repository: str, tag: str, data: bytes,
                 kind: str = MANIFEST_TYPE) -> Answer:
    return ask(server, "PUT", f"/v2/{repository}/manifests/{tag}", data, Content_Type=kind)


def run(*words, code: int = 0, **more) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=GUARD_SECONDS, **more)
    assert done.returncode == code, done.stderr
    return done.stdout + done.stderr


def kept(server: SmServer) -> list[str]:
    """Files of the store's blobs."""
    return sorted(path.name for path in
                  (server.data.parent / "state/images/blobs/sha256").iterdir())


def image_command(server: SmServer, *words: str) -> str:
    env = {**os.environ, "MUSTER_STATE": str(server.data.parent / "state")}
    return run(SM, "image", *words, env=env)


def test_skopeo_pushes_and_pulls_back_what_it_pushed(server, tmp_path):
    IMAGE.write_layout(tmp_path / "layout")
    place, creds = f"docker://{host_of(server)}/team/box", login_of(server)
    target = ["--dest-tls-verify=false", "--dest-creds", creds]
    copy = ["skopeo", "--debug", "copy", *target, f"oci:{tmp_path}/layout:v1"]
    assert "PATCH http" in run(*copy, f"{place}:v1")
    run("skopeo", "copy", "--src-tls-verify=false", "--src-creds", creds, f"{place}:v1",
        f"oci:{tmp_path}/back:v1")  # fmt: skip
    for name, data in {**IMAGE.blobs(), digest(IMAGE.manifest): IMAGE.manifest}.items():
        path = tmp_path / "back/blobs/sha256" / name.removeprefix("sha256:")
        assert path.read_bytes() == data
    before = kept(server)
    again = run(*copy, f"{place}:v2")
    assert "PUT http" in again and "PATCH http" not in again  # The manifest alone is sent.
    assert kept(server) == before
    assert json.loads(ask(server, "GET", "/v2/team/box/tags/list").body)["tags"] == ["v1", "v2"]
    told = json.loads(run("skopeo", "inspect", "--tls-verify=false", "--creds", creds,
                          f"{place}:v2"))  # fmt: skip
    assert told["Digest"] == digest(IMAGE.manifest) and told["RepoTags"] == ["v1", "v2"]


def test_docker_schema_2_and_login_by_a_token_of_ecr(server, tmp_path):
    IMAGE.write_layout(tmp_path / "layout")
    token = server.client("ecr").get_authorization_token()["authorizationData"][0]
    user, password = base64.b64decode(token["authorizationToken"]).decode().split(":", 1)
    assert user == "AWS" and server.keys["AWS_SECRET_ACCESS_KEY"] not in password
    assert token["proxyEndpoint"] == f"http://{host_of(server)}"
    auth = ["--authfile", str(tmp_path / "auth.json")]
    registry = urllib.parse.urlsplit(token["proxyEndpoint"]).netloc
    run("skopeo", "login", "--tls-verify=false", "-u", user, "-p", password, *auth, registry)
    run("skopeo", "copy", "--format", "v2s2", "--dest-tls-verify=false", *auth,
        f"oci:{tmp_path}/layout:v1", f"docker://{registry}/box:docker")  # fmt: skip
    answer = ask(server, "GET", "/v2/box/manifests/docker")
    assert answer.headers["Content-Type"].endswith("docker.distribution.manifest.v2+json")
    server.kill()
    server.start()  # A token outlives the server's process.
    run("skopeo", "inspect", "--tls-verify=false", *auth, f"docker://{registry}/box:docker")
    wrong = run("skopeo", "login", "--tls-verify=false", "-u", "AWS", "-p", password[:-1] + "!",
                *auth, registry, code=1)  # fmt: skip
    assert "unauthorized" in wrong or "invalid username/password" in wrong


def test_buildah_builds_pushes_and_the_machine_knows_the_image(server, tmp_path):
    context = tmp_path / "context"
    context.mkdir()
    (context / "train").write_bytes(b"#!/bin/sh\n")
    (context / "Dockerfile").write_text('FROM scratch\nCOPY train /train\nENTRYPOINT ["/train"]\n')
    own = ["--root", str(tmp_path / "root"), "--runroot", str(tmp_path / "run"),
           "--storage-driver", "vfs"]  # fmt: skip
    name = f"{host_of(server)}/lab/box:v1"
    run("buildah", *own, "bud", "--isolation", "chroot", "-t", name, str(context))
    run("buildah", *own, "push", "--tls-verify=false", "--creds", login_of(server), name)
    listed = image_command(server, "ls")
    assert "registry.muster.internal/lab/box:v1" in listed and "not used by a job yet" in listed
    before = kept(server)
    image_command(server, "prune", "--all")
    assert kept(server) == before
    shutil.rmtree(tmp_path / "root")
    own[1] = str(tmp_path / "root2")
    run("buildah", *own, "pull", "--tls-verify=false", "--creds", login_of(server), name)


def test_an_upload_in_chunks_goes_on_where_it_broke(server):
    data = os.urandom(3_000_000)
    begun = ask(server, "POST", "/v2/box/blobs/uploads/")
    assert begun.status == 202
    place = begun.headers["Location"]
    first = ask(server, "PATCH", place, data[:1_000_000], Content_Range="0-999999")
    assert first.status == 202 and first.headers["Range"] == "0-999999"
    twice = ask(server, "PATCH", place, data[:1_000_000], Content_Range="0-999999")
    assert twice.status == 416 and twice.headers["Range"] == "0-999999"

    with socket.create_connection(("127.0.0.1", server.port)) as cut:
        login = base64.b64encode(login_of(server).encode()).decode()
        cut.sendall(f"PATCH {place} HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {login}\r\n"
                    "Content-Length: 2000000\r\n\r\n".encode())  # fmt: skip
        cut.sendall(data[1_000_000:1_500_000])
        cut.shutdown(socket.SHUT_WR)
        cut.settimeout(GUARD_SECONDS)
        cut.recv(1000)
    status = ask(server, "GET", place)
    assert status.status == 204
    have = int(status.headers["Range"].split("-")[1]) + 1
    assert 1_000_000 <= have <= 1_500_000
    done = ask(server, "PUT", f"{place}?digest={digest(data)}", data[have:])
    assert done.status == 201 and done.headers["Docker-Content-Digest"] == digest(data)
    got = ask(server, "GET", f"/v2/box/blobs/{digest(data)}")
    assert hashlib.sha256(got.body).hexdigest() == digest(data).removeprefix("sha256:")
    part = ask(server, "GET", f"/v2/box/blobs/{digest(data)}", Range="bytes=10-19")
    assert part.status == 206 and part.body == data[10:20]
    head = ask(server, "HEAD", f"/v2/box/blobs/{digest(data)}")
    assert head.status == 200 and head.headers["Content-Length"] == "3000000"
    assert ask(server, "GET", place).code() == "BLOB_UPLOAD_UNKNOWN"


def test_half_an_upload_is_gone_when_it_is_given_up_or_the_server_ends(server):
    def begun() -> str:
        place = open_upload(server)
        assert ask(server, "PATCH", place, b"half").status == 202
        return place

    place = begun()
    assert len(kept(server)) == 1
    assert ask(server, "DELETE", place).status == 204
    assert kept(server) == []
    place = begun()
    server.kill()
    assert len(kept(server)) == 1
    server.start()
    assert ask(server, "GET", place).code() == "BLOB_UPLOAD_UNKNOWN"
    image_command(server, "prune")
    assert kept(server) == []


def test_wrong_digests_sizes_and_documents_leave_nothing(server):
    assert put_blob(server, "box", b"some bytes", digest(b"other")).code() == "DIGEST_INVALID"
    place = open_upload(server)
    wrong = ask(server, "PUT", f"{place}?digest={digest(b'other')}", b"some bytes")
    assert (wrong.status, wrong.code()) == (400, "DIGEST_INVALID")
    for given in ["sha256:..", "sha512:" + "a" * 128, "sha256:" + "A" * 64, "../../etc/passwd"]:
        answer = ask(server, "POST", f"/v2/box/blobs/uploads/?digest={given}", b"some bytes")
        assert answer.code() == "DIGEST_INVALID"
    assert kept(server) == []
    assert put_manifest(server, "box", "v1", IMAGE.manifest).code() == "MANIFEST_BLOB_UNKNOWN"
    assert put_manifest(server, "box", "v1", b"{").code() == "MANIFEST_INVALID"
    assert put_manifest(server, "box", "v1", IMAGE.manifest, "text/plain").code() == (
        "MANIFEST_INVALID")
    large = put_manifest(server, "box", "v1", b" " * (5 << 20))
    assert (large.status, large.code()) == (413, "MANIFEST_INVALID")
    assert push(server, "box", "v1").status == 201
    lies = json.loads(IMAGE.manifest)
    lies["layers"][0]["size"] += 1
    assert put_manifest(server, "box", "v2", json.dumps(lies).encode()).code() == (
        "MANIFEST_INVALID")
    assert put_manifest(server, "box", digest(b"x"), IMAGE.manifest).code() == "DIGEST_INVALID"
    assert put_manifest(server, "box", "v2", IMAGE.manifest, INDEX_TYPE).code() == (
        "MANIFEST_INVALID")
    assert ask(server, "HEAD", "/v2/box/manifests/v2").status == 404


def test_an_index_needs_its_images_and_lists_go_page_by_page(server):
    index = index_of({ARCHITECTURE: IMAGE})
    assert put_manifest(server, "box", "all", index, INDEX_TYPE).code() == "MANIFEST_BLOB_UNKNOWN"
    assert push(server, "box", digest(IMAGE.manifest)).status == 201
    assert put_manifest(server, "box", "all", index, INDEX_TYPE).status == 201
    for tag in ["b", "a", "c"]:
        assert put_manifest(server, "box", tag, IMAGE.manifest).status == 201
    page = ask(server, "GET", "/v2/box/tags/list?n=3")
    assert json.loads(page.body)["tags"] == ["a", "all", "b"]
    following = page.headers["Link"].split(">")[0].removeprefix("<")
    page = ask(server, "GET", following)
    assert json.loads(page.body)["tags"] == ["c"] and "Link" not in page.headers
    assert json.loads(ask(server, "GET", "/v2/_catalog").body) == {"repositories": ["box"]}
    assert ask(server, "DELETE", "/v2/box/manifests/a").status == 202
    assert ask(server, "GET", "/v2/box/manifests/a").code() == "MANIFEST_UNKNOWN"
    assert ask(server, "DELETE", f"/v2/box/manifests/{digest(index)}").status == 202
    assert ask(server, "DELETE", f"/v2/box/blobs/{digest(IMAGE.config)}").status == 405
    assert json.loads(ask(server, "GET", "/v2/box/tags/list").body)["tags"] == ["b", "c"]


def test_the_registry_requires_a_key(server):
    key, secret = login_of(server).split(":")
    assert push(server, "box", "v1").status == 201
    logins = [None, f"{key}:wrong-secret", f"nobody:{secret}", "AWS:none", f"AWS:{secret}", ":"]
    for login in logins:
        for method, target in [
            ("GET", "/v2/"), ("GET", "/v2/_catalog"), ("GET", "/v2/box/manifests/v1"),
            ("GET", "/v2/../"), ("POST", "/v2/box/blobs/uploads/"),
        ]:  # fmt: skip
            answer = ask(server, method, target, login=login)
            assert (answer.status, answer.code()) == (401, "UNAUTHORIZED")
            assert answer.headers["WWW-Authenticate"] == 'Basic realm="muster"'
            assert answer.headers["Docker-Distribution-Api-Version"] == "registry/2.0"
    assert ask(server, "GET", "/v2/").status == 200


def test_names_lead_nowhere_else(server):
    for name in ["../box", "a/../b", "..%2f..%2fbox", "a//b", "A", "a+b", "a" * 300, "."]:
        for target in [f"/v2/{name}/manifests/v1", f"/v2/{name}/blobs/{digest(b'')}",
                       f"/v2/{name}/blobs/uploads/"]:  # fmt: skip
            method = "POST" if target.endswith("uploads/") else "GET"
            answer = ask(server, method, target)
            assert answer.status in (400, 404) and answer.code() in ("NAME_INVALID", "UNSUPPORTED")
    for upload in ["..", "../../lock", "%2e%2e", "0" * 31, "0" * 32]:
        answer = ask(server, "PATCH", f"/v2/box/blobs/uploads/{upload}", b"bytes")
        assert answer.status in (400, 404)
    state = server.data.parent / "state/images"
    assert list((state / "registry").glob("*.json")) == [] and kept(server) == []


def test_a_body_of_any_length_is_refused_before_it_comes(server):
    login = base64.b64encode(login_of(server).encode()).decode()
    place = open_upload(server)
    with socket.create_connection(("127.0.0.1", server.port), timeout=GUARD_SECONDS) as client:
        client.sendall(f"PATCH {place} HTTP/1.1\r\nHost: a\r\nAuthorization: Basic {login}\r\n"
                       f"Content-Length: {1 << 50}\r\n\r\n".encode())  # fmt: skip
        assert client.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_digest_opens_no_other_repositorys_blob(server, tmp_path):
    # An image that was pulled from another registry is in the same store.
    IMAGE.write_layout(tmp_path / "layout")
    image_command(server, "import", f"oci:{tmp_path}/layout:v1", "--name", "private.example/box:v1")
    config = digest(IMAGE.config)
    assert config.removeprefix("sha256:") in kept(server)
    assert push(server, "mine", "v1", OciImage({"a": b"1"})).status == 201
    assert ask(server, "GET", f"/v2/mine/blobs/{config}").code() == "BLOB_UNKNOWN"
    mount = ask(server, "POST", f"/v2/mine/blobs/uploads/?mount={config}&from=private/box")
    assert mount.status == 202  # Begins an upload, as if nothing was there.
    assert push(server, "theirs", "v1").status == 201
    mount = ask(server, "POST", f"/v2/mine/blobs/uploads/?mount={config}&from=theirs")
    assert mount.status == 201
    assert ask(server, "GET", f"/v2/mine/blobs/{config}").body == IMAGE.config


def code_of(call, **arguments) -> str:
    with pytest.raises(ClientError) as raised:
        call(**arguments)
    return raised.value.response["Error"]["Code"]


def test_ecr_creates_describes_and_deletes_repositories(server):
    ecr = server.client("ecr")
    made = ecr.create_repository(repositoryName="team/box", imageTagMutability="IMMUTABLE")
    assert made["repository"]["repositoryUri"] == f"{host_of(server)}/team/box"
    assert code_of(ecr.create_repository, repositoryName="team/box") == (
        "RepositoryAlreadyExistsException")
    assert code_of(ecr.describe_repositories, repositoryNames=["nope"]) == (
        "RepositoryNotFoundException")
    assert push(server, "team/box", "v1").status == 201
    other = OciImage({"a": b"1"})
    refused = push(server, "team/box", "v1", other)
    assert refused.code() == "TAG_INVALID" and b"immutable" in refused.body
    ecr.create_repository(repositoryName="another")
    pages = ecr.get_paginator("describe_repositories").paginate(PaginationConfig={"PageSize": 1})
    names = [one["repositoryName"] for page in pages for one in page["repositories"]]
    assert names == ["another", "team/box"]
    [detail] = ecr.describe_images(repositoryName="team/box")["imageDetails"]
    assert detail["imageTags"] == ["v1"] and detail["imageDigest"] == digest(IMAGE.manifest)
    assert detail["imageSizeInBytes"] == sum(len(data) for data in IMAGE.blobs().values())
    [image] = ecr.list_images(repositoryName="team/box")["imageIds"]
    assert image == {"imageDigest": digest(IMAGE.manifest), "imageTag": "v1"}
    got = ecr.batch_get_image(repositoryName="team/box",
                              imageIds=[{"imageTag": "v1"}, {"imageTag": "v2"}])  # fmt: skip
    assert got["images"][0]["imageManifest"].encode() == IMAGE.manifest
    assert got["failures"][0]["failureCode"] == "ImageNotFound"
    assert code_of(ecr.describe_images, repositoryName="team/box",
                   imageIds=[{"imageTag": "v2"}]) == "ImageNotFoundException"  # fmt: skip
    assert code_of(ecr.delete_repository, repositoryName="team/box") == (
        "RepositoryNotEmptyException")
    ecr.delete_repository(repositoryName="team/box", force=True)
    assert ask(server, "GET", "/v2/team/box/tags/list").code() == "NAME_UNKNOWN"
    image_command(server, "prune")
    assert kept(server) == []


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path, monkeypatch):
    small = tmp_path / "state"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", small])
    if mounted.returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here")
    try:
        monkeypatch.setenv("MUSTER_STATE", str(small))
        with SmServer(tmp_path) as server:
            data = os.urandom(6 << 20)
            answer = put_blob(server, "box", data, digest(data))
            assert answer.status == 507 and b"disk is full" in answer.body
            assert kept(server) == []
            assert push(server, "box", "v1").status == 201
    finally:
        subprocess.run(["umount", "-l", small], check=True)
