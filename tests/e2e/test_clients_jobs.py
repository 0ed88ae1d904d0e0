"""Training jobs of `sm server` from the tools of pipelines: Airflow, and ZenML's calls."""

import json
import os

import pytest

import clients
from lab import REPOSITORY
from process import Process, wait_until
from test_docs import blocks, check_lines
from test_server_sdk import client_env, serving

pytestmark = pytest.mark.clients
SECONDS = 300
JOBS = REPOSITORY / "tests/e2e/clients_airflow/jobs.py"
[(PAGE, LINES)] = blocks(
    REPOSITORY / "docs/users/coming-from.md", {"needs Airflow and a server"}
)


@pytest.fixture(scope="module")
def server():
    with serving("clients-jobs") as started:
        yield started


class Case:
    """A program that uses Airflow, under way in a folder of its own: its last line is JSON."""

    def __init__(self, server, name: str, *words):
        folder = server.folder / f"airflow-{name}"
        folder.mkdir()
        path = f"{clients.airflow().parent}:{os.environ['PATH']}"
        env = {**client_env(server), "AIRFLOW_HOME": str(folder / "home"), "PATH": path}
        self.process = Process(words or ["python", JOBS, name, folder], env, cwd=folder)

    def said(self) -> str:
        assert self.process.wait(SECONDS) == 0, self.process.text
        return self.process.text

    def found(self) -> dict:
        self.said()
        return json.loads(self.process.out.splitlines()[-1])


@pytest.fixture(scope="module")
def cases(server):
    """All at one time: most of it is Airflow's own pauses."""
    found = {name: Case(server, name) for name in ("operator", "again", "hook")}
    return {**found, "page": Case(server, "page", "bash", "-ec", PAGE)}


def test_an_operator_of_airflow_trains_as_the_users_page_says(cases):
    check_lines(LINES, cases["page"].said())


def test_an_operator_of_airflow_trains_and_shows_the_log(cases):
    found = cases["operator"].found()
    assert found["status"] == "Completed"
    assert found["role"].endswith(":role/muster")
    assert {"in/data.txt", "in-tar/data.tar.gz", found["model"]} <= set(found["keys"])
    shown = cases["operator"].process.text
    for host in ("algo-1", "algo-2"):
        assert shown.count(f"some data on {host} ") == 1, shown
    assert "Billable seconds: " in shown


def test_an_operator_of_airflow_finds_another_name(cases):
    found = cases["again"].found()
    first, second = found["names"]
    assert first == "airflow-again" and second.startswith("airflow-again-")
    assert "airflow-again already exists" in found["taken"]
    assert found["listed"] == [first, second]
    assert "airflow-no does not exist" in found["no bucket"]


def test_a_hook_of_airflow_names_the_failure_and_stops(cases):
    found = cases["hook"].found()
    assert all("exit code 3" in said for said in found["failed"])
    assert found["running"] == "InProgress" and found["poked while it runs"] is False
    assert found["stopped"] == "Stopped"


def request_of_zenml(name: str, command: list[str], **more) -> dict:
    """CreateTrainingJob of ZenML 0.98's SageMaker step operator, by SageMaker's SDK 2."""
    return {
        "TrainingJobName": name,
        "AlgorithmSpecification": {
            "TrainingInputMode": "File",
            "TrainingImage": "000000000000.dkr.ecr.us-east-1.amazonaws.com/zenml:flow-step",
            "ContainerEntrypoint": command,
        },
        "OutputDataConfig": {"S3OutputPath": "s3://zenml/"},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
        "ResourceConfig": {
            "VolumeSizeInGB": 30,
            "InstanceCount": 1,
            "InstanceType": "ml.m5.large",
        },
        "RoleArn": "arn:aws:iam::000000000000:role/muster",
        "Environment": {"ZENML_STORE_URL": "http://zenml", "ZENML_CHUNK_0": "x" * 512},
        "DebugHookConfig": {"S3OutputPath": "s3://zenml/", "CollectionConfigurations": []},
        "ProfilerConfig": {"S3OutputPath": "s3://zenml/", "DisableProfiler": False},
        **more,
    }


def test_the_calls_of_zenmls_step_operator(server):
    s3, sagemaker = server.client("s3"), server.client("sagemaker")
    s3.create_bucket(Bucket="zenml")
    s3.put_object(Bucket="zenml", Key="data/a", Body=b"data")
    source = {
        "S3DataType": "S3Prefix",
        "S3Uri": "s3://zenml/data",
        "S3DataDistributionType": "FullyReplicated",
    }
    channel = {"DataSource": {"S3DataSource": source}, "ChannelName": "train"}
    trial = {"ExperimentName": "flows", "TrialName": "flow-step-abcd"}
    script = (
        "import os, sys; data = open('/opt/ml/input/data/train/a').read(); "
        "assert data == 'data' and sys.argv[1:] == ['--step_name', 'a step']; "
        "assert len(os.environ['ZENML_CHUNK_0']) == 512 and os.environ['ZENML_STORE_URL']"
    )
    command = ["python", "-c", script, "--step_name", "a step"]
    more = {"InputDataConfig": [channel], "ExperimentConfig": trial}
    sagemaker.create_training_job(**request_of_zenml("flow-step-abcd", command, **more))
    sagemaker.create_training_job(**request_of_zenml("flow-fails-abcd", ["python", "-c", "1/0"]))
    sagemaker.create_training_job(**request_of_zenml("flow-long-abcd", ["sleep", "600"]))

    def status(name: str) -> str:
        return sagemaker.describe_training_job(TrainingJobName=name)["TrainingJobStatus"]

    def ended(name: str) -> str:
        running = ("InProgress", "Stopping")
        wait_until(f"{name} to end", lambda: status(name) not in running, SECONDS)
        return status(name)

    assert ended("flow-step-abcd") == "Completed"
    assert ended("flow-fails-abcd") == "Failed"
    assert status("flow-long-abcd") == "InProgress"
    sagemaker.stop_training_job(TrainingJobName="flow-long-abcd")
    assert ended("flow-long-abcd") == "Stopped"
