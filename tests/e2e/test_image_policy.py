"""Images that have to be signed: sm image pull --policy, sm fit --policy, jobs.image_policy."""

import base64
import json
import os
import shutil
import subprocess

import pytest

from docker_registry import docker_registry
from fake_registry import FakeRegistry, OciImage, index_of
from image_signature import Attachment, Key, payload_for, policy
from lab import SM
from oci_image import ARCHITECTURE, digest, programs
from sm_server import SmServer
from test_server_image import World

GUARD_SECONDS = 60
SHELL = {**programs("/bin/sh", str(SM)), "etc/passwd": b"root:x:0:0::/root:/bin/sh\n"}
del SHELL[str(SM).removeprefix("/")]
TRAIN = b"#!/bin/sh\necho it runs\necho weights >/opt/ml/model/weights\n"
REPOSITORY = {"type": "matchRepository"}


def sm(folder, *words) -> subprocess.CompletedProcess:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "MUSTER_STATE": str(folder / "state")}
    return subprocess.run([SM, *map(str, words)], env=env, cwd=folder, capture_output=True,
                          text=True, timeout=GUARD_SECONDS)


def runnable() -> OciImage:
    return OciImage(SHELL, {"train": TRAIN})


def is_refused(done: subprocess.CompletedProcess, why: str) -> bool:
    """By one line, with nothing else said."""
    assert done.returncode == 2, (done.stdout, done.stderr)
    assert done.stdout == "" and done.stderr.count("\n") == 1, done.stderr
    assert why in done.stderr, done.stderr
    return True


@pytest.fixture
def debians_registry(tmp_path):
    """Without TLS. Its address."""
    with docker_registry(tmp_path) as address:
        yield address


def skopeo_copy(source: str, target: str, *more) -> subprocess.CompletedProcess:
    argv = ["skopeo", *map(str, more), "copy", "-q", source, target,
            "--dest-tls-verify=false", "--src-tls-verify=false"]
    return subprocess.run(argv, capture_output=True, text=True, timeout=GUARD_SECONDS)


def test_every_rule_on_debians_registry(tmp_path, debians_registry):
    """Debian's skopeo cannot judge beside it: its sigstore is compiled out."""
    own, other = Key(tmp_path), Key(tmp_path, "other")

    def push(tag: str) -> tuple[str, str]:
        image = OciImage({"name": tag.encode()})
        image.write_layout(tmp_path / tag)
        name = f"{debians_registry}/team/box:{tag}"
        pushed = skopeo_copy(f"oci:{tmp_path / tag}:v1", f"docker://{name}", "--insecure-policy")
        assert pushed.returncode == 0, pushed.stderr
        return name, digest(image.manifest)

    def attach(of: str, reference: str, key: Key, payload_of: str = "", tampered: bool = False):
        payload = payload_for(payload_of or of, reference)
        signature = key.sign(payload)
        payload += b" " if tampered else b""
        Attachment((payload, signature)).push(debians_registry, "team/box", of)

    def verdict(name: str, identity: dict | None) -> str:
        file = policy(tmp_path, own, f"{debians_registry}/team", identity)
        pulled = sm(tmp_path, "image", "pull", name, "--policy", file)
        assert pulled.returncode in (0, 2) and pulled.stderr.count("\n") == pulled.returncode // 2
        return pulled.stderr

    repository = f"{debians_registry}/team/box"
    name, of = push("plain")
    assert "it is not signed" in verdict(name, None)
    name, of = push("good")
    attach(of, name, own)
    assert verdict(name, None) == "" and verdict(name, REPOSITORY) == ""
    assert verdict(f"{repository}@{of}", None) == ""
    name, of = push("cosigns")
    attach(of, repository, own)
    assert "signedIdentity" in verdict(name, None)
    assert verdict(name, REPOSITORY) == ""
    name, of = push("wrong-key")
    attach(of, name, other)
    assert "was not made with the key" in verdict(name, None)
    name, of = push("others-digest")
    attach(of, name, own, payload_of="sha256:" + "0" * 64)
    assert "belongs to another image" in verdict(name, None)
    name, of = push("others-name")
    attach(of, f"{debians_registry}/team/other:others-name", own)
    assert "signedIdentity" in verdict(name, REPOSITORY)
    name, of = push("tampered")
    attach(of, name, own, tampered=True)
    assert "was not made with the key" in verdict(name, None)
    mapped = {"type": "remapIdentity", "prefix": debians_registry, "signedPrefix": "build.lab"}
    name, of = push("mapped")
    attach(of, "build.lab/team/box:mapped", own)
    assert verdict(name, mapped) == "" and "signedIdentity" in verdict(name, None)


