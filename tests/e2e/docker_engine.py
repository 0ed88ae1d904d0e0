"""A Docker engine of the test's own: Debian's dockerd and the containerd that it starts, in a
network, mounts and process numbers of their own, so that nothing of it shows on the machine.

    with DockerEngine(folder) as engine:
        engine.docker("build", "-t", "box", context)
        SmServer(folder, within=engine.space)  # Where containers and pushes reach it.
"""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

import pytest

from outside import Space
from process import Process, children_of

DOCKER = "/usr/bin/docker"
DOCKERD = "/usr/sbin/dockerd"
CGROUPS = pathlib.Path("/sys/fs/cgroup")
START_SECONDS = 60
END_SECONDS = 30
GUARD_SECONDS = 180

# Containers' sockets and networks are below /run, whatever the engine's configuration.
ENGINE = 'mount -t tmpfs docker /run && echo "{}" >/run/daemon.json && exec "$@"'


class DockerEngine:
    """Skips the test where the engine cannot run, with the step that failed."""

    def __init__(self, folder: pathlib.Path):
        """`folder`: for its images, on a file system that overlays can lie on."""
        for program in (DOCKER, DOCKERD, "/usr/bin/containerd"):
            if not os.access(program, os.X_OK):
                pytest.skip(f"no Docker engine: {program} is not here (apt install docker.io)")
        self.data = folder / "docker"
        # A socket's path has 107 bytes at most.
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="muster-docker-"))
        self.cgroup = self.home.name
        self.space = self.process = None

    def __enter__(self) -> "DockerEngine":
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self) -> None:
        self.space = Space("--mount")
        os.makedirs("/run/muster", exist_ok=True)
        self.space.run("mount", "-t", "tmpfs", "muster", "/run/muster")
        options = [
            "--config-file=/run/daemon.json",
            f"--data-root={self.data}",
            f"--host=unix://{self.home}/docker.sock",
            f"--cgroup-parent=/{self.cgroup}",
            "--iptables=false",
        ]
        inner = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
        self.process = Process(
            self.space.enter([*inner, "sh", "-c", ENGINE, "sh", DOCKERD, *options])
        )
        try:
            self.process.wait_for_output(b"API listen on", START_SECONDS)
        except AssertionError:
            said = self.process.text.strip().splitlines()[-1:]
            pytest.skip(f"no Docker engine: dockerd does not start: {said}")
        self._run_a_container()

    def _run_a_container(self) -> None:
        """What is forbidden to an engine inside of a container shows here first."""
        empty = ["tar", "-c", "-T", "/dev/null"]
        archive = subprocess.run(empty, stdout=subprocess.PIPE, check=True).stdout
        self.docker("import", "-", "muster-empty", input=archive, text=False)
        volumes = [f"--volume={path}:{path}:ro" for path in ("/usr", "/lib", "/lib64")]
        done = self.ask("run", "--rm", *volumes, "muster-empty", "/usr/bin/true")
        if done.returncode != 0:
            pytest.skip(f"no Docker engine: it runs no container: {done.stderr.strip()}")
        self.docker("rmi", "muster-empty")

    def __exit__(self, *_) -> None:
        if self.process:
            # The kernel ends all other processes of a namespace before its first.
            for first in children_of(self.process.pid) or [self.process.pid]:
                os.kill(first, signal.SIGKILL)
            self.process.wait(END_SECONDS)
        if self.space:
            self.space.close()
        for root in [*CGROUPS.glob(f"*/{self.cgroup}"), *CGROUPS.glob(self.cgroup)]:
            for path, _, _ in os.walk(root, topdown=False):
                os.rmdir(path)
        for path in (self.home, self.data):
            shutil.rmtree(path, ignore_errors=True)

    def pids(self) -> list[int]:
        """All that it runs, containers' processes, too: orphans are children of its first."""
        found = children_of(self.process.pid)
        for pid in found:
            found += children_of(pid)
        return found

    @property
    def address(self) -> str:
        """For DOCKER_HOST."""
        return f"unix://{self.home}/docker.sock"

    def env(self) -> dict[str, str]:
        """For programs that run `docker`: Debian's, with logins of the test's own."""
        return {
            **os.environ,
            "PATH": f"/usr/bin:/usr/sbin:{os.environ['PATH']}",
            "DOCKER_HOST": self.address,
            "DOCKER_CONFIG": str(self.home / "logins"),
        }

    def ask(self, *words, **more) -> subprocess.CompletedProcess:
        return subprocess.run([DOCKER, *map(str, words)], env=self.env(), capture_output=True,
                              timeout=GUARD_SECONDS, check=False,
                              **{"text": True, **more})  # fmt: skip

    def docker(self, *words, **more) -> str:
        """What the client wrote; it has to succeed."""
        done = self.ask(*words, **more)
        assert done.returncode == 0, f"docker {words}: {done.stdout}{done.stderr}"
        return done.stdout
