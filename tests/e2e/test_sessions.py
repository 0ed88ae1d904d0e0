"""Temporary keys of STS: what they open, and what ends them."""

import base64
import json
import os
import sqlite3
import subprocess
import sys
import urllib.error
import urllib.request

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from lab import SM
from sm_server import SmServer
from test_registry import ask, push

SECONDS = 120
ROLE = "arn:aws:iam::000000000000:role/train"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    before = os.environ.get("MUSTER_STATE")
    os.environ["MUSTER_STATE"] = str(folder / "state")
    with SmServer(folder) as started:
        yield started
    os.environ.pop("MUSTER_STATE")
    if before is not None:
        os.environ["MUSTER_STATE"] = before


def key_command(server, *words):
    return subprocess.run([SM, "key", *words, "--data", server.data], check=True, timeout=SECONDS,
                          capture_output=True, text=True).stdout


def client(server, service, keys, version="s3v4"):
    return boto3.client(
        service, endpoint_url=server.url, region_name="us-east-1",
        aws_access_key_id=keys["AccessKeyId"], aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys.get("SessionToken"),
        config=Config(signature_version=version if service == "s3" else None,
                      retries={"max_attempts": 1}))


def session(server, **more):
    sts = server.client("sts")
    return sts.assume_role(RoleArn=ROLE, RoleSessionName="night", **more)["Credentials"]


def code_of(call, **arguments) -> str:
    with pytest.raises(ClientError) as raised:
        call(**arguments)
    return raised.value.response["Error"]["Code"]


def status_of(url) -> int:
    try:
        return urllib.request.urlopen(url, timeout=SECONDS).status
    except urllib.error.HTTPError as error:
        return error.code


def registry_login(server, keys) -> str:
    token = client(server, "ecr", keys).get_authorization_token()["authorizationData"][0]
    return base64.b64decode(token["authorizationToken"]).decode()


def test_a_temporary_key_does_what_its_maker_does(server):
    keys = session(server)
    assert keys["AccessKeyId"].startswith("ASIA")
    assert client(server, "sts", keys).get_caller_identity()["Arn"] == (
        "arn:aws:sts::000000000000:assumed-role/train/night")
    s3 = client(server, "s3", keys)
    s3.create_bucket(Bucket="data")
    s3.put_object(Bucket="data", Key="a", Body=b"1")
    for version, name in (("s3v4", "X-Amz-Security-Token="), ("s3", "x-amz-security-token=")):
        url = client(server, "s3", keys, version).generate_presigned_url(
            "get_object", Params={"Bucket": "data", "Key": "a"})
        assert name in url and status_of(url) == 200, url
        assert status_of(url.replace(name, name + "x")) == 400, url
    assert client(server, "sagemaker", keys).list_training_jobs()["TrainingJobSummaries"] == []
    assert push(server, "box", "v1").status == 201
    assert ask(server, "GET", "/v2/box/manifests/v1",
               login=registry_login(server, keys)).status == 200


@pytest.fixture
def profiles(server, tmp_path, monkeypatch):
    """A user's own files, and nothing else of AWS's: profile "night" is a role by "base"."""
    (tmp_path / "credentials").write_text(
        f"[base]\naws_access_key_id = {server.keys['AWS_ACCESS_KEY_ID']}\n"
        f"aws_secret_access_key = {server.keys['AWS_SECRET_ACCESS_KEY']}\n")
    place = f"region = us-east-1\nendpoint_url = {server.url}\n"
    (tmp_path / "config").write_text(
        f"[profile base]\n{place}\n[profile night]\n{place}role_arn = {ROLE}\n"
        "source_profile = base\nrole_session_name = person\n")
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))  # The CLI keeps the role's keys in a cache there.
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


def test_boto3_assumes_a_profiles_role(profiles):
    own = boto3.Session(profile_name="night")
    assert own.client("sts").get_caller_identity()["Arn"].endswith(":assumed-role/train/person")
    assert "Buckets" in own.client("s3").list_buckets()


def test_the_cli_assumes_a_profiles_role(profiles):
    done = subprocess.run([sys.executable, "-m", "awscli", "--profile", "night", "sts",
                           "get-caller-identity"], capture_output=True, text=True,
                          timeout=SECONDS, check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["Arn"].endswith(":assumed-role/train/person")


def test_a_temporary_key_needs_its_own_token(server):
    keys, other = session(server), session(server)
    for token in [None, other["SessionToken"], keys["SessionToken"][:-1] + "!"]:
        bad = {**keys, "SessionToken": token}
        assert code_of(client(server, "s3", bad).list_buckets) == "InvalidToken"
        assert code_of(client(server, "sts", bad).get_caller_identity) == "InvalidClientTokenId"
    login = f"{keys['AccessKeyId']}:{keys['SecretAccessKey']}"
    assert ask(server, "GET", "/v2/", login=login).status == 401


def test_a_temporary_key_opens_no_page_and_makes_no_session_token(server):
    keys = session(server)
    assert code_of(client(server, "sts", keys).get_session_token) == "AccessDenied"
    again = client(server, "sts", keys).assume_role(
        RoleArn=ROLE, RoleSessionName="again", DurationSeconds=43200)["Credentials"]
    assert again["Expiration"] <= keys["Expiration"]
    env = {**server.env(), "AWS_ACCESS_KEY_ID": keys["AccessKeyId"],
           "AWS_SECRET_ACCESS_KEY": keys["SecretAccessKey"],
           "AWS_SESSION_TOKEN": keys["SessionToken"]}
    told = subprocess.run([SM, "ui"], env=env, capture_output=True, text=True, timeout=SECONDS,
                          check=False)
    assert told.returncode != 0 and "a temporary key cannot open the web page" in told.stderr


def test_temporary_keys_end_with_their_maker_and_outlive_the_server(server):
    made = json.loads(key_command(server, "create", "--json"))
    maker = {"AccessKeyId": made["AccessKeyId"], "SecretAccessKey": made["SecretAccessKey"]}
    keys = client(server, "sts", maker).get_session_token()["Credentials"]
    login = registry_login(server, keys)
    s3 = client(server, "s3", keys)
    url = s3.generate_presigned_url("list_buckets")
    server.stop()
    server.start()
    assert client(server, "s3", keys).list_buckets() and ask(
        server, "GET", "/v2/", login=login).status == 200
    key_command(server, "delete", maker["AccessKeyId"])
    assert code_of(client(server, "s3", keys).list_buckets) == "InvalidAccessKeyId"
    assert code_of(client(server, "sts", keys).get_caller_identity) == "InvalidClientTokenId"
    assert ask(server, "GET", "/v2/", login=login).status == 401
    assert status_of(url) == 403


def test_an_expired_temporary_key_is_refused_everywhere(server):
    keys = session(server)
    login = registry_login(server, keys)
    url = client(server, "s3", keys).generate_presigned_url("list_buckets")
    assert status_of(url) == 200 and ask(server, "GET", "/v2/", login=login).status == 200
    server.stop()
    with sqlite3.connect(server.data / "muster.db", timeout=SECONDS) as store:
        store.execute("UPDATE sessions SET expires = expires - 3600 * 1000 WHERE id = ?",
                      [keys["AccessKeyId"]])  # fmt: skip
    server.start()
    assert code_of(client(server, "s3", keys).list_buckets) == "ExpiredToken"
    assert code_of(client(server, "sts", keys).get_caller_identity) == "ExpiredToken"
    assert code_of(client(server, "sagemaker", keys).list_training_jobs) == "ExpiredTokenException"
    assert ask(server, "GET", "/v2/", login=login).status == 401
    assert status_of(url) == 400