def test_nothing_of_a_refused_image_is_asked_for_or_kept(tmp_path):
    with FakeRegistry() as registry:
        image = OciImage({"file": b"1"})
        name = registry.add("team/box", "v1", image)
        key = Key(tmp_path)
        rejects = policy(tmp_path, key, "elsewhere.lab", name="rejects.json")
        assert is_refused(sm(tmp_path, "image", "pull", name, "--policy", rejects),
                          f"{name}: refused by the image policy (default): it rejects")
        assert registry.requests == []
        unsigned = policy(tmp_path, key, registry.address)
        assert is_refused(sm(tmp_path, "image", "pull", name, "--policy", unsigned),
                          f"(docker {registry.address}): it is not signed")
        assert not any("/blobs/" in path for path, _, _ in registry.requests)
        assert sm(tmp_path, "image", "ls").stdout == "no images\n"


def test_the_signature_of_an_index_is_its_images(tmp_path):
    with FakeRegistry() as registry:
        image = OciImage(SHELL, {"train": TRAIN})
        registry.add("team/box", "one", image)
        index = index_of({ARCHITECTURE: image})
        name = registry.add_index("team/box", "v1", index)
        key = Key(tmp_path)
        payload = payload_for(digest(index), name)
        Attachment((payload, key.sign(payload))).add_to(registry, "team/box", digest(index))
        signed = policy(tmp_path, key, registry.address)
        pulled = sm(tmp_path, "image", "pull", name, "--policy", signed)
        assert pulled.returncode == 0, pulled.stderr
        one = f"{registry.address}/team/box:one"
        assert is_refused(sm(tmp_path, "image", "pull", one, "--policy", signed), "is not signed")
        fit = sm(tmp_path, "fit", "--image", name, "--policy", signed, "--output", "out")
        assert fit.returncode == 0 and "it runs" in fit.stdout, fit.stderr


def test_sm_fit_asks_the_policy_of_now(tmp_path):
    with FakeRegistry() as registry:
        image = runnable()
        name = registry.add("team/box", "v1", image)
        assert sm(tmp_path, "image", "pull", name).returncode == 0
        key = Key(tmp_path)
        signed = policy(tmp_path, key, registry.address)
        fit = ("fit", "--image", name, "--policy", signed, "--output")
        assert "it is not signed" in sm(tmp_path, *fit, "none").stderr
        assert not (tmp_path / "none").exists()
        payload = payload_for(digest(image.manifest), name)
        Attachment((payload, key.sign(payload))).add_to(registry, "team/box",
                                                        digest(image.manifest))
        assert sm(tmp_path, "image", "pull", name, "--policy", signed).returncode == 0
    done = sm(tmp_path, *fit, "out")  # The registry is gone, but its answers are stored.
    assert done.returncode == 0 and "it runs" in done.stdout, done.stderr
    policy(tmp_path, Key(tmp_path, "newer"), registry.address)
    refused = sm(tmp_path, *fit, "newer")
    assert refused.returncode != 0 and "was not made with the key" in refused.stderr


def test_a_tag_that_moves_runs_what_was_judged(tmp_path):
    key = Key(tmp_path)
    with FakeRegistry() as registry:
        image = runnable()
        name = registry.add("team/box", "v1", image)
        payload = payload_for(digest(image.manifest), name)
        Attachment((payload, key.sign(payload))).add_to(registry, "team/box",
                                                        digest(image.manifest))
        registry.move_when_asked("team/box", "v1", OciImage(SHELL, {"train": b"unsigned"}))
        signed = policy(tmp_path, key, registry.address)
        pulled = sm(tmp_path, "image", "pull", name, "--policy", signed)
        assert pulled.stdout == f"{name} {digest(image.manifest)}\n", pulled.stderr
        assert registry.asked("v1") == 1
        fit = sm(tmp_path, "fit", "--image", name, "--policy", signed, "--output", "out")
        assert fit.returncode == 0, fit.stderr


def test_an_archives_place_is_judged_and_its_name_when_it_runs(tmp_path):
    OciImage(SHELL, {"train": TRAIN}).write_layout(tmp_path / "layout")
    rules = tmp_path / "policy.json"
    accept, reject = [{"type": "insecureAcceptAnything"}], [{"type": "reject"}]

    def write(**transports):
        rules.write_text(json.dumps({"default": reject, "transports": transports}))

    write(docker={"": accept})
    bring = ("image", "import", "oci:layout:v1", "--policy", rules)
    assert is_refused(sm(tmp_path, *bring), "refused by the image policy (default)")
    write(oci={str(tmp_path): accept})
    assert sm(tmp_path, *bring).returncode == 0
    fit = ("fit", "--image", "localhost/layout:v1", "--policy", rules, "--output", "out")
    assert "refused by the image policy (default)" in sm(tmp_path, *fit).stderr
    write(docker={"localhost": accept})
    assert sm(tmp_path, *fit).returncode == 0


