"""The clients that bench/s3.py measures: what to run to get and to put one large object."""

import dataclasses
import os
import pathlib
import shutil
import sys

BOTO3 = """
import sys, boto3
what, key, path = sys.argv[1:]
s3 = boto3.client("s3")
s3.download_file("bench", key, path) if what == "get" else s3.upload_file(path, "bench", key)
"""


@dataclasses.dataclass
class Client:
    """`FILE` and `KEY` in its words stand for the file and the key."""

    env: dict[str, str]
    getting: list[str]
    putting: list[str]

    def get(self, to: pathlib.Path) -> list[str]:
        return [word.replace("FILE", str(to)) for word in self.getting]

    def put(self, path: pathlib.Path, name: str) -> list[str]:
        return [word.replace("FILE", str(path)).replace("KEY", name) for word in self.putting]


def program(repository: pathlib.Path, name: str) -> str | None:
    """The program's path in the tests' environment, or on PATH; None if it is nowhere."""
    folder = repository / "build" / "venv" / "bin"
    return shutil.which(name, path=os.pathsep.join([str(folder), os.environ["PATH"]]))


def clients_of(server, s3, repository: pathlib.Path) -> dict[str, Client]:
    """The clients that are there, by name; ours is the first."""
    quiet = {"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": "/dev/null"}
    env = {
        **os.environ,
        **quiet,
        **server.keys,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": server.url,
        "AWS_ENDPOINT_URL_S3": server.url,
        "S3_ENDPOINT_URL": server.url,
    }
    sm = str(repository / "build" / "release" / "sm")
    found = {
        "ours": Client(
            env,
            [sm, "toolkit", "download", "s3://bench/large", "FILE"],
            [sm, "toolkit", "upload", "FILE", "s3://bench/KEY"],
        ),
        "boto3": Client(
            env,
            [sys.executable, "-c", BOTO3, "get", "large", "FILE"],
            [sys.executable, "-c", BOTO3, "put", "KEY", "FILE"],
        ),
    }
    if curl := program(repository, "curl"):

        def presigned(operation: str, key: str) -> str:
            return s3.generate_presigned_url(operation, {"Bucket": "bench", "Key": key})

        # No Expect: such a client waits a second for servers that do not answer it.
        words = [curl, "-sSf", "-H", "Expect:"]
        found["curl"] = Client(
            env,
            [*words, "-o", "FILE", presigned("get_object", "large")],
            [*words, "-T", "FILE", presigned("put_object", "curl")],
        )
    if s5cmd := program(repository, "s5cmd"):
        found["s5cmd"] = Client(
            env,
            [s5cmd, "cp", "s3://bench/large", "FILE"],
            [s5cmd, "cp", "FILE", "s3://bench/KEY"],
        )
    if aws := program(repository, "aws"):
        found["aws-cli"] = Client(
            env,
            [aws, "s3", "cp", "--no-progress", "s3://bench/large", "FILE"],
            [aws, "s3", "cp", "--no-progress", "FILE", "s3://bench/KEY"],
        )
    return found
