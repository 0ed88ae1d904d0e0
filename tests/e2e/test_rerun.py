"""`sm rerun`: a job of this machine, and one of a server, runs again under a new name."""

import json
import os
import subprocess

import pytest

from fit import GUARD_SECONDS
from lab import SM, VENV
from sm_server import SmServer

SCRIPT = """
import os, sys
folder = "/opt/ml/checkpoints"
print("argv", sys.argv[1:], "TOKEN", os.environ.get("TOKEN"), flush=True)
if os.path.isdir(folder):
    print("finds", sorted(os.listdir(folder)), flush=True)
    open(os.path.join(folder, os.environ["SM_HP_STEP"]), "w").close()
"""


def test_a_job_of_this_machine_runs_again(machine):
    (machine.source / "train.py").write_text(SCRIPT)
    ckpt = machine.folder / "ckpt"

    def sm(*words, code=0):
        process = machine.sm(*words, environment={"AWS_ENDPOINT_URL": ""})
        assert process.wait(GUARD_SECONDS) == code, process.text
        return process

    first = sm("fit", machine.source / "train.py", "-p", "step=1", "-p", "word=a b",
               "--text-hyperparameter", "id=5", "--env", "TOKEN=secret", "--checkpoints", ckpt,
               "--name", "first", "--output", machine.output,
               "--python", VENV / "bin/python", "--", "last")  # fmt: skip
    assert "argv ['--id', '5', '--step', '1', '--word', 'a b', 'last'] TOKEN secret" in first.text
    refused = sm("rerun", "first", "--resume", code=2)
    assert "the values of environment variables; pass them again: --env TOKEN=" in refused.text
    again = ("rerun", "first", "-p", "step=2", "--env", "TOKEN=other")
    fresh = sm(*again, "--name", "second")
    assert "argv ['--id', '5', '--step', '2', '--word', 'a b', 'last'] TOKEN other" in fresh.text
    assert "finds []" in fresh.text and "newer" not in fresh.text
    assert (machine.folder / "ckpt-second" / "2").exists()
    job = json.loads(sm("describe", "--json", "second").out)
    assert job["HyperParameters"]["id"] == '"5"'
    assert not job["OutputDataConfig"]["S3OutputPath"].endswith(str(machine.output))
    changed = machine.source / "more.py"
    changed.write_text("")
    resumed = sm(*again, "--resume")
    assert "finds ['1']" in resumed.text
    assert f"warning: code: {changed} is newer than first" in resumed.text
    assert (ckpt / "2").exists()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    jobs = {"python": str(VENV / "bin" / "python")}
    with SmServer(tmp_path_factory.mktemp("rerun"), jobs=jobs) as server:
        yield server


def test_a_job_of_a_server_runs_again_with_the_objects_that_its_request_names(server, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a").write_text("a")

    def sm(*words, code=0):
        done = subprocess.run([SM, *words], env={**os.environ, **server.env()}, cwd=tmp_path,
                              capture_output=True, text=True, timeout=GUARD_SECONDS,
                              check=False)  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        return done

    place = "s3://checkpoints-of-jobs/old"
    server.client("s3").create_bucket(Bucket="checkpoints-of-jobs")
    sm("submit", "train.py", "--name", "old", "--wait", "-p", "step=1", "--env", "TOKEN=secret",
       "--input", "train=data", "--checkpoints", place, "--tag", "team=vision",
       "--metric", "loss=loss (.*)")  # fmt: skip
    name = sm("rerun", "old", "-p", "step=2").stdout.strip()
    assert name.startswith("old-20")
    sm("wait", name)
    log = sm("logs", name).stdout
    assert "argv ['--step', '2'] TOKEN secret" in log and "finds []" in log
    sm("rerun", "old", "-p", "step=3", "--name", "on", "--resume")
    sm("wait", "on")
    assert "finds ['1']" in sm("logs", "on").stdout
    old, new = (json.loads(sm("describe", "--json", each).stdout) for each in ("old", "on"))
    for same in ("InputDataConfig", "AlgorithmSpecification", "ResourceConfig", "Environment",
                 "StoppingCondition", "CheckpointConfig", "OutputDataConfig"):  # fmt: skip
        assert old[same] == new[same], same
    assert sm("jobs", "--tag", "team=vision").stdout.count("Completed") == 3

    bucket = old["OutputDataConfig"]["S3OutputPath"].split("/")[2]
    server.client("s3").put_object(Bucket=bucket, Key="old/input/train/b", Body=b"b")
    warned = sm("rerun", "old", "--name", "warned").stderr
    newer = f"s3://{bucket}/old/input/train/b"
    assert f"warning: input train: {newer} is newer than old" in warned
    sm("wait", "warned")
    server.client("s3").delete_object(Bucket=bucket, Key="old/source/sourcedir.tar.gz")
    gone = sm("rerun", "old", "--name", "never", code=2)
    assert f"code: s3://{bucket}/old/source/sourcedir.tar.gz of old no longer exists" in gone.stderr
    sm("describe", "never", code=2)
    sm("rerun", "nothing", code=2)
