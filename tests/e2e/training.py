"""A training job as files under /opt/ml, and `train` started on hosts of a lab."""

import json
import os
import pathlib
import re
import secrets
import time

from lab import SM, VENV, Host, Lab
from process import Process, children_of, wait_until

SCRIPT = "script.py"
# Waits in tests only detect hangs: five times the expected duration, and at least this long.
GUARD_SECONDS = 60.0


def mpi_hyperparameters(processes_per_host: int) -> dict[str, str]:
    """As the SDK sends them: every value is JSON text."""
    return {
        "sagemaker_program": json.dumps(SCRIPT),
        "sagemaker_mpi_enabled": "true",
        "sagemaker_mpi_num_of_processes_per_host": str(processes_per_host),
    }


def write_job(
    host: Host,
    host_names: list[str],
    script: str,
    hyperparameters: dict[str, str],
    files: dict[str, str] | None = None,
) -> None:
    """The files that SageMaker would have laid on this host before it started the container."""
    config = host.base / "input" / "config"
    for folder in (
        config,
        host.base / "input/data",
        host.base / "code",
        host.base / "model",
        host.base / "output/data",
    ):
        folder.mkdir(parents=True, exist_ok=True)
    resources = {
        "current_host": host.name,
        "hosts": host_names,
        "network_interface_name": "eth0",
        "current_instance_type": "local",
        "current_group_name": "homogeneousCluster",
        "instance_groups": [
            {
                "instance_group_name": "homogeneousCluster",
                "instance_type": "local",
                "hosts": host_names,
            }
        ],
    }
    (config / "resourceconfig.json").write_text(json.dumps(resources))
    (config / "hyperparameters.json").write_text(json.dumps(hyperparameters))
    (config / "inputdataconfig.json").write_text("{}")
    for name, text in {SCRIPT: script, **(files or {})}.items():
        (host.base / "code" / name).write_text(text)


def train_program() -> pathlib.Path:
    """`sm` under the name `train`."""
    link = SM.parent / "e2e-bin" / "train"
    if not link.is_symlink():
        link.parent.mkdir(exist_ok=True)
        link.symlink_to("../sm")
    return link


def host_environment(key: str, extra: dict[str, str] | None = None) -> dict[str, str]:
    """What the container of a host starts with: nothing of the person who runs the tests."""
    path = f"{VENV}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {
        "PATH": path,
        "HOME": "/run/lab/home",
        "LANG": "C.UTF-8",
        "TRAINING_JOB_NAME": "e2e",
        "MUSTER_JOB_KEY": key,
        "MUSTER_FAILURE_GRACE": "1",
        "MUSTER_TRAINING_LOG": "0",  # test_training_log.py is about it.
        **(extra or {}),
    }


class Training:
    """One job on the first `count` hosts of a lab."""

    def __init__(
        self,
        lab: Lab,
        count: int,
        processes_per_host: int,
        script: str,
        hyperparameters: dict[str, str] | None = None,
        env: dict[str, str] | None = None,
        files: dict[str, str] | None = None,
    ):
        self.hosts = lab.hosts(count)
        self.env = env or {}
        self.key = secrets.token_hex(32)
        self.trains: dict[str, Process] = {}
        names = sorted(host.name for host in self.hosts)
        merged = {**mpi_hyperparameters(processes_per_host), **(hyperparameters or {})}
        for host in self.hosts:
            write_job(host, names, script, merged, files)

    def start(self, *only: Host, args: tuple = (), env: dict[str, str] | None = None) -> "Training":
        """Starts `train` on these hosts, or on all."""
        for host in only or self.hosts:
            environment = host_environment(self.key, {**self.env, **(env or {})})
            self.trains[host.name] = host.start([train_program(), *args], env=environment)
        return self

    def __getitem__(self, name: str) -> Process:
        return self.trains[name]

    @property
    def leader(self) -> Process:
        return self.trains["algo-1"]

    def train_pid(self, name: str) -> int:
        """The pid of `train` itself: what the test started is what entered the host."""
        return wait_until(f"train on {name}", lambda: children_of(self.trains[name].pid))[0]

    def wait(self, seconds: float = GUARD_SECONDS) -> dict[str, int]:
        """Every host's exit code, within `seconds` altogether."""
        deadline = time.monotonic() + seconds
        return {
            name: train.wait(max(0.0, deadline - time.monotonic()))
            for name, train in self.trains.items()
        }

    def succeed(self, seconds: float = GUARD_SECONDS) -> "Training":
        codes = self.wait(seconds)
        assert set(codes.values()) == {0}, f"{codes}\n{self.story()}"
        return self

    def story(self) -> str:
        """Everything every host wrote, for a failed test's report."""
        return "\n".join(f"--- {name}\n{train.text[-6000:]}" for name, train in self.trains.items())

    def failure(self, name: str) -> str:
        """The failure file of a host; empty if it has none."""
        path = next(host for host in self.hosts if host.name == name).base / "output" / "failure"
        return path.read_text() if path.exists() else ""

    def rank_lines(self) -> dict[int, list[str]]:
        """The leader's tagged lines without their tags, by rank, stdout and stderr in one."""
        found: dict[int, list[str]] = {}
        tag = re.compile(r"^\[1,mpirank:(\d+),(algo-\d+)\]<(stdout|stderr)>:(.*)$", re.M)
        for match in tag.finditer(self.leader.text):
            found.setdefault(int(match[1]), []).append(match[4])
        return found

    def assert_quiet(self, killed: str = "", seconds: float = GUARD_SECONDS) -> None:
        """No living host has a process left, nor a file of muster's in /tmp or /run.

        The host whose train was `killed` by SIGKILL keeps its socket's folder: a container's /tmp
        goes with the container.
        """
        for host in filter(Host.running, self.hosts):
            wait_until(
                f"the processes of {host.name} to end; {host.processes()} still run",
                lambda h=host: not h.processes(),
                seconds,
            )
            if host.name == killed:
                continue
            left = [
                path for place in ("/tmp", "/run") for path in host.path(place).glob("*muster*")
            ]
            assert not left, left

    def end(self) -> None:
        for train in self.trains.values():
            train.end()


def is_program(*names: str):
    """A test for Host.find: the program's own name is one of `names`."""
    return lambda words: os.path.basename(words[0]) in names


def is_rank(words: list[str]) -> bool:
    """The user's program itself, not the `sm rank` that started it."""
    return SCRIPT in " ".join(words) and "python" in os.path.basename(words[0])
