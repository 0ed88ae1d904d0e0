"""`sm` as an ordinary user, who is there by his number alone."""

import os
import pathlib
import shutil
import tempfile

from fit import Machine
from lab import SM
from process import Process

USER = 64321
FIRST_ID, IDS = 700000, 5000

# In place of mpi4py, which Debian's Python lacks: mpirun starts it, and it calls nothing of MPI.
MPI4PY = """
import runpy, sys
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""

# As root, in mounts of the test's own; what follows the first word is the user's command.
SUBORDINATE_IDS = """
for file in subuid subgid passwd; do mount --bind "$OWN/$file" /etc/$file; done
"""
TUN = """
mknod -m 666 "$OWN/tun" c 10 200
mount --bind "$OWN/tun" /dev/net/tun
"""


class User(Machine):
    """The user's machine: his home, with all that a job needs below it."""

    def __init__(self, *setups: str):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="mr-"))
        self.root_only = pathlib.Path(tempfile.mkdtemp(prefix="mr-"))
        self.folder = self.home
        self.state = self.home / ".local/state/muster"
        self.source, self.output = self.home / "source", self.home / "output"
        (self.source / "mpi4py").mkdir(parents=True)
        (self.source / "mpi4py/__main__.py").write_text(MPI4PY)
        for name in ("subuid", "subgid"):
            (self.root_only / name).write_text(f"ann:{FIRST_ID}:{IDS}\n")
        accounts = pathlib.Path("/etc/passwd").read_text()
        (self.root_only / "passwd").write_text(f"{accounts}ann:x:{USER}:{USER}::/:/bin/sh\n")
        self.setups = setups
        self.mounts = None  # The process that holds the mounts which `setups` make.
        self.within = None
        self.processes = []
        self.own(self.home)

    def own(self, path: pathlib.Path) -> pathlib.Path:
        for each in (path, *path.rglob("*")):
            os.lchown(each, USER, USER)
        return path

    def own_folder(self, name: str) -> pathlib.Path:
        path = self.home / name
        path.mkdir()
        return self.own(path)

    def enter(self, argv) -> list[str]:
        """The command, run by the user."""
        return self.command(*argv)

    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": "/usr/local/bin:/usr/bin:/bin"}

    def command(self, *words) -> list[str]:
        argv = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--", *words]
        if self.setups:
            argv = ["nsenter", "-t", self._holder(), "--mount", *argv]
        argv = [str(word) for word in argv]
        return self.within.enter(argv) if self.within else argv

    def _holder(self) -> int:
        """The pid of a process in mounts of the user's own."""
        if self.mounts is None:
            script = "set -e\n" + "\n".join(self.setups) + "\necho ready\nexec sleep infinity"
            argv = ["unshare", "--mount", "env", f"OWN={self.root_only}", "sh", "-c", script]
            argv = self.within.enter(argv) if self.within else argv
            self.mounts = Process(argv)
            self.mounts.wait_for_output(b"ready")
            self.processes.append(self.mounts)
        return self.mounts.pid

    def sm(self, *words, environment: dict[str, str] | None = None) -> Process:
        if words[:1] == ("fit",) and "--network" not in words and not self.within:
            words = ("fit", "--network", "none", *words[1:])
        variables = {**self.environment(), **(environment or {})}
        process = Process(self.command(SM, *words), env=variables, cwd=self.home,
                          own_session=True)  # fmt: skip
        self.processes.append(process)
        return process

    def fit(self, script: str, *words, **options) -> Process:
        """Under Debian's Python: a user may not reach the tests' own."""
        return super().fit(script, *words, "--python", "/usr/bin/python3", **options)

    def close(self) -> None:
        for process in self.processes:
            process.end()
        shutil.rmtree(self.home)
        shutil.rmtree(self.root_only)
