"""Access keys of `sm server`: made, listed and deleted while it runs and while it does not."""

import datetime
import json
import os
import re
import socket
import stat
import subprocess

import pytest
from botocore.exceptions import ClientError

from lab import SM
from sm_server import SmServer


def key(server: SmServer, *words, code: int = 0) -> str:
    argv = [SM, "key", *words, "--data", server.data]
    env = {**os.environ, "TZ": "CET-1"}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stderr if code else done.stdout


def made(text: str) -> tuple[str, str]:
    exports = dict(line.removeprefix("export ").split("=", 1) for line in text.splitlines()
                   if line.startswith("export "))
    return exports["AWS_ACCESS_KEY_ID"], exports["AWS_SECRET_ACCESS_KEY"]


def code_of(call, **arguments) -> str:
    with pytest.raises(ClientError) as raised:
        call(**arguments)
    return raised.value.response["Error"]["Code"]


def test_a_key_works_at_once_and_is_refused_at_once(tmp_path):
    with SmServer(tmp_path) as server:
        text = key(server, "create", "--comment", "the notebook's")
        assert f"export AWS_ENDPOINT_URL={server.url}\n" in text
        pair = made(text)
        s3, jobs = server.client("s3", key=pair), server.client("sagemaker", key=pair)
        s3.create_bucket(Bucket="mine")
        assert jobs.list_training_jobs()["TrainingJobSummaries"] == []

        listed = key(server, "list")
        assert pair[0] in listed and "the notebook's" in listed
        assert server.keys["AWS_ACCESS_KEY_ID"] in listed
        local, utc = (
            re.search(rf"^{pair[0]}  (.*)  the notebook's$", text, re.M)[1]
            for text in (listed, key(server, "list", "--utc"))
        )
        assert local.endswith(" +01:00") and utc.endswith(" +00:00"), (local, utc)
        assert datetime.datetime.fromisoformat(local) == datetime.datetime.fromisoformat(utc)
        assert pair[1] not in listed and pair[1] not in key(server, "list", "--json")

        assert key(server, "delete", pair[0]) == ""
        # Connections that were kept alive are refused, too.
        assert code_of(s3.list_buckets) == "InvalidAccessKeyId"
        assert code_of(jobs.list_training_jobs) == "UnrecognizedClientException"
        sts = server.client("sts", key=pair)
        assert code_of(sts.get_caller_identity) == "InvalidClientTokenId"
        assert server.client("s3").list_buckets()["Buckets"][0]["Name"] == "mine"
        assert f"there is no key {pair[0]}" in key(server, "delete", pair[0], code=2)


def test_the_last_key_stays_unless_it_is_forced(tmp_path):
    with SmServer(tmp_path) as server:
        first = server.keys["AWS_ACCESS_KEY_ID"]
        assert "is the last key" in key(server, "delete", first, code=2)
        other = json.loads(key(server, "create", "--json"))
        assert other["Endpoint"] == server.url and other["Region"] == "us-east-1"
        key(server, "delete", first)
        assert code_of(server.client("s3").list_buckets) == "InvalidAccessKeyId"
        pair = other["AccessKeyId"], other["SecretAccessKey"]
        assert server.client("s3", key=pair).list_buckets()["Buckets"] == []
        key(server, "delete", pair[0], "--force")
        assert code_of(server.client("s3", key=pair).list_buckets) == "InvalidAccessKeyId"


def test_keys_are_made_and_deleted_while_no_server_runs(tmp_path):
    server = SmServer(tmp_path)
    assert "no sm server has used" in key(server, "list", code=2)
    pair = made(key(server, "create"))
    server.keys = dict(zip(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), pair))
    assert stat.S_IMODE(os.stat(server.data).st_mode) == 0o700
    for path in server.data.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    with server:
        assert "Created an access key" not in server.output  # There is one already.
        server.client("s3").create_bucket(Bucket="mine")
        server.kill()
        other = made(key(server, "create"))
        key(server, "delete", pair[0])
        server.start()
        assert code_of(server.client("s3").list_buckets) == "InvalidAccessKeyId"
        assert len(server.client("s3", key=other).list_buckets()["Buckets"]) == 1


def test_keys_of_the_config_work_and_their_files_are_private(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("an-outside-secret-of-40-characters-or-so\n")
    secret.chmod(0o644)
    config = {"keys": [{"id": "OUTSIDE1", "secret_file": str(secret)}]}
    server = SmServer(tmp_path, config=config)
    server.keys = {
        "AWS_ACCESS_KEY_ID": "OUTSIDE1",
        "AWS_SECRET_ACCESS_KEY": secret.read_text().strip(),
    }
    check = [SM, "server", "--config", tmp_path / "server.json", "--check"]
    done = subprocess.run(check, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "other users can read it" in done.stderr, done.stderr
    secret.chmod(0o600)
    with server:
        assert "Created an access key" not in server.output
        assert server.client("s3").list_buckets()["Buckets"] == []
        more = made(key(server, "create", "--config", str(tmp_path / "server.json")))
        assert server.client("s3", key=more).list_buckets()["Buckets"] == []
        flags = ("--config", str(tmp_path / "server.json"))
        assert "OUTSIDE1" in key(server, "list", *flags)
        assert "remove the key from this file" in key(server, "delete", "OUTSIDE1", *flags, code=2)
        key(server, "delete", more[0], *flags)  # The last of the store's, not of all.
        assert code_of(server.client("s3", key=more).list_buckets) == "InvalidAccessKeyId"


@pytest.mark.parametrize(
    ("words", "want"),
    [
        (["create", "--comment", "two\nlines"], "--comment"),
        (["create", "--comment", "x" * 257], "256 bytes"),
    ],
)
def test_wrong_words_are_named(tmp_path, words, want):
    server = SmServer(tmp_path)
    assert want in key(server, *words, code=2)
    assert not server.data.exists()


def test_a_start_on_a_taken_port_makes_no_key(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        words = [SM, "server", "--data", tmp_path / "data", "--listen", listen]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "choose another address with --listen ADDRESS:PORT" in done.stderr
    server = SmServer(tmp_path)
    assert key(server, "list") == ""
    with server:
        assert "Created an access key" in server.output


def test_the_lines_of_a_new_key_are_a_script(tmp_path):
    with SmServer(tmp_path) as server:
        script = f'"{SM}" key create --data "{server.data}" >k 2>said; . ./k; "{SM}" jobs'
        done = subprocess.run(["sh", "-ec", script], cwd=tmp_path, capture_output=True, text=True,
                              timeout=60, env={"PATH": os.environ["PATH"]})  # fmt: skip
        assert done.returncode == 0 and done.stderr == "", done.stderr
        assert "is shown only once" in (tmp_path / "said").read_text()


def test_an_ordinary_user_gets_an_error_at_once_when_starting_a_server():
    done = subprocess.run([SM, "server"], user=65534, group=65534, extra_groups=[], env={},
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 2 and "HOME is not set" in done.stderr, done.stderr
