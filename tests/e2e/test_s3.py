"""The S3 client against a server that checks signatures and fails on demand (s3_server.py)."""

import os
import re
import subprocess

import pytest

from lab import REPOSITORY, SM
from s3_server import ACCESS_KEY, SECRET_KEY, S3Server

BODY = bytes(range(256)) * 8192  # 2 MiB
BOTO3 = REPOSITORY / "build" / "reference-venv" / "bin" / "python"


@pytest.fixture
def server():
    with S3Server() as server:
        server.put("bucket", "key", BODY)
        yield server


@pytest.fixture
def toolkit(server, folder):
    """Runs `sm toolkit ...` with the server's credentials; keywords change the environment."""

    def run(*args, **env):
        base = {"PATH": os.environ["PATH"], "HOME": str(folder), "MUSTER_S3_IDLE": "20"}
        merged = {**base, **server.env(), **env}
        done = subprocess.run(
            [SM, "toolkit", *map(str, args)],
            env={name: value for name, value in merged.items() if value},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        secrets = [SECRET_KEY, server.session_token, server.endpoint_token]
        assert not any(secret and secret in done.stderr for secret in secrets)
        return done

    return run


@pytest.fixture
def download(toolkit, folder):
    """Downloads a key of the bucket; checks that either all of it is there, or nothing."""

    def run(key, want=BODY, **env):
        path = folder / "got"
        done = toolkit("download", f"s3://bucket/{key}", path, **env)
        if done.returncode == 0:
            assert path.read_bytes() == want
            path.unlink()
        assert list(folder.iterdir()) == [], "something was left"
        return done

    return run


def last_line(done) -> str:
    """The one line of an error, without its name; before it only warnings about other tries."""
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert all(": warning: " in line for line in lines[:-1]), done.stderr
    said = re.fullmatch(r"sm toolkit: error: (.*) \(sm explain [a-z0-9-]+\)", lines[-1])
    assert said, done.stderr
    return said[1]


def tries(done) -> int:
    return len(re.findall(r"; attempt \d+ of \d+ in ", done.stderr)) + 1


# --- downloads that succeed ---


@pytest.mark.parametrize("key", ["a/b c+d&e=f%20.tar.gz", "ä/ü~*'()!.bin", "empty", "x" * 900])
def test_any_key_downloads(server, download, key):
    body = b"" if key == "empty" else BODY
    server.put("bucket", key, body)
    assert download(key, body).returncode == 0


def test_a_reset_download_goes_on_where_it_was(server, download):
    server.fault("key", reset_after=1_000_000, times=1)
    done = download("key")
    assert done.returncode == 0, done.stderr
    first, second = [request[3] for request in server.requests if request[0] == "GET"]
    assert "Range" not in first
    start = int(re.fullmatch(r"bytes=(\d+)-", second["Range"])[1])
    assert 0 < start <= 1_000_000
    assert second["If-Match"] == server.buckets["bucket"]["key"].etag
    assert tries(done) == 2


def test_a_server_that_ignores_ranges_sends_it_all_again(server, download):
    server.fault("key", reset_after=1_000_000, times=1)
    server.fault("key", ignore_range=True)
    assert download("key").returncode == 0


def test_an_object_that_changes_during_a_download_is_downloaded_again(server, download):
    server.fault("key", reset_after=1_000_000, replace=BODY[::-1], times=1)
    done = download("key", BODY[::-1])
    assert done.returncode == 0, done.stderr
    assert "the object changed" in done.stderr


def test_a_silent_server_is_left_and_the_rest_fetched(server, download):
    server.fault("key", stall_head=True, times=1)
    server.fault("key", stall_after=500_000, times=1)
    done = download("key", MUSTER_S3_IDLE="3")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("the server did not send any data for 3 s") == 2


def test_a_busy_server_is_asked_again_after_the_time_it_names(server, download):
    server.fault("key", status=503, code="SlowDown", headers={"Retry-After": "1"}, times=1)
    done = download("key")
    assert done.returncode == 0
    pause = int(re.search(r"503 \(SlowDown\).*; attempt 2 of 5 in (\d+) ms", done.stderr)[1])
    assert pause == 1000


@pytest.mark.parametrize("fault", [{"status": 500}, {"status": 429, "code": "Throttling"}])
def test_what_may_pass_is_tried_again(server, download, fault):
    server.fault("key", times=2, **fault)
    done = download("key")
    assert done.returncode == 0
    assert tries(done) == 3


def test_a_bucket_elsewhere_is_found(server, download):
    server.region = "eu-west-1"
    done = download("key")
    assert done.returncode == 0
    assert server.count("GET", "key") == 2
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("x_amz_checksum_crc32c", "U/fpHQ=="),
        ("x_amz_checksum_crc64nvme", "FkGZBKRy0Nw="),
        ("x_amz_checksum_sha1", "qvTGHdzF6KLavt4PO0gs2a6pQ00="),
        ("x_amz_checksum_sha256", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="),
    ],
)
def test_checksums_of_every_kind_are_checked(server, download, name, value):
    wrong = value[:-5] + ("A" if value[-5] != "A" else "B") + value[-4:]
    server.put("bucket", "hello", b"hello", **{name: wrong})
    assert "wrong checksum" in last_line(download("hello"))


