"""SageMaker's SDK in local mode, by docker compose, with an image whose `train` is muster's."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from debian_root import mpi4py_root
from docker_engine import DockerEngine
from lab import REPOSITORY, SM
from oci_image import tree
from process import Process
from sm_server import SmServer
from test_server_sdk import interpreter

pytestmark = pytest.mark.sdk

CASE_SECONDS = 300
PROGRAM = REPOSITORY / "tests" / "e2e" / "sdk" / "local.py"
DOCKERFILE = """FROM scratch
ADD root.tar /
COPY sm /usr/local/bin/train
ENTRYPOINT ["train"]
"""


@pytest.fixture(scope="module")
def engine():
    """An engine that has the image `local`: Debian's Open MPI and Python, and the one file."""
    if not os.access("/usr/bin/docker-compose", os.X_OK):
        pytest.skip("docker-compose is not here (apt install docker-compose)")
    root = mpi4py_root()
    folder = REPOSITORY / "build" / "e2e" / "test_local_mode"
    shutil.rmtree(folder, ignore_errors=True)
    context = folder / "context"
    context.mkdir(parents=True)
    (context / "root.tar").write_bytes(tree(root, "", "--exclude=./dev/*"))
    shutil.copy(SM, context / "sm")
    (context / "Dockerfile").write_text(DOCKERFILE)
    with DockerEngine(folder) as engine:
        engine.docker("build", "-t", "local", context)
        yield engine
    shutil.rmtree(folder)


def run(engine: DockerEngine, folder: pathlib.Path, case: str) -> tuple[dict, str]:
    """What the case found, and what its user saw."""
    aws = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
           "AWS_CONFIG_FILE": "/dev/null", "HOME": str(folder)}  # fmt: skip
    words = [interpreter("sdk-venv"), PROGRAM, case, folder, "local"]
    process = Process(words, {**engine.env(), **aws}, cwd=folder)
    assert process.wait(CASE_SECONDS) == 0, process.text
    return json.loads(process.out.splitlines()[-1]), process.text


def test_one_host_trains_and_its_results_arrive(engine, tmp_path):
    found, shown = run(engine, tmp_path, "one")
    assert json.loads(found["model"].pop("found-0.json")) == {
        "name": "a 'b'", "hosts": 1, "world": 1, "data": "the data"}  # fmt: skip
    assert found["model"] == {} and found["output"]["data/data-0"] == "written", shown
    assert "rank 0 trains" in shown


def test_two_hosts_train_by_mpi(engine, tmp_path):
    found, shown = run(engine, tmp_path, "two")
    assert sorted(found["model"]) == [f"found-{rank}.json" for rank in range(4)], shown
    told = json.loads(found["model"]["found-3.json"])
    assert (told["hosts"], told["world"]) == (2, 4)
    assert all(found["output"][f"data/data-{rank}"] == "written" for rank in range(4))


def test_a_failure_arrives_with_its_reason(engine, tmp_path):
    found, shown = run(engine, tmp_path, "fails")
    assert found["error"].endswith("Process exited with code: 1"), shown  # As the original's train.
    assert "ExitCode 7" in found["output"]["failure"]
    assert "found-0.json" in found["model"] and "ExitCode 7" in shown


def test_the_clis_password_logs_docker_in(engine, tmp_path):
    """`aws ecr get-login-password`, as the guides have it."""
    aws = pathlib.Path(interpreter("sdk-venv")).with_name("aws")
    state = {"MUSTER_STATE": str(tmp_path / "state")}
    with SmServer(tmp_path, within=engine.space, env=state) as server:
        words = engine.space.enter([aws, "ecr", "get-login-password"])
        told = subprocess.run(words, env=server.env(), capture_output=True, text=True, check=False,
                              timeout=CASE_SECONDS)  # fmt: skip
        assert told.returncode == 0, told.stderr
        host = f"127.0.0.1:{server.port}"
        login = ["login", "--username", "AWS", "--password-stdin", host]
        assert "Login Succeeded" in engine.docker(*login, input=told.stdout)
        refused = engine.ask(*login, input=told.stdout[:-2] + "!")
        assert refused.returncode != 0 and "401 Unauthorized" in refused.stderr, refused
