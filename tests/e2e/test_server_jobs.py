"""Jobs of `sm server`, with boto3: from CreateTrainingJob to the artifacts, and what goes wrong."""

import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import time

import pytest
from botocore.exceptions import ClientError

from lab import SM, VENV
from process import wait_until
from sm_server import SmServer

BUCKET = "jobs"
GROUP = "/aws/sagemaker/TrainingJobs"
ROLE = "arn:aws:iam::000000000000:role/training"
SECONDS = 60.0

MPI = """
import os
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, total = world.Get_rank(), world.allreduce(1)
print("rank", rank, "of", total, sorted(os.listdir(os.environ["SM_CHANNEL_TRAIN"])), flush=True)
print("loss: %.1f" % (rank / 2), flush=True)
with open(os.path.join(os.environ["SM_MODEL_DIR"], "weights-%d" % rank), "w") as file:
    file.write("w" * rank)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    config = {"python": str(VENV / "bin" / "python")}
    with SmServer(folder, jobs=config) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        for name in ("a.txt", "b.txt", "c.txt"):
            s3.put_object(Bucket=BUCKET, Key=f"train/{name}", Body=name.encode())
        s3.put_object(Bucket=BUCKET, Key="train2/other.txt", Body=b"none of ours")
        yield server


class Job:
    """A job of a script, as the SDK's framework estimators submit it."""

    number = 0

    def __init__(self, server: SmServer, script: str, hosts: int = 1, processes: int = 0, **more):
        Job.number += 1
        self.server = server
        self.name = f"job-{os.getpid()}-{Job.number}"
        self.api = server.client("sagemaker")
        code = f"{self.name}/source/sourcedir.tar.gz"
        files = more.pop("files", {})  # Beside the script.
        body = archive({"train.py": script, **files})
        server.client("s3").put_object(Bucket=BUCKET, Key=code, Body=body)
        values = {
            "sagemaker_program": "train.py",
            "sagemaker_submit_directory": f"s3://{BUCKET}/{code}",
            "sagemaker_mpi_enabled": processes > 0,
            "sagemaker_mpi_num_of_processes_per_host": max(processes, 1),
        }
        values.update(more.pop("hyperparameters", {}))
        request = {
            "TrainingJobName": self.name,
            "RoleArn": ROLE,
            "AlgorithmSpecification": {
                "TrainingImage": "host",
                "TrainingInputMode": "File",
                "MetricDefinitions": [{"Name": "loss", "Regex": "loss: ([0-9.]+)"}],
            },
            "HyperParameters": {key: json.dumps(value) for key, value in values.items()},
            "InputDataConfig": [channel("train", "train")],
            "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
            "ResourceConfig": {
                "InstanceType": "ml.c5.xlarge",
                "InstanceCount": hosts,
                "VolumeSizeInGB": 1,
            },
            "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        }
        self.api.create_training_job(**{**request, **more})

    def describe(self) -> dict:
        return self.api.describe_training_job(TrainingJobName=self.name)

    def at_end(self, seconds: float = SECONDS) -> dict:
        def ended():
            told = self.describe()
            return told if told["TrainingJobStatus"] in ("Completed", "Failed", "Stopped") else None

        return wait_until(f"{self.name} to end", ended, seconds)

    def in_status(self, secondary: str) -> None:
        wait_until(
            f"{self.name} to be {secondary}",
            lambda: self.describe()["SecondaryStatus"] == secondary,
            SECONDS,
        )

    def points(self, told: dict, statistics: list[str]) -> list[dict]:
        """The job's metric `loss` by the minute; `told`: the job's description."""
        return self.server.client("cloudwatch").get_metric_statistics(
            Namespace=GROUP,
            MetricName="loss",
            Dimensions=[{"Name": "TrainingJobName", "Value": self.name}],
            StartTime=told["CreationTime"].timestamp() - 60,
            EndTime=told["TrainingEndTime"].timestamp() + 60,
            Period=60,
            Statistics=statistics,
        )["Datapoints"]

    def log(self) -> dict[str, list[str]]:
        """Lines by host."""
        logs = self.server.client("logs")
        found = {}
        prefix = f"{self.name}/"
        listed = logs.describe_log_streams(logGroupName=GROUP, logStreamNamePrefix=prefix)
        for stream in listed["logStreams"]:
            name = stream["logStreamName"]
            lines, token = [], {}
            while True:
                page = logs.get_log_events(
                    logGroupName=GROUP, logStreamName=name, startFromHead=True, **token
                )
                lines += [event["message"] for event in page["events"]]
                if not page["events"]:
                    break
                token = {"nextToken": page["nextForwardToken"]}
            host = "-".join(name.split("/", 1)[1].split("-")[:2])
            found[host] = lines
        return found

    def text(self) -> str:
        return "\n".join(line for lines in self.log().values() for line in lines)

    def artifact(self, name: str = "model.tar.gz") -> dict[str, bytes]:
        key = f"out/{self.name}/output/{name}"
        body = self.server.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read()
        with tarfile.open(fileobj=io.BytesIO(body)) as opened:
            return {
                member.name.removeprefix("./"): opened.extractfile(member).read()
                for member in opened.getmembers()
                if member.isfile()
            }


def archive(files: dict[str, str]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as opened:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            opened.addfile(member, io.BytesIO(text.encode()))
    return made.getvalue()


def channel(name: str, prefix: str, **more) -> dict:
    source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/{prefix}", **more}
    return {"ChannelName": name, "DataSource": {"S3DataSource": source}}


def code_of(call, **arguments) -> str:
    with pytest.raises(ClientError) as raised:
        call(**arguments)
    return raised.value.response["Error"]["Code"]


# --- a job's way ---


def test_an_mpi_job_trains_and_its_artifacts_come_out(server):
    job = Job(server, MPI, hosts=3, processes=2, Tags=[{"Key": "team", "Value": "a"}])
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", (told.get("FailureReason"), job.text())
    statuses = [each["Status"] for each in told["SecondaryStatusTransitions"]]
    assert statuses == ["Pending", "Starting", "Downloading", "Training", "Uploading", "Completed"]
    assert all("StatusMessage" in each for each in told["SecondaryStatusTransitions"])
    text = job.text()
    for rank in range(6):
        assert f"rank {rank} of 6 ['a.txt', 'b.txt', 'c.txt']" in text, text
    assert sorted(job.log()) == ["algo-1", "algo-2", "algo-3"]
    assert told["ModelArtifacts"]["S3ModelArtifacts"].endswith(f"{job.name}/output/model.tar.gz")
    assert job.artifact() == {f"weights-{rank}": b"w" * rank for rank in range(6)}
    final = {each["MetricName"]: each["Value"] for each in told["FinalMetricDataList"]}
    assert final["loss"] in (0, 0.5, 1, 1.5, 2, 2.5)
    tags = job.api.list_tags(ResourceArn=told["TrainingJobArn"])["Tags"]
    assert tags == [{"Key": "team", "Value": "a"}]


def test_metrics_look_as_in_cloudwatch(server):
    job = Job(server, MPI, hosts=1, processes=2)
    told = job.at_end()
    points = job.points(told, ["Average", "Maximum"])
    assert points and max(point["Maximum"] for point in points) == 0.5


def test_objects_are_shared_out_by_key(server):
    script = "import os; print('has', sorted(os.listdir(os.environ['SM_CHANNEL_TRAIN'])))"
    inputs = [channel("train", "train", S3DataDistributionType="ShardedByS3Key")]
    job = Job(server, script, hosts=2, InputDataConfig=inputs)
    assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
    has = {host: [line for line in lines if line.startswith("has")]
           for host, lines in job.log().items()}
    assert sorted(line for lines in has.values() for line in lines) == [
        "has ['a.txt', 'c.txt']",
        "has ['b.txt']",
    ], has


def test_a_jobs_hosts_reach_s3_with_a_key_of_their_own(server):
    script = """
import boto3, os
from botocore.exceptions import ClientError
s3 = boto3.client("s3")
def code(call, **arguments):
    try:
        call(**arguments)
        return "fine"
    except ClientError as error:
        return error.response["Error"]["Code"]
name = os.environ["TRAINING_JOB_NAME"]
print("own input:", code(s3.get_object, Bucket="jobs", Key="train/a.txt"))
print("own output:", code(s3.put_object, Bucket="jobs", Key=f"out/{name}/extra", Body=b"x"))
print("another's input:", code(s3.get_object, Bucket="jobs", Key="secret/a.txt"))
print("into its input:", code(s3.put_object, Bucket="jobs", Key="train/d.txt", Body=b"x"))
jobs = boto3.client("sagemaker")
print("the API:", code(jobs.list_training_jobs))
print("key", os.environ["AWS_ACCESS_KEY_ID"])
"""
    server.client("s3").put_object(Bucket=BUCKET, Key="secret/a.txt", Body=b"no")
    job = Job(server, script)
    assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
    text = job.text()
    for line in ("own input: fine", "own output: fine", "another's input: AccessDenied",
                 "into its input: AccessDenied"):
        assert line in text, text
    assert "the API: AccessDenied" in text, text
    key = next(line.split()[1] for line in text.splitlines() if line.startswith("key "))
    # A job's key dies with the job.
    assert code_of(server.client("s3", key=(key, "x" * 40)).list_buckets) == "InvalidAccessKeyId"


def test_hosts_do_not_see_what_the_server_keeps():
    # Inside of what hosts see: among the machine's programs.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-", dir="/usr/local"))
    secret = folder / "secret"
    secret.write_text("a-secret-of-the-config")
    secret.chmod(0o600)
    script = f"""
import os
print("data", os.listdir({str(folder / "data")!r}), "secret", len(open({str(secret)!r}).read()))
"""
    config = {"keys": [{"id": "OFCONFIG", "secret_file": str(secret)}]}
    server = SmServer(folder, jobs={"python": str(VENV / "bin" / "python")}, config=config)
    server.keys = {"AWS_ACCESS_KEY_ID": "OFCONFIG", "AWS_SECRET_ACCESS_KEY": secret.read_text()}
    try:
        with server:
            s3 = server.client("s3")
            s3.create_bucket(Bucket=BUCKET)
            s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
            job = Job(server, script)
            assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
            assert "data [] secret 0" in job.text()
    finally:
        shutil.rmtree(folder)


def test_jobs_wait_for_their_turn_and_start_as_a_gang(tmp_path):
    config = {"python": str(VENV / "bin" / "python"), "capacity": {"ml.c5.xlarge": 2}}
    with SmServer(tmp_path, jobs=config) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        first = Job(server, "import time; time.sleep(600)", hosts=1)
        second = Job(server, "print('second')", hosts=2)
        third = Job(server, "print('third')", hosts=1)
        first.in_status("Training")
        assert second.describe()["SecondaryStatus"] == "Pending"
        assert third.describe()["SecondaryStatus"] == "Pending"  # Behind the second.
        why = [job.describe()["SecondaryStatusTransitions"][-1]["StatusMessage"]
               for job in (second, third)]
        said = ("Waiting for free hosts: place 1 of 2; ml.c5.xlarge: 2 requested, 1 of 2 free; "
                rf"starts when {first.name} ends, by (\S+ )?\d\d:\d\d UTC "
                "at the latest")  # fmt: skip
        assert re.fullmatch(said, why[0]), why
        assert why[1].startswith(f"Waiting for free hosts: place 2 of 2, behind {second.name}"), why
        first.api.stop_training_job(TrainingJobName=first.name)
        assert first.at_end()["TrainingJobStatus"] == "Stopped"
        assert second.at_end()["TrainingJobStatus"] == "Completed"
        assert third.at_end()["TrainingJobStatus"] == "Completed"
        waited = third.describe()["SecondaryStatusTransitions"][0]
        assert waited["Status"] == "Pending"
        assert second.describe()["TrainingEndTime"] <= waited["EndTime"]
        with pytest.raises(ClientError, match="can never start"):
            Job(server, "print()", hosts=4)


def test_what_is_taken_without_effect_is_named(server):
    experiment = {"ExperimentName": "e"}
    job = Job(server, "print('hello')", hosts=2, ExperimentConfig=experiment)
    assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
    line = "accepted without effect: ExperimentConfig (there are no Experiments)"
    assert job.text().count(f"algo-1 muster: {line}") == job.text().count(line) == 1
    done = subprocess.run([SM, "describe", job.name], env=server.env(), capture_output=True,
                          text=True, check=True, timeout=60)  # fmt: skip
    assert line in done.stdout


def test_a_type_with_gpus_at_aws_that_gets_none_says_so(server):
    resources = {"InstanceType": "ml.p3.2xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1}
    job = Job(server, "print('hello')", ResourceConfig=resources)
    end = job.at_end()
    assert end["TrainingJobStatus"] == "Completed", job.text()
    line = ("hosts of type ml.p3.2xlarge get no GPU, because jobs.instance_types of the server's "
            "config sets no gpus for them")  # fmt: skip
    assert job.text().count(f"algo-1 muster: {line}") == job.text().count(line) == 1
    messages = [each["StatusMessage"] for each in end["SecondaryStatusTransitions"]]
    assert [line in message for message in messages].count(True) == 1, messages


def test_encryption_on_one_machine_is_taken_and_said_not_to_be(server):
    job = Job(server, "print('hello')", hosts=2, EnableInterContainerTrafficEncryption=True)
    end = job.at_end()
    assert end["TrainingJobStatus"] == "Completed", job.text()
    assert end["EnableInterContainerTrafficEncryption"] is True
    line = "traffic between hosts stays inside this machine's kernel; it is not encrypted"
    assert job.text().count(f"algo-1 muster: {line}") == job.text().count(line) == 1


def test_an_image_of_aws_s_runs_as_this_machine_and_says_so(tmp_path):
    registry = "763104351884.dkr.ecr.us-east-1.amazonaws.com"
    aws = f"{registry}/autogluon-training:1.1-cpu-py311"
    with SmServer(tmp_path) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        algorithm = {"TrainingImage": aws, "TrainingInputMode": "File"}
        fine = Job(server, "print('hello')", AlgorithmSpecification=algorithm)
        assert fine.at_end()["TrainingJobStatus"] == "Completed", fine.text()
        lack = "the image has autogluon 1.1, but this machine's Python has none"
        assert "algo-1 muster: runs with this machine's programs: python /" in fine.text()
        assert fine.text().count(lack) == 1
        done = subprocess.run([SM, "describe", fine.name], env=server.env(), capture_output=True,
                              text=True, check=True, timeout=60)  # fmt: skip
        assert "runs with this machine's programs" in done.stdout and lack in done.stdout
        bad = Job(server, "import autogluon", AlgorithmSpecification=algorithm)
        assert lack in bad.at_end()["FailureReason"]
        mine = {**algorithm, "TrainingImage": aws.replace("763104351884", "123456789012")}
        with pytest.raises(ClientError, match="is not an image of this server"):
            Job(server, "print()", AlgorithmSpecification=mine)


def test_a_config_that_promises_too_many_gpus_is_refused(tmp_path):
    path = tmp_path / "server.json"
    path.write_text(json.dumps({"jobs": {"instance_types": {"ml.p5": {"gpus": 1000}}}}))
    done = subprocess.run([SM, "server", "--config", path, "--check"], capture_output=True,
                          text=True, timeout=60)  # fmt: skip
    assert done.returncode == 2 and "instance_types.ml.p5.gpus: expected" in done.stderr


# --- ends that are not good ---


def test_a_failure_names_the_rank_and_its_words(server):
    script = """
import sys
from mpi4py import MPI
if MPI.COMM_WORLD.Get_rank() == 2:
    print("the third rank's last words", file=sys.stderr, flush=True)
    sys.exit(7)
MPI.COMM_WORLD.Barrier()
"""
    told = Job(server, script, hosts=2, processes=2).at_end()
    assert told["TrainingJobStatus"] == "Failed"
    assert told["FailureReason"].startswith("AlgorithmError: rank 2 on algo-2: exit code 7")
    assert "the third rank's last words" in told["FailureReason"]


def test_what_a_script_writes_of_its_failure_is_the_reason_on_the_host_that_failed(server):
    script = """
import os, sys
from mpi4py import MPI
host = os.environ["SM_CURRENT_HOST"]
open("/opt/ml/output/failure", "w").write(f"DATA_ERROR: 7 rows of {host} have no label")
MPI.COMM_WORLD.Barrier()
if host == "algo-2":
    sys.exit(7)
MPI.COMM_WORLD.Barrier()
"""
    told = Job(server, script, hosts=2, processes=1).at_end()
    assert told["FailureReason"] == "AlgorithmError: DATA_ERROR: 7 rows of algo-2 have no label"


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({"InputDataConfig": [channel("train", "nothing-here")]}, "nothing-here"),
        ({"hyperparameters": {"sagemaker_submit_directory": f"s3://{BUCKET}/no.tar.gz"}},
         "no.tar.gz"),
        ({"hyperparameters": {"sagemaker_program": "other.py"}}, "other.py"),
        ({"hyperparameters": {"sagemaker_submit_directory": f"s3://{BUCKET}/code.zip"}},
         f"s3://{BUCKET}/code.zip: sagemaker_submit_directory does not support zip archives"),
        ({"hyperparameters": {"a=b": 1}}, "hyperparameter a=b: its name contains '='"),
    ],
    ids=["input", "code", "program", "zip", "equals"],
)
def test_what_is_missing_or_cannot_run_is_accepted_and_named(server, change, want):
    told = Job(server, "print()", **change).at_end()
    assert told["TrainingJobStatus"] == "Failed"
    assert want in told["FailureReason"], told["FailureReason"]


def test_a_stop_gives_grace_and_keeps_the_artifacts(server):
    script = """
import os, signal, sys, time
def stop(*_):
    print("stopping well", flush=True)
    with open(os.path.join(os.environ["SM_MODEL_DIR"], "half"), "w") as file:
        file.write("half")
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("it runs", flush=True)
time.sleep(600)
"""
    job = Job(server, script, hosts=2)
    wait_until("it to run", lambda: job.text().count("it runs") == 2, SECONDS)
    job.api.stop_training_job(TrainingJobName=job.name)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Stopped" == told["SecondaryStatus"], told
    assert job.text().count("stopping well") == 2
    assert job.artifact() == {"half": b"half"}
    with pytest.raises(ClientError, match="is in status Stopped"):
        job.api.stop_training_job(TrainingJobName=job.name)


def test_a_job_beyond_its_time_is_stopped(server):
    told = Job(
        server, "import time; time.sleep(600)", StoppingCondition={"MaxRuntimeInSeconds": 1}
    ).at_end()
    assert told["TrainingJobStatus"] == "Stopped"
    assert told["SecondaryStatus"] == "MaxRuntimeExceeded"


def test_memory_beyond_the_limit_is_named(tmp_path):
    config = {
        "python": str(VENV / "bin" / "python"),
        "instance_types": {"*": {"memory_gib": 0.25}},
    }
    with SmServer(tmp_path, jobs=config) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        told = Job(server, "x = bytearray(1 << 30); print(len(x))").at_end()
        assert told["TrainingJobStatus"] == "Failed"
        assert "memory" in told["FailureReason"], told["FailureReason"]


def test_requests_that_cannot_be_are_refused(server):
    with pytest.raises(ClientError, match="TrainingImage mine:1"):
        Job(server, "", AlgorithmSpecification={"TrainingImage": "mine:1",
                                                "TrainingInputMode": "File"})
    job = Job(server, "print()")
    api = job.api
    again = {**job.describe()}
    request = {name: again[name] for name in ("TrainingJobName", "RoleArn", "OutputDataConfig",
                                              "AlgorithmSpecification", "StoppingCondition")}
    resources = {"InstanceType": "x", "InstanceCount": 1, "VolumeSizeInGB": 1}
    assert code_of(api.create_training_job, ResourceConfig=resources, **request) == "ResourceInUse"
    assert code_of(api.describe_training_job, TrainingJobName="nobody") == "ValidationException"
    job.at_end()


def test_hosts_have_the_python_packages_though_nothing_is_installed(server):
    script = """
from sagemaker_containers.beta import framework
print("packages of", framework.training_env().current_host, framework.__file__, flush=True)
"""
    job = Job(server, script)
    assert job.at_end()["TrainingJobStatus"] == "Completed", job.log()
    lines = [line for each in job.log().values() for line in each]
    where = "/run/muster/python.zip/sagemaker_containers/beta/framework/__init__.py"
    assert any(f"packages of algo-1 {where}" in line for line in lines), lines