def test_a_checksum_of_parts_is_not_taken_for_one_of_the_whole(server, download):
    server.put("bucket", "parts", BODY, x_amz_checksum_crc32="AAAAAA==-2")
    server.buckets["bucket"]["parts"].etag = '"0123456789abcdef0123456789abcdef-2"'
    assert download("parts").returncode == 0


# --- downloads that fail ---


@pytest.mark.parametrize(
    ("fault", "want"),
    [
        ({"corrupt": True}, "wrong checksum: CRC32 is "),
        ({"checksum": "AAAAAA=="}, "wrong checksum: CRC32 is "),
        ({"length_more": 10}, "the connection was closed before the end of the body"),
        ({"status": 503, "code": "SlowDown"}, "the server returned 503 (SlowDown)"),
        ({"reset_after": 0}, "connection failed: Connection reset by peer"),
    ],
)
def test_what_stays_wrong_is_given_up_after_five_tries(server, download, fault, want):
    server.fault("key", **fault)
    done = download("key")
    line = last_line(done)
    assert line.startswith("s3://bucket/key: ")
    assert want in done.stderr
    assert line.endswith("(5 attempts)")
    assert server.count("GET", "key") == 5


@pytest.mark.parametrize(
    ("url", "env", "want"),
    [
        ("s3://bucket/none", {}, "s3://bucket/none: no such key"),
        ("s3://elsewhere/key", {}, "s3://elsewhere/key: no such bucket"),
        (
            "s3://bucket/key",
            {"AWS_ACCESS_KEY_ID": "AKIDNOBODY"},
            "s3://bucket/key: access denied (InvalidAccessKeyId): check AWS_ACCESS_KEY_ID; "
            "the server says: The access key Id does not exist.",
        ),
        (
            "s3://bucket/key",
            {"AWS_SECRET_ACCESS_KEY": "wrong"},
            "s3://bucket/key: access denied (SignatureDoesNotMatch): check AWS_SECRET_ACCESS_KEY; "
            "the server says: The signature we calculated differs.",
        ),
        (
            "s3://bucket/key",
            {"AWS_SECRET_ACCESS_KEY": ""},
            "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not; set both",
        ),
    ],
)
def test_errors_that_no_retry_can_fix_are_one_line_at_once(server, toolkit, folder, url, env, want):
    done = toolkit("download", url, folder / "got", **env)
    assert last_line(done) == want and len(done.stderr.splitlines()) == 1
    assert server.count("GET", "key") <= 1
    assert list(folder.iterdir()) == []


def test_without_credentials_the_line_says_where_was_looked(toolkit, folder):
    done = toolkit(
        "download", "s3://bucket/key", folder / "got", AWS_ACCESS_KEY_ID="",
        AWS_SECRET_ACCESS_KEY="",
    )  # fmt: skip
    assert last_line(done) == (
        "s3://bucket/key: no credentials: AWS_ACCESS_KEY_ID is not set, "
        f"{folder}/.aws/credentials has no profile default, and neither "
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI nor AWS_CONTAINER_CREDENTIALS_FULL_URI is set"
    )


def test_a_session_token_is_sent_and_a_stale_one_named(server, download):
    server.session_token = "session/token=="
    assert download("key").returncode == 0
    done = download("key", AWS_SESSION_TOKEN="stale")
    assert "access denied (ExpiredToken): check AWS_SESSION_TOKEN" in last_line(done)


