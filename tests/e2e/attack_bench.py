"""What attacks on `sm server` begin with: a server, a user's key, and a job that holds one.

    def test_nothing_happens(attacked, unchanged):
        assert attacked.send(...).status == 403
"""

import re

import pytest
from bad_api import good_job, json_request
from process import wait_until
from raw_http import Answer, Keys, Request, send, signed
from sm_server import SmServer

BUCKET = "attacked"
SECONDS = 60.0
REFUSED = (400, 403)


def job_request(name: str, **more) -> dict:
    """A job that waits until it is stopped."""
    request = good_job(name)
    request["AlgorithmSpecification"]["ContainerEntrypoint"] = ["sleep", "600"]
    source = {"S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/train"}
    request["InputDataConfig"] = [
        {"ChannelName": "train", "DataSource": {"S3DataSource": source}}
    ]
    request["OutputDataConfig"] = {"S3OutputPath": f"s3://{BUCKET}/out"}
    request["CheckpointConfig"] = {"S3Uri": f"s3://{BUCKET}/ck/run1"}
    request["ResourceConfig"] = {
        "InstanceType": "ml.c5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1
    }  # fmt: skip
    request["StoppingCondition"] = {"MaxRuntimeInSeconds": 600}
    return {**request, **more}


class Attacked:
    """A server with a user's key, and a job that runs with a key of its own.

    Each of a machine's servers has another name for it: containers are called by it.
    """

    def __init__(self, server: SmServer, job: str):
        self.server = server
        self.host = f"127.0.0.1:{server.port}"
        own = server.keys
        self.user = Keys(own["AWS_ACCESS_KEY_ID"], own["AWS_SECRET_ACCESS_KEY"])
        self.s3 = server.client("s3")
        self.api = server.client("sagemaker")
        self.s3.create_bucket(Bucket=BUCKET)
        self.s3.create_bucket(Bucket="other")
        for key in ("train/a", "train2/a", "secret/a", "ck/run1/state", "ck/run10/state",
                    f"out/{job}2/output/model.tar.gz"):  # fmt: skip
            self.s3.put_object(Bucket=BUCKET, Key=key, Body=b"there")
        self.holder = self.started(job)

    def started(self, name: str, **more) -> Keys:
        """The key of a job that was submitted now."""
        self.api.create_training_job(**job_request(name, **more))
        wait_until(f"{name} to train", lambda: self.status(name) == "Training", SECONDS)
        text = (self.server.data / "keys" / name).read_text()
        found = dict(re.findall(r"^(\w+) = (\S+)$", text, re.M))
        return Keys(found["aws_access_key_id"], found["aws_secret_access_key"])

    def status(self, name: str) -> str:
        return self.api.describe_training_job(TrainingJobName=name)["SecondaryStatus"]

    def ended(self, name: str) -> None:
        self.api.stop_training_job(TrainingJobName=name)
        wait_until(f"{name} to end", lambda: self.status(name) in ("Stopped", "Failed"), SECONDS)

    def send(self, request: Request | bytes) -> Answer:
        return send(self.server.port, request)

    def create(self, name: str, body: dict) -> Answer:
        """What is answered to a user's CreateTrainingJob, whatever `body` says."""
        request = json_request("sagemaker", "CreateTrainingJob", {**body, "TrainingJobName": name})
        return self.send(signed(request, self.user, "sagemaker", self.host))

    def client(self, service: str):
        return self.server.client(service, key=(self.holder.identity, self.holder.secret))

    def state(self) -> tuple:
        """What no attack may change: the jobs, and every object of every bucket."""
        jobs = self.api.list_training_jobs(MaxResults=100)["TrainingJobSummaries"]
        names = sorted((job["TrainingJobName"], job["TrainingJobStatus"]) for job in jobs)
        buckets = [bucket["Name"] for bucket in self.s3.list_buckets()["Buckets"]]
        objects = [
            (bucket, each["Key"], each["ETag"])
            for bucket in buckets
            for each in self.s3.list_objects_v2(Bucket=bucket).get("Contents", [])
        ]
        uploads = [
            each["UploadId"]
            for bucket in buckets
            for each in self.s3.list_multipart_uploads(Bucket=bucket).get("Uploads", [])
        ]
        return names, buckets, objects, uploads


@pytest.fixture
def unchanged(attacked):
    """Whatever the test does, all is afterwards as before."""
    before = attacked.state()
    yield
    assert attacked.state() == before
