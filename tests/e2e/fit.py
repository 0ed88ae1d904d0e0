"""`sm fit` on this machine, with a state folder of the test's own."""

import errno
import os
import pathlib
import shutil
import tempfile

from lab import SM, VENV
from process import Process, namespace_pids, wait_until

GUARD_SECONDS = 120.0


class Machine:
    """Where one test's jobs run: state, source and output folders, and the submitter's home."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        # Short: a host's control socket lies below it, and socket paths end at 107 bytes.
        self.state = pathlib.Path(tempfile.mkdtemp(prefix="mu-"))
        self.source = folder / "source"
        self.output = folder / "output"
        self.home = folder / "home"
        for path in (self.source, self.home):
            path.mkdir()
        self.within = None  # Namespaces of outside.py in which `sm` runs.
        self.processes: list[Process] = []

    def environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "MUSTER_STATE": str(self.state),
            "HOME": str(self.home),
            "PATH": f"{VENV}/bin:{os.environ['PATH']}",
        }

    def sm(self, *words, environment: dict[str, str] | None = None) -> Process:
        """Runs `sm`, with more variables in its environment."""
        variables = {**self.environment(), **(environment or {})}
        argv = self.within.enter([SM, *words]) if self.within else [SM, *words]
        process = Process(argv, env=variables, own_session=True)
        self.processes.append(process)
        return process

    def fit(self, script: str, *words, hosts: int = 1, per_host: int = 1, output=None) -> Process:
        """Starts `sm fit` with `script` as its program."""
        (self.source / "script.py").write_text(script)
        return self.sm(
            "fit",
            "script.py",
            "--source-dir",
            self.source,
            "--hosts",
            hosts,
            "--processes-per-host",
            per_host,
            *(() if "--python" in words else ("--python", VENV / "bin/python")),
            "--output",
            output or self.output,
            *words,
        )

    def clean(self) -> None:
        process = self.sm("clean")
        assert process.wait(GUARD_SECONDS) == 0, process.text

    def jobs(self) -> list[pathlib.Path]:
        """Folders of jobs that are still there."""
        return [path for path in (self.state / "jobs").glob("*") if path.is_dir()]

    def close(self) -> None:
        for process in self.processes:
            process.end()
        if self.state.exists():
            self.sm("clean").wait(GUARD_SECONDS)
            wait_until("the state to go", self._state_is_gone)

    def _state_is_gone(self) -> bool:
        """Stewards that a killed `sm fit` left may still put and take away files of their own."""
        try:
            shutil.rmtree(self.state)
        except OSError as why:
            if why.errno not in (errno.ENOENT, errno.ENOTEMPTY):
                raise
        return not self.state.exists()


def in_host(name: str, wanted) -> list[int]:
    """Processes of any container named `name` whose command line satisfies `wanted(words)`."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        pid = int(entry)
        try:
            own = len(namespace_pids(pid)) > 1
            hosts = pathlib.Path(f"/proc/{pid}/root/etc/hostname").read_text() if own else ""
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
        except OSError:
            continue
        if hosts.strip() == name and words and wanted([word.decode() for word in words]):
            found.append(pid)
    return found


def wait_for_jobs_to_go(machine: Machine) -> None:
    wait_until(f"{machine.state}/jobs to be empty", lambda: not machine.jobs(), GUARD_SECONDS)