def test_a_folder_that_is_not_there_is_named(toolkit, folder):
    done = toolkit("download", "s3://bucket/key", folder / "none" / "got")
    want = f"s3://bucket/key: cannot create {folder}/none/got: No such file or directory"
    assert last_line(done) == want


def test_a_full_disk_ends_it_at_once(server, toolkit, folder):
    small = folder / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", small], check=True)
    try:
        done = toolkit("download", "s3://bucket/key", small / "got")
        assert last_line(done) == (
            f"s3://bucket/key: cannot write {small}/got: No space left on device"
        )
        assert list(small.iterdir()) == []
    finally:
        subprocess.run(["umount", small], check=True)
    assert server.count("GET", "key") == 1


def test_an_endpoint_without_a_server(toolkit, folder):
    done = toolkit(
        "download", "s3://bucket/key", folder / "got", AWS_ENDPOINT_URL_S3="http://127.0.0.1:1"
    )
    assert last_line(done) == "s3://bucket/key: 127.0.0.1:1: Connection refused (5 attempts)"


# --- where credentials come from ---


def test_credentials_of_the_shared_file(server, toolkit, folder):
    shared = folder / "shared"
    shared.write_text(
        f"[default]\naws_access_key_id = {ACCESS_KEY}\naws_secret_access_key = {SECRET_KEY}\n"
        "[stale]\naws_access_key_id = AKIDNOBODY\naws_secret_access_key = x\n"
    )
    no_keys = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}
    env = {**no_keys, "AWS_SHARED_CREDENTIALS_FILE": str(shared)}
    got = folder / "got"
    assert toolkit("download", "s3://bucket/key", got, **env).returncode == 0
    done = toolkit("download", "s3://bucket/key", got, AWS_PROFILE="stale", **env)
    assert f"(InvalidAccessKeyId): check {shared} [stale]" in last_line(done)
    done = toolkit("download", "s3://bucket/key", got, AWS_PROFILE="none", **env)
    assert f"AWS_PROFILE is none, but {shared} has no profile with this name" in last_line(done)


def test_credentials_of_the_containers_endpoint(server, toolkit, folder):
    server.session_token, server.endpoint_token = "from the endpoint", "Bearer t0ken"
    token = folder / "token"
    token.write_text("Bearer t0ken\n")
    env = {
        "AWS_ACCESS_KEY_ID": "",
        "AWS_SECRET_ACCESS_KEY": "",
        "AWS_SESSION_TOKEN": "",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{server.url}/credentials",
    }
    got = folder / "got"
    by_file = {**env, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(token)}
    assert toolkit("download", "s3://bucket/key", got, **by_file).returncode == 0
    by_value = {**env, "AWS_CONTAINER_AUTHORIZATION_TOKEN": "Bearer t0ken"}
    assert toolkit("download", "s3://bucket/key", got, **by_value).returncode == 0
    done = toolkit("download", "s3://bucket/key", got, **env)
    assert last_line(done) == (
        "s3://bucket/key: no credentials: the container's endpoint: the response has status 403"
    )


# --- uploads ---

PART = 16 << 20


