"""A Slurm cluster for tests, made by tools/slurm-cluster: it goes with the test that made it."""

import pathlib
import shutil
import signal
import subprocess

import pytest
from lab import REPOSITORY
from process import Process, in_network_of

TOOL = REPOSITORY / "tools" / "slurm-cluster"


class Cluster:
    """N nodes that are up. Everything of it lies in `folder` or in namespaces."""

    def __init__(self, folder: pathlib.Path, nodes: int):
        missing = [name for name in ("slurmctld", "munged") if shutil.which(name) is None]
        if missing:
            pytest.skip(f"{missing[0]} is missing: `tools/install-packages slurm` installs it")
        self.folder = folder
        argv = [TOOL, "up", nodes, "--foreground", "--folder", folder]
        self._keeper = Process(argv)
        self._keeper.wait_for_output(b"ready", 90)

    @property
    def keeper(self) -> Process:
        return self._keeper

    def argv(self, host: str, *command) -> list[str]:
        words = [TOOL, "exec", "--folder", self.folder, host, "--", *command]
        return [str(word) for word in words]

    def run(self, host: str, *command, seconds: float = 60) -> subprocess.CompletedProcess:
        return subprocess.run(
            self.argv(host, *command),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    def out(self, host: str, *command) -> str:
        """What the command writes, without its last newline; it must succeed."""
        done = self.run(host, *command)
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout.rstrip("\n")

    def view(self) -> str:
        """What Slurm says of its jobs and nodes, the last lines of its logs, nodes' processes."""
        commands = [
            ("login", "squeue", "--all", "--states=all", "-o", "%i %T %r %N start %S %V %j"),
            ("login", "sinfo", "-N", "-o", "%N %P %T %E"),
            ("login", "tail", "-n", "40", "/run/cluster/log/slurmctld.log"),
        ]
        for node in ("node1", "node2"):
            commands.append((node, "ps", "-e", "-ww", "-o", "pid,ppid,stat,wchan:20,etimes,args"))
            commands.append((node, "tail", "-n", "20", f"/run/cluster/log/slurmd-{node}.log"))
        shown = []
        for command in commands:
            try:
                done = self.run(*command, seconds=10)
                shown.append(done.stdout + done.stderr)
            except subprocess.TimeoutExpired as why:
                shown.append(f"{why}\n")
        return "\n".join(shown)

    def visited(self, host: str):
        """The calling thread's sockets are of the host's network meanwhile."""
        return in_network_of(int((self.folder / "pid" / host).read_text()))

    def end(self) -> None:
        self._keeper.signal(signal.SIGTERM)
        assert self._keeper.wait(60) == 0, self._keeper.text

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_) -> None:
        if self._keeper.running():
            self.end()
