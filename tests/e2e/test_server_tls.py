"""`sm server` with TLS by an authority of one's own: clients, jobs' hosts, `sm`'s commands."""

import subprocess

import boto3
import pytest
from botocore.exceptions import SSLError

from lab import SM, VENV
from sm_server import SmServer
from test_server_jobs import BUCKET, Job

SCRIPT = """
import os
import boto3
s3 = boto3.client("s3")
body = s3.get_object(Bucket="jobs", Key="train/a.txt")["Body"].read().decode()
name, host = os.environ["TRAINING_JOB_NAME"], os.environ["SM_CURRENT_HOST"]
s3.put_object(Bucket="jobs", Key=f"out/{name}/{host}", Body=body.encode())
print("account", boto3.client("sts").get_caller_identity()["Account"])
print("read", body, "by", s3.meta.endpoint_url, os.environ["AWS_CA_BUNDLE"], flush=True)
with open(os.path.join(os.environ["SM_MODEL_DIR"], host), "w") as file:
    file.write(body)
"""


def openssl(folder, *words) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """ca.pem is the issuer of server.pem, which is for 127.0.0.1 and localhost."""
    folder = tmp_path_factory.mktemp("certificates")
    openssl(folder, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
            "/CN=An authority", "-keyout", "ca.key", "-out", "ca.pem",
            "-addext", "keyUsage=critical,keyCertSign")
    openssl(folder, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=A server", "-keyout",
            "server.key", "-out", "server.csr")
    (folder / "names").write_text(
        "subjectAltName=IP:127.0.0.1,DNS:localhost\nauthorityKeyIdentifier=keyid\n"
        "basicConstraints=CA:FALSE\n"
    )
    openssl(folder, "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "1", "-extfile", "names", "-out", "server.pem")
    return folder


def config(certificates, **more) -> dict:
    return {
        "tls_certificate": str(certificates / "server.pem"),
        "tls_key": str(certificates / "server.key"),
        "tls_ca": str(certificates / "ca.pem"),
        **more,
    }


@pytest.fixture(scope="module")
def server(tmp_path_factory, certificates):
    folder = tmp_path_factory.mktemp("server")
    jobs = {"python": str(VENV / "bin" / "python")}
    with SmServer(folder, jobs=jobs, config=config(certificates)) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"alpha")
        yield server


def test_the_first_start_says_whom_to_trust(server, certificates):
    assert server.url.startswith("https://127.0.0.1:")
    assert f"export AWS_CA_BUNDLE={certificates}/ca.pem\n" in server.output
    stranger = boto3.client("s3", endpoint_url=server.url, region_name="us-east-1",
                            aws_access_key_id="a", aws_secret_access_key="b")
    with pytest.raises(SSLError):
        stranger.list_buckets()


def test_jobs_hosts_reach_the_server_and_trust_it(server):
    job = Job(server, SCRIPT, hosts=2)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", (told.get("FailureReason"), job.text())
    for host in ("algo-1", "algo-2"):
        assert any(line.startswith(f"read alpha by {server.url} /run/muster/ca.pem")
                   for line in job.log()[host]), job.text()
        key = f"out/{job.name}/{host}"
        assert server.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read() == b"alpha"
    assert job.artifact() == {"algo-1": b"alpha", "algo-2": b"alpha"}


def test_the_commands_of_sm_speak_tls(server, tmp_path):
    def sm(*words, code=0, **env):
        done = subprocess.run([SM, *words], env={**server.env(), **env}, capture_output=True,
                              text=True, timeout=90)
        assert done.returncode == code, done.stderr
        return done.stdout if code == 0 else done.stderr

    script = tmp_path / "hello.py"
    script.write_text("print('hello over TLS')\n")
    name = "tls-by-command"
    sm("submit", script, "--name", name, "--wait")
    assert name in sm("jobs")
    assert "hello over TLS" in sm("logs", name)
    assert "not trusted" in sm("jobs", code=2, AWS_CA_BUNDLE="")


def test_a_name_of_its_own_is_the_servers_address(tmp_path, certificates):
    jobs = {"python": str(VENV / "bin" / "python")}
    with SmServer(tmp_path, jobs=jobs, config=config(certificates, name="localhost")) as server:
        assert server.url.startswith("https://localhost:")
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"alpha")
        job = Job(server, SCRIPT)
        told = job.at_end()
        assert told["TrainingJobStatus"] == "Completed", (told.get("FailureReason"), job.text())
        assert f"read alpha by {server.url} " in job.text()


@pytest.mark.parametrize(
    ("more", "want"),
    [
        ({"name": "elsewhere.example"}, "not trusted for the name elsewhere.example: hostname"),
        ({"tls_ca": None}, "not trusted for the name 127.0.0.1: unable to get local issuer"),
        ({"tls_key": "ca.key"}, "key values mismatch"),
        ({"tls_ca": "none.pem"}, "tls_ca: "),
        ({"name": "not a name"}, "name: expected"),
        ({"tls_certificate": None, "tls_key": None}, "tls_ca requires tls_certificate"),
    ],
    ids=["name", "unknown", "key", "file", "text", "plain"],
)
def test_what_no_client_would_trust_is_refused_at_the_start(tmp_path, certificates, more, want):
    said = {key: value for key, value in config(certificates, **more).items() if value}
    for key in ("tls_key", "tls_ca"):
        if key in said and "/" not in said[key]:
            said[key] = str(certificates / said[key])
    server = SmServer(tmp_path, config=said)
    command = [SM, "server", "--data", server.data, *server.flags, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and want in done.stderr, done.stderr
