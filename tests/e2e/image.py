"""A training image's Python: a virtual environment with muster's wheel and framework packages."""

import fcntl
import json
import os
import pathlib
import secrets
import subprocess

import pytest

from lab import REPOSITORY, SM, Host, Lab
from training import SCRIPT, Training, host_environment, write_job

BUILD = REPOSITORY / "build"
STANDINS = pathlib.Path(__file__).parent / "standins"
FRAMEWORKS = BUILD / "frameworks-venv"


def _check(words: list, what: str) -> None:
    done = subprocess.run(
        [str(word) for word in words], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"{what}: {(done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]}")


def build_wheel() -> pathlib.Path:
    """The wheel around the program under test."""
    with open(BUILD / "e2e-wheel.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _check(["make", "build/wheel-venv/.done"], "the wheel's builder cannot be installed")
        folder = BUILD / "e2e-wheel"
        subprocess.run([REPOSITORY / "tools/build-wheel", SM, folder], check=True)
        return next(folder.glob("muster_train-*.whl"))


def install_frameworks() -> pathlib.Path:
    """The virtual environment of the framework packages, with the wheel of now in it."""
    wheel = build_wheel()
    _check(["make", "build/frameworks-venv/.done"], "the framework packages cannot be had")
    pip = [FRAMEWORKS / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    _check([*pip, "--no-index", "--no-deps", "--force-reinstall", wheel], "the wheel")
    return FRAMEWORKS


class ImageTraining(Training):
    """A job whose hosts run an image's `train`, with a framework's module or without."""

    def __init__(
        self,
        lab: Lab,
        count: int,
        venv: pathlib.Path,
        script: str,
        hyperparameters: dict[str, object],
        env: dict[str, str],
        files: dict[str, str] | None = None,
    ):
        self.hosts = lab.hosts(count)
        self.env = env
        self.venv = venv
        self.key = secrets.token_hex(32)
        self.trains = {}
        names = sorted(host.name for host in self.hosts)
        encoded = {"sagemaker_program": json.dumps(SCRIPT)}
        encoded.update((name, json.dumps(value)) for name, value in hyperparameters.items())
        for host in self.hosts:
            write_job(host, names, script, encoded, files)

    def start(self, *only: Host, args: tuple = (), env: dict[str, str] | None = None):
        for host in only or self.hosts:
            told = {"MUSTER_TRAINING_LOG": "1", **self.env, **(env or {})}
            environment = host_environment(self.key, told)
            environment["PATH"] = os.pathsep.join(
                [str(self.venv / "bin"), "/usr/bin", "/bin", "/usr/sbin"]
            )
            environment["PYTHONPATH"] = os.pathsep.join(
                filter(None, [str(STANDINS), environment.get("PYTHONPATH")])
            )
            self.trains[host.name] = host.start([self.venv / "bin/train", *args], env=environment)
        return self
