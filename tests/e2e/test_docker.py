"""A real Docker engine and `sm`: images pushed to the server's registry, pulled back and run."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess

import pytest
from botocore.exceptions import ClientError

from attack_bench import BUCKET, Attacked, job_request
from docker_engine import CGROUPS, GUARD_SECONDS, DockerEngine
from lab import REPOSITORY, SM
from oci_image import layer
from process import wait_until
from sm_server import SmServer
from test_server_image import GROUP, SECONDS, SHELL

TRAIN = b"""#!/bin/sh
echo "arguments: $*, version $VERSION"
echo weights >/opt/ml/model/weights
"""
DOCKERFILE = """FROM scratch
ADD root.tar /
COPY train /usr/bin/train
RUN ["/bin/sh", "-c", "echo built >/built"]
ENV VERSION=1 PATH=/usr/bin:/bin
ENTRYPOINT ["train"]
"""


@pytest.fixture(scope="module")
def engine():
    folder = REPOSITORY / "build" / "e2e" / "test_docker"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    box = context(folder / "context")
    with DockerEngine(folder) as engine:
        engine.docker("build", "-t", "horovod-lab", box)
        yield engine
        engine.docker("run", "-d", "-i", "--entrypoint", "/bin/sh", "horovod-lab")
        started = [os.pidfd_open(pid) for pid in engine.pids()]
    assert len(started) >= 4, "dockerd, containerd, a shim and the container"
    assert len(select.select(started, [], [], 0)[0]) == len(started), "a process is left"
    assert not list(CGROUPS.glob(f"*/{engine.cgroup}")) and list(folder.iterdir()) == [box]


def context(folder: pathlib.Path) -> pathlib.Path:
    folder.mkdir()
    (folder / "root.tar").write_bytes(layer(SHELL))
    (folder / "train").write_bytes(TRAIN)
    (folder / "train").chmod(0o755)
    (folder / "Dockerfile").write_text(DOCKERFILE)
    return folder


@pytest.fixture
def server(tmp_path, engine):
    """Where the engine reaches it."""
    state = {"MUSTER_STATE": str(tmp_path / "state")}
    with SmServer(tmp_path, within=engine.space, env=state) as started, engine.space.visited():
        yield started


def image_id(engine: DockerEngine, name: str) -> str:
    return json.loads(engine.docker("inspect", name))[0]["Id"]


def test_the_labs_push_script_and_a_pull_bring_the_image_back(engine, server):
    script = REPOSITORY / "examples/horovod-lab/push.sh"
    env = {**server.env(), **engine.env(), **server.keys, "AWS_ENDPOINT_URL": server.url}
    done = subprocess.run([script, "team/box:v1"], env=env, capture_output=True, text=True,
                          timeout=SECONDS, check=False)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    pushed, name = image_id(engine, "horovod-lab"), f"127.0.0.1:{server.port}/team/box:v1"
    engine.docker("rmi", name)
    refused = engine.ask("pull", name)
    assert refused.returncode != 0 and "no basic auth credentials" in refused.stderr
    log_in(engine, server, *login_by_key(server))
    engine.docker("pull", name)
    assert image_id(engine, name) == pushed


def login_by_key(server: SmServer) -> tuple[str, str]:
    return server.keys["AWS_ACCESS_KEY_ID"], server.keys["AWS_SECRET_ACCESS_KEY"]


def login_by_token(client) -> tuple[str, str]:
    """What `aws ecr get-login-password` prints, for the user AWS."""
    [told] = client.get_authorization_token()["authorizationData"]
    user, password = base64.b64decode(told["authorizationToken"]).decode().split(":", 1)
    return user, password


def log_in(engine: DockerEngine, server: SmServer, user: str, password: str) -> None:
    words = ["login", "--username", user, "--password-stdin", f"127.0.0.1:{server.port}"]
    assert "Login Succeeded" in engine.docker(*words, input=password)


def test_a_job_runs_what_docker_pushed_by_a_token_of_ecr(engine, server):
    log_in(engine, server, *login_by_token(server.client("ecr")))
    name = f"127.0.0.1:{server.port}/team/box:v1"
    engine.docker("tag", "horovod-lab", name)
    engine.docker("push", name)
    server.client("s3").create_bucket(Bucket=BUCKET)
    request = job_request(f"docker-{os.getpid()}")
    request["AlgorithmSpecification"] = {"TrainingImage": name, "TrainingInputMode": "File"}
    del request["InputDataConfig"]
    del request["CheckpointConfig"]
    api = server.client("sagemaker")
    api.create_training_job(**request)

    def ended():
        told = api.describe_training_job(TrainingJobName=request["TrainingJobName"])
        return told["TrainingJobStatus"] in ("Completed", "Failed") and told

    told = wait_until("the job to end", ended, SECONDS)
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    events = server.client("logs").filter_log_events(logGroupName=GROUP)["events"]
    assert "arguments: train, version 1" in [event["message"] for event in events]


def test_docker_pushes_nothing_by_a_jobs_key(engine, server):
    log_in(engine, server, *login_by_key(server))
    name = f"127.0.0.1:{server.port}/team/box"
    for tag in ("v1", "v2"):
        engine.docker("tag", "horovod-lab", f"{name}:{tag}")
    engine.docker("push", f"{name}:v1")
    job = Attacked(server, f"holds-{os.getpid()}")
    log_in(engine, server, *login_by_token(job.client("ecr")))
    for words in (("pull", "v1"), ("push", "v1"), ("push", "v2")):  # The job runs another image.
        refused = engine.ask(words[0], f"{name}:{words[1]}")
        assert refused.returncode != 0 and "denied" in refused.stderr, refused
    images = server.client("ecr").list_images(repositoryName="team/box")["imageIds"]
    assert [image["imageTag"] for image in images] == ["v1"]


def test_podman_pushes_and_pulls(engine, server, tmp_path):
    if not shutil.which("podman"):
        pytest.skip("podman is not here (apt install podman)")
    box = context(tmp_path / "context")
    (box / "Dockerfile").write_text("FROM scratch\nCOPY train /usr/bin/train\n")
    name = f"127.0.0.1:{server.port}/podman/box:v1"
    user, password = login_by_key(server)
    auth = ["--tls-verify=false", f"--authfile={tmp_path}/auth.json"]

    def podman(*words, **more) -> str:
        own = engine.home / "podman"  # A run root has 50 characters at most.
        places = [f"--root={own}/root", f"--runroot={own}/run", "--storage-driver=vfs"]
        argv = engine.space.enter(["podman", *places, *words])
        done = subprocess.run(argv, capture_output=True, text=True, timeout=GUARD_SECONDS,
                              check=False, **more)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    podman("build", "-q", "-t", name, box)
    podman("login", *auth, "-u", user, "--password-stdin", name.split("/")[0], input=password)
    podman("push", *auth, name)
    pushed = podman("inspect", "--format={{.Id}}", name)
    podman("rmi", name)
    podman("pull", "-q", *auth, name)
    assert podman("inspect", "--format={{.Id}}", name) == pushed


def sm(engine: DockerEngine | None, folder: pathlib.Path, *words, code: int = 0, **env) -> str:
    own = engine.env() if engine else dict(os.environ)
    done = subprocess.run([SM, *map(str, words)], capture_output=True, text=True, check=False,
                          timeout=GUARD_SECONDS, cwd=folder,
                          env={**own, "MUSTER_STATE": str(folder / "state"), **env})  # fmt: skip
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def test_an_engines_image_is_imported_and_run(engine, tmp_path):
    name = "docker.io/library/horovod-lab:latest"
    words = ["image", "import", "docker-daemon:horovod-lab"]
    told = json.loads(sm(engine, tmp_path, *words, "--json"))
    assert told["Name"] == name and told["Layers"] == 3
    layers = tmp_path / "state/images/layers"
    before = {path: path.stat().st_mtime_ns for path in layers.iterdir()}
    again = sm(engine, tmp_path, "image", "pull", "docker-daemon:horovod-lab:latest")
    assert again == f"{name}  {told['Digest']}  3 layers\n"
    assert {path: path.stat().st_mtime_ns for path in layers.iterdir()} == before
    named = sm(engine, tmp_path, *words, "--name", "a:b")
    assert named.startswith("docker.io/library/a:b  ")
    ran = sm(engine, tmp_path, "fit", "--image", "docker-daemon:horovod-lab", "--output", "out")
    assert "arguments: train, version 1" in ran
    assert (tmp_path / "out/model/weights").read_text() == "weights\n"


def test_what_keeps_an_engines_image_away_is_said(engine, tmp_path):
    none = sm(engine, tmp_path, "image", "import", "docker-daemon:none", code=2)
    assert "docker-daemon:docker.io/library/none:latest: image not found; docker" in none
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock"}
    away = sm(None, tmp_path, "fit", "--image", "docker-daemon:box", code=3, **nowhere)
    assert f"no Docker engine responds at 'unix://{tmp_path}/none.sock'; start the engine" in away
    without = sm(None, tmp_path, "image", "import", "docker-daemon:box", code=2, PATH="/nowhere")
    assert "skopeo is not installed, but muster requires it" in without
    assert "to copy images from engines: run apt install skopeo" in without
    for flag in ("--public", "--plain-http"):
        refused = sm(engine, tmp_path, "image", "pull", flag, "docker-daemon:box", code=2)
        assert "box is not in a registry, so flags for registries, e.g. --platform, are" in refused
    assert list((tmp_path / "state/images/layers").iterdir()) == []


def test_what_podman_built_is_imported(tmp_path):
    if not shutil.which("buildah"):
        pytest.skip("buildah is not here (apt install buildah)")
    config = tmp_path / "storage.conf"
    config.write_text(f'[storage]\ndriver="vfs"\ngraphroot="{tmp_path}/root"\n'
                      f'runroot="{tmp_path}/run"\n')  # fmt: skip
    env = {"CONTAINERS_STORAGE_CONF": str(config)}
    words = ["buildah", "bud", "-q", "--isolation", "chroot", "-t", "box"]
    box = context(tmp_path / "context")
    (box / "Dockerfile").write_text("FROM scratch\nADD root.tar /\nCOPY train /usr/bin/train\n")
    subprocess.run([*words, box], env={**os.environ, **env}, check=True, timeout=GUARD_SECONDS)
    told = sm(None, tmp_path, "image", "import", "containers-storage:localhost/box", **env)
    assert told.startswith("localhost/box:latest  sha256:")
    none = sm(None, tmp_path, "image", "import", "containers-storage:box", code=2, **env)
    assert "image not found; podman images lists the existing images" in none


def test_no_key_reaches_the_servers_engine(engine, tmp_path):
    config = {"registries": ["*", "*/*", "docker-daemon:5000/*"]}
    state = {**engine.env(), "MUSTER_STATE": str(tmp_path / "state")}
    engine.docker("tag", "horovod-lab", "5000/box:v1")
    with SmServer(tmp_path, within=engine.space, env=state, jobs=config) as server:
        with engine.space.visited():
            api = server.client("sagemaker")
            for name in ("docker-daemon:horovod-lab", "docker-daemon:5000/box:v1",
                         "containers-storage:localhost/box"):  # fmt: skip
                request = job_request("engine")
                request["AlgorithmSpecification"]["TrainingImage"] = name
                with pytest.raises(ClientError) as refused:
                    api.create_training_job(**request)
                assert "a Docker engine on the server's machine" in str(refused.value)
            name = "docker://docker-daemon:5000/box:v1"  # A registry that is nowhere.
            request["AlgorithmSpecification"]["TrainingImage"] = name
            api.create_training_job(**request)

            def failed():
                told = api.describe_training_job(TrainingJobName="engine")
                return told["TrainingJobStatus"] == "Failed" and told

            reason = wait_until("the pull to fail", failed, SECONDS)["FailureReason"]
            assert "docker-daemon:5000/box:v1: docker-daemon: " in reason, reason
    assert not any((tmp_path / "state/images/layers").iterdir())
