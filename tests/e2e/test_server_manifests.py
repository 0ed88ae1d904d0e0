"""Channels of S3DataType ManifestFile with the server's own S3: what a job's key may read."""

import json

import pytest
from botocore.exceptions import ClientError

from lab import VENV
from sm_server import SmServer
from test_server_jobs import BUCKET, Job

READ = """
import os, boto3
from botocore.exceptions import ClientError
print("channel", sorted(os.listdir(os.environ["SM_CHANNEL_LIST"])))
for key in ("1.csv", "3.csv"):
    try:
        boto3.client("s3").get_object(Bucket="jobs", Key="data/" + key)
        print(key, "read")
    except ClientError as error:
        print(key, error.response["Error"]["Code"])
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    config = {"python": str(VENV / "bin" / "python"), "capacity": {"ml.c5.xlarge": 1}}
    with SmServer(tmp_path_factory.mktemp("server"), jobs=config) as server:
        server.client("s3").create_bucket(Bucket=BUCKET)
        for number in (1, 2, 3):
            put(server, f"data/{number}.csv", b"x")
        yield server


def put(server, key, body):
    server.client("s3").put_object(Bucket=BUCKET, Key=key, Body=body)


def put_manifest(server, key, *names):
    put(server, key, json.dumps([{"prefix": f"s3://{BUCKET}/data/"}, *names]).encode())


def channels(key, **more):
    source = {"S3DataType": "ManifestFile", "S3Uri": f"s3://{BUCKET}/{key}", **more}
    return [{"ChannelName": "list", "DataSource": {"S3DataSource": source}}]


@pytest.mark.parametrize("key", ["manifests/train.manifest", "data/train.manifest"])
def test_a_job_reads_what_its_manifest_names_and_nothing_beside_it(server, key):
    put_manifest(server, key, "1.csv", "2.csv")
    job = Job(server, READ, InputDataConfig=channels(key))
    assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
    text = job.text()
    for line in ("channel ['1.csv', '2.csv']", "1.csv read", "3.csv AccessDenied"):
        assert line in text, text


def test_a_manifest_that_changes_while_its_job_waits_fails_it(server):
    put_manifest(server, "changing", "1.csv")
    first = Job(server, "import time; time.sleep(600)", InputDataConfig=channels("changing"))
    first.in_status("Training")
    waiting = Job(server, READ, InputDataConfig=channels("changing"))
    put_manifest(server, "changing", "1.csv", "3.csv")
    server.kill()  # What was pinned outlives the server.
    server.start()
    server.client("sagemaker").stop_training_job(TrainingJobName=first.name)
    told = waiting.at_end()
    assert told["TrainingJobStatus"] == "Failed"
    want = f"channel list: s3://{BUCKET}/changing: the object changed before the download finished"
    assert want in told["FailureReason"]


def test_a_manifest_that_is_not_there_is_refused_and_an_augmented_one_always(server):
    with pytest.raises(ClientError, match=f"channel list: s3://{BUCKET}/none: no such object"):
        Job(server, READ, InputDataConfig=channels("none"))
    put_manifest(server, "augmented", "1.csv")
    kind = {"S3DataType": "AugmentedManifestFile", "AttributeNames": ["source-ref"]}
    with pytest.raises(ClientError, match="AugmentedManifestFile requires Pipe mode"):
        Job(server, READ, InputDataConfig=channels("augmented", **kind))