@pytest.mark.parametrize("engine", ["docker-daemon", "containers-storage"])
def test_an_engines_image_is_judged_before_the_engine_is_asked(tmp_path, engine):
    rules = tmp_path / "policy.json"
    rules.write_text(json.dumps({"default": [{"type": "reject"}]}))
    image = f"{engine}:box:v1"
    for words in (("image", "pull", image), ("image", "import", image)):
        why = "refused by the image policy (default)"
        assert is_refused(sm(tmp_path, *words, "--policy", rules), why)
    done = sm(tmp_path, "fit", "--image", image, "--policy", rules, "--output", "out")
    assert done.returncode != 0 and why in done.stderr, done.stderr
    assert sm(tmp_path, "image", "ls").stdout == "no images\n"


def test_a_policy_that_is_not_understood_stops_everything(tmp_path):
    path = tmp_path / "policy.json"
    signed_by = {"type": "signedBy", "keyType": "GPGKeys", "keyPath": "/k"}
    path.write_text(json.dumps({"default": [signed_by]}))
    why = '"signedBy"; muster does not support other types'
    assert is_refused(sm(tmp_path, "image", "pull", "reg.lab/box", "--policy", path), why)
    (tmp_path / "server.json").write_text(json.dumps({"jobs": {"image_policy": str(path)}}))
    done = sm(tmp_path, "server", "--config", "server.json", "--check")
    assert is_refused(done, f"jobs.image_policy: {path}: ")


def test_a_servers_jobs_run_what_its_key_signed(tmp_path):
    with FakeRegistry() as registry:
        key = Key(tmp_path)
        signed = policy(tmp_path, key, registry.address, REPOSITORY)
        with World(tmp_path, registry, image_policy=str(signed)) as world:
            image = runnable()
            name = registry.add("team/box", "v1", image)
            told = world.at_end(world.start(name))
            assert told["TrainingJobStatus"] == "Failed"
            assert told["FailureReason"].startswith("ClientError: "), told["FailureReason"]
            assert "it is not signed" in told["FailureReason"]
            payload = payload_for(digest(image.manifest), f"{registry.address}/team/box")
            Attachment((payload, key.sign(payload))).add_to(registry, "team/box",
                                                            digest(image.manifest))
            assert world.sm("image", "pull", name).returncode == 0  # Here, without its signature.
            world.run(name)
            policy(tmp_path, Key(tmp_path, "newer"), registry.address, REPOSITORY)
            told = world.at_end(world.start(name))
            assert "was not made with the key" in told["FailureReason"]


def test_what_was_pushed_to_the_server_is_judged_alike(tmp_path, monkeypatch):
    if shutil.which("skopeo") is None:
        pytest.skip("skopeo is not installed: requirements/packages.txt")
    key = Key(tmp_path)
    with FakeRegistry() as registry:
        own = "registry.muster.internal"
        file = policy(tmp_path, key, own)
        with World(tmp_path, registry, image_policy=str(file)) as world:
            server: SmServer = world.server
            address = f"127.0.0.1:{server.port}"
            identity = {"type": "remapIdentity", "prefix": own, "signedPrefix": address}
            policy(tmp_path, key, own, identity)
            login = f"{server.keys['AWS_ACCESS_KEY_ID']}:{server.keys['AWS_SECRET_ACCESS_KEY']}"
            image = runnable()
            image.write_layout(tmp_path / "layout")
            name = f"{address}/team/box:v1"
            pushed = skopeo_copy(f"oci:{tmp_path}/layout:v1", f"docker://{name}",
                                 "--insecure-policy")
            assert pushed.returncode != 0  # A login is wanted.
            argv = ["skopeo", "--insecure-policy", "copy", "-q", "--dest-tls-verify=false",
                    "--dest-creds", login, f"oci:{tmp_path}/layout:v1", f"docker://{name}"]
            assert subprocess.run(argv, timeout=GUARD_SECONDS).returncode == 0
            told = world.at_end(world.start(name))
            assert "it is not signed" in told["FailureReason"]
            payload = payload_for(digest(image.manifest), name)
            basic = "Basic " + base64.b64encode(login.encode()).decode()
            Attachment((payload, key.sign(payload))).push(
                address, "team/box", digest(image.manifest), {"Authorization": basic})
            world.run(name)
            assert ".sig" not in world.sm("image", "ls").stdout
