"""`sm server` whose jobs use another S3: a second server of ours, and moto's."""

import os
import pathlib
import re
import subprocess
import time

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from lab import SM, VENV
from process import wait_until
from sm_server import SmServer
from test_server_jobs import BUCKET, Job

MOTO = pathlib.Path(__file__).parents[2] / "build" / "moto-venv" / "bin" / "moto_server"

SCRIPT = """
import os
import boto3
host = os.environ["SM_CURRENT_HOST"]
print("has", sorted(os.listdir(os.environ["SM_CHANNEL_TRAIN"])), flush=True)
with open(os.path.join("/opt/ml/checkpoints", host), "w") as file:
    file.write("step 7")
with open(os.path.join(os.environ["SM_MODEL_DIR"], host), "w") as file:
    file.write("model of " + host)
s3 = boto3.client("s3")
s3.put_object(Bucket="jobs", Key="by-hand/" + host, Body=b"by hand")
print("S3 is", s3.meta.endpoint_url, flush=True)
"""


class Moto:
    """moto's server, whose S3 takes any key."""

    url = "http://moto.example"
    keys = {"AWS_ACCESS_KEY_ID": "MOTO1", "AWS_SECRET_ACCESS_KEY": "moto-secret-of-ours"}

    def __init__(self, folder):
        self.log = open(folder / "moto.log", "w+b")
        self.process = subprocess.Popen([MOTO, "-H", "127.0.0.1", "-p", "0"], stdout=self.log,
                                        stderr=subprocess.STDOUT)
        self.url = wait_until("moto to listen", self._address, 60)

    def _address(self):
        found = re.search(rb"Running on (http://\S+)", pathlib.Path(self.log.name).read_bytes())
        return found and found[1].decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def client(self, service):
        return boto3.client(service, endpoint_url=self.url, region_name="us-east-1",
                            aws_access_key_id=self.keys["AWS_ACCESS_KEY_ID"],
                            aws_secret_access_key=self.keys["AWS_SECRET_ACCESS_KEY"],
                            config=Config(s3={"addressing_style": "path"}))


class Apart:
    """A server and the S3 of its jobs as one thing, as clients see them: with one key."""

    def __init__(self, server: SmServer, outside):
        self.server, self.outside = server, outside

    def client(self, service, **more):
        return (self.outside if service == "s3" else self.server).client(service, **more)


def config(folder, outside, mode: int = 0o600, **more) -> dict:
    """Whatever key the outside S3 has, the server takes, too."""
    key, secret = outside.keys["AWS_ACCESS_KEY_ID"], outside.keys["AWS_SECRET_ACCESS_KEY"]
    (folder / "secret").write_text(secret)
    (folder / "secret").chmod(0o600)
    (folder / "credentials").write_text(
        f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
    )
    (folder / "credentials").chmod(mode)
    s3 = {"endpoint": outside.url, "credentials_file": str(folder / "credentials"), **more}
    return {"s3": s3, "keys": [{"id": key, "secret_file": str(folder / "secret")}]}


@pytest.fixture(scope="module", params=["muster", "moto"])
def apart(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("apart")
    if request.param == "moto" and not MOTO.exists():
        pytest.skip(f"{MOTO} is missing: make build/moto-venv/.done")
    (folder / "other").mkdir()
    outside = Moto(folder) if request.param == "moto" else SmServer(folder / "other")
    jobs = {"python": str(VENV / "bin" / "python")}
    with outside:
        s3 = outside.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        for name in ("a.txt", "b.txt"):
            s3.put_object(Bucket=BUCKET, Key=f"train/{name}", Body=name.encode())
        s3.put_object(Bucket=BUCKET, Key="checkpoints/before", Body=b"step 6")
        server = SmServer(folder, jobs=jobs, config=config(folder, outside))
        server.keys = {name: outside.keys[name] for name in Moto.keys}
        with server:
            yield Apart(server, outside)


def test_a_jobs_data_comes_from_and_goes_to_the_outside(apart):
    job = Job(apart, SCRIPT, hosts=2, CheckpointConfig={"S3Uri": f"s3://{BUCKET}/checkpoints"})
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", (told.get("FailureReason"), job.text())
    text = job.text()
    assert text.count("has ['a.txt', 'b.txt']") == 2, text
    assert text.count(f"S3 is {apart.outside.url}") == 2, text
    assert job.artifact() == {f"algo-{n}": b"model of algo-%d" % n for n in (1, 2)}
    s3 = apart.client("s3")
    listed = s3.list_objects_v2(Bucket=BUCKET, Prefix="checkpoints/")["Contents"]
    assert [each["Key"].split("/")[1] for each in listed] == ["algo-1", "algo-2", "before"]
    assert s3.get_object(Bucket=BUCKET, Key="by-hand/algo-2")["Body"].read() == b"by hand"
    assert not (apart.server.data / "s3").exists()


def test_what_is_missing_outside_is_named(apart):
    inputs = [{"ChannelName": "train", "DataSource": {"S3DataSource": {
        "S3DataType": "S3Prefix", "S3Uri": f"s3://{BUCKET}/nothing-here"}}}]
    told = Job(apart, "print()", InputDataConfig=inputs).at_end()
    assert told["TrainingJobStatus"] == "Failed"
    assert "nothing-here" in told["FailureReason"], told["FailureReason"]


def test_the_servers_own_s3_is_off(apart):
    with pytest.raises(ClientError) as raised:
        apart.server.client("s3").list_buckets()
    assert raised.value.response["Error"]["Code"] == "NotImplemented"
    assert "AWS_ENDPOINT_URL_S3" in raised.value.response["Error"]["Message"]
    done = subprocess.run([SM, "key", "create", "--data", apart.server.data], text=True,
                          capture_output=True, timeout=60, check=True)
    assert f"export AWS_ENDPOINT_URL_S3={apart.outside.url}\n" in done.stdout


def test_sm_submit_uploads_to_the_outside(apart, tmp_path):
    script = tmp_path / "hello.py"
    script.write_text("print('from afar')\n")
    env = {**apart.server.env(), "AWS_ENDPOINT_URL_S3": apart.outside.url}
    name = f"afar-{os.getpid()}-{time.monotonic_ns()}"
    done = subprocess.run([SM, "submit", script, "--name", name, "--wait"], env=env, text=True,
                          capture_output=True, timeout=90)
    assert done.returncode == 0 and "from afar" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("change", "want"),
    [({"mode": 0o640}, "s3.credentials_file: "), ({"bucket": "b"}, "s3.bucket: expected")],
    ids=["mode", "unknown"],
)
def test_a_wrong_config_is_named(tmp_path, change, want):
    server = SmServer(tmp_path, config=config(tmp_path, Moto, **change))
    command = [SM, "server", "--data", server.data, *server.flags, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and want in done.stderr, done.stderr