@pytest.mark.parametrize("size", [0, 1, PART, PART + 1, 2 * PART + 7])
def test_files_of_any_size_upload(server, toolkit, folder, size):
    source = folder / "source"
    source.write_bytes((BODY * (size // len(BODY) + 1))[:size])
    done = toolkit("upload", source, "s3://bucket/a/up load.bin")
    assert (done.returncode, done.stderr) == (0, "")
    assert server.get("bucket", "a/up load.bin") == source.read_bytes()
    parts = sum("partNumber" in request[2] for request in server.requests)
    assert parts == (0 if size <= PART else -(-size // PART))


@pytest.mark.parametrize(
    ("fault", "count"),
    [
        ({"status": 503, "code": "SlowDown", "methods": ("PUT",)}, 1),
        ({"stall_head": True, "methods": ("PUT",)}, 1),
        ({"inside_200": True, "methods": ("POST",)}, 2),  # Begin and end of the parts.
    ],
)
def test_an_upload_is_tried_again(server, toolkit, folder, fault, count):
    source = folder / "source"
    source.write_bytes(bytes(PART + 1))
    server.fault("up", times=count, **fault)
    done = toolkit("upload", source, "s3://bucket/up", MUSTER_S3_IDLE="5")
    assert done.returncode == 0, done.stderr
    assert server.get("bucket", "up") == bytes(PART + 1)
    assert tries(done) == count + 1


def test_a_failed_upload_leaves_no_parts_behind(server, toolkit, folder):
    source = folder / "source"
    source.write_bytes(bytes(PART + 1))
    server.fault("up", status=403, code="AccessDenied", methods=("PUT",))
    line = last_line(toolkit("upload", source, "s3://bucket/up"))
    assert line.startswith("s3://bucket/up: access denied (AccessDenied): ")
    assert server.uploads == {}
    assert "up" not in server.buckets["bucket"]


def test_entries_other_than_files_are_not_uploaded(toolkit, folder):
    done = toolkit("upload", folder, "s3://bucket/up")
    assert last_line(done) == f"s3://bucket/up: {folder}: not a regular file"
    done = toolkit("upload", folder / "none", "s3://bucket/up")
    want = f"s3://bucket/up: cannot open {folder}/none: No such file or directory"
    assert last_line(done) == want


# --- TLS ---


@pytest.fixture
def certificate(folder):
    path = folder / "tls.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-keyout", path,
         "-out", f"{path}.crt", "-subj", "/CN=test", "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    with open(path, "a") as both:
        both.write((folder / "tls.pem.crt").read_text())
    return path


def test_over_tls_both_ways_and_only_with_the_right_root(certificate, folder, toolkit):
    with S3Server(certificate=str(certificate)) as server:
        server.put("bucket", "key", BODY)
        got = folder / "got"
        env = {"AWS_ENDPOINT_URL_S3": server.url, "AWS_CA_BUNDLE": f"{certificate}.crt"}
        done = toolkit("download", "s3://bucket/key", got, **env)
        assert (done.returncode, done.stderr) == (0, "")
        assert got.read_bytes() == BODY
        source = folder / "source"
        source.write_bytes(bytes(PART + 1))
        assert toolkit("upload", source, "s3://bucket/up", **env).returncode == 0
        assert server.get("bucket", "up") == source.read_bytes()
        by_address = {**env, "AWS_ENDPOINT_URL_S3": server.url.replace("localhost", "127.0.0.1")}
        done = toolkit("download", "s3://bucket/key", got, **by_address)
        assert "the server's certificate is not trusted: IP address mismatch" in last_line(done)
        done = toolkit("download", "s3://bucket/key", got, **{**env, "AWS_CA_BUNDLE": ""})
        assert "the server's certificate is not trusted: self-signed" in last_line(done)


# --- CodeArtifact ---

ARN = "arn:aws:codeartifact:us-east-1:123456789012:repository/{}/my-repo"


def test_the_index_of_a_codeartifact_repository(server, toolkit):
    env = {"AWS_ENDPOINT_URL": server.url}
    done = toolkit("codeartifact-index", CA_REPOSITORY_ARN=ARN.format("my-domain"), **env)
    assert done.stdout == "https://aws:t0ken@my-domain.example/pypi/my-repo/simple/\n"
    done = toolkit("codeartifact-index", CA_REPOSITORY_ARN=ARN.format("other"), **env)
    want = "codeartifact: no such domain or repository: Domain not found."
    assert last_line(done) == want
    done = toolkit("codeartifact-index", CA_REPOSITORY_ARN="arn:aws:s3:::x", **env)
    assert last_line(done).startswith("CA_REPOSITORY_ARN: invalid CodeArtifact repository arn")


# --- the server itself ---

BOTO3_SCRIPT = """
import boto3, sys
from botocore.config import Config
s3 = boto3.client("s3", config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}))
name = "a b+c/\\u00e4"
assert s3.get_object(Bucket="bucket", Key=name)["Body"].read() == b"body"
try:
    keys = {"aws_access_key_id": sys.argv[1], "aws_secret_access_key": "wrong"}
    boto3.client("s3", **keys).get_object(Bucket="bucket", Key=name)
except Exception as error:
    assert "SignatureDoesNotMatch" in str(error), error
else:
    sys.exit("a wrong key was taken")
"""


def test_the_server_agrees_with_boto3_about_signatures(server):
    if not BOTO3.exists():
        pytest.skip(f"{BOTO3} is missing: the reference is not installed")
    server.put("bucket", "a b+c/ä", b"body")
    env = {"PATH": os.environ["PATH"], **server.env(), "AWS_ENDPOINT_URL_S3": server.url}
    done = subprocess.run(
        [BOTO3, "-c", BOTO3_SCRIPT, ACCESS_KEY],
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
