"""TrainingImageConfig: a job's own login for its image, on Debian's registry with htpasswd."""

import base64
import json
import subprocess

import pytest
from botocore.exceptions import ClientError

from docker_registry import docker_registry
from fake_registry import PASSWORD, USER
from test_image_pull import BCRYPT_OF_PASSWORD
from test_image_policy import runnable
from test_server_image import World

GUARD_SECONDS = 60
ARN = "arn:aws:lambda:us-east-1:000000000000:function:"


@pytest.fixture
def private_registry(tmp_path):
    """The address."""
    with docker_registry(tmp_path, htpasswd=f"{USER}:{BCRYPT_OF_PASSWORD}\n") as address:
        yield address


class Address:
    """What World asks of a registry."""

    def __init__(self, address: str):
        self.address = address


def private_file(path, content: dict) -> str:
    path.write_text(json.dumps(content))
    path.chmod(0o600)
    return str(path)


def login(name: str) -> dict:
    """As TrainingImageConfig."""
    return {
        "TrainingRepositoryAccessMode": "Vpc",
        "TrainingRepositoryAuthConfig": {"TrainingRepositoryCredentialsProviderArn": ARN + name},
    }


def test_only_the_right_login_runs_a_private_image(tmp_path, monkeypatch, private_registry):
    name = f"{private_registry}/team/box:v1"
    runnable().write_layout(tmp_path / "layout")
    subprocess.run(
        ["skopeo", "--insecure-policy", "copy", "-q", "--dest-tls-verify=false", "--dest-creds",
         f"{USER}:{PASSWORD}", f"oci:{tmp_path}/layout:v1", f"docker://{name}"],
        check=True, timeout=GUARD_SECONDS)  # fmt: skip
    helper = tmp_path / "bin/docker-credential-team"
    helper.parent.mkdir()
    helper.write_text(f'#!/bin/sh\necho \'{{"Username": "{USER}", "Secret": "{PASSWORD}"}}\'\n')
    helper.chmod(0o755)
    monkeypatch.setenv("PATH", f"{helper.parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin")
    wrong = base64.b64encode(f"{USER}:wrong".encode()).decode()
    providers = {
        ARN + "team": {
            "registries": [private_registry],
            "logins": private_file(
                tmp_path / "team.json", {"credHelpers": {private_registry: "team"}}),
        },
        ARN + "wrong": {
            "registries": [private_registry],
            "logins": private_file(
                tmp_path / "wrong.json", {"auths": {private_registry: {"auth": wrong}}}),
        },
        ARN + "other": {
            "registries": ["other.lab"],
            "logins": private_file(tmp_path / "other.json", {}),
        },
    }  # fmt: skip
    world = World(tmp_path, Address(private_registry), credentials_providers=providers)
    with world:
        for unknown, why in (
            ("none", f'{ARN}none: this server has no login with this name; add "{ARN}none"'),
            ("other", f"its login is for other.lab, not for {private_registry}"),
        ):
            with pytest.raises(ClientError) as refused:
                world.start(name, TrainingImageConfig=login(unknown))
            assert refused.value.response["Error"]["Code"] == "ValidationException"
            assert why in refused.value.response["Error"]["Message"]

        def fails(**algorithm) -> None:
            told = world.at_end(world.start(name, **algorithm))
            assert told["TrainingJobStatus"] == "Failed"
            assert "the image cannot be pulled" in told["FailureReason"], told["FailureReason"]
            assert "login" in told["FailureReason"] and PASSWORD not in str(told)

        fails()
        told = world.run(name, TrainingImageConfig=login("team"))
        echoed = told["AlgorithmSpecification"]["TrainingImageConfig"]
        assert echoed == login("team")
        # The image is stored by now, but is still available to this login only.
        fails()
        fails(TrainingImageConfig=login("wrong"))
        world.run(name, TrainingImageConfig=login("team"))
