"""Jobs of `sm fit --engine slurm` on a cluster of slurm_cluster's."""

import os
import pathlib
import signal

from lab import SM, VENV
from process import Process, children_of, wait_until
from slurm_cluster import Cluster


def left_on(cluster: Cluster, node: str) -> str:
    """Processes and files of jobs that are there; "" if none."""
    processes = cluster.run(node, "pgrep", "-fa", r"sm(-[0-9a-f]+)? (node|steward|init)").stdout
    words = ["find", "/tmp", "-maxdepth", "2", "-path", "/tmp/*muster*", "-ls"]
    return processes + cluster.run(node, *words).stdout.strip()


def wait_until_clean(
    cluster: Cluster, seconds: float = 20, nodes: tuple[str, ...] = ("node1", "node2", "node3")
) -> None:
    for node in nodes:
        left = []

        def clean(node=node, left=left) -> bool:
            left[:] = [left_on(cluster, node)]
            return left == [""]

        try:
            wait_until(f"{node} to be clean", clean, seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; there is {left[0]}") from None


def interrupt(job: Process) -> None:
    """Ctrl-C for `sm`, which is the child of what entered the login node."""
    os.kill(children_of(job.pid)[0], signal.SIGINT)


class Place:
    """Jobs of one test, submitted on the login node."""

    def __init__(self, cluster: Cluster, folder: pathlib.Path):
        self.cluster = cluster
        self.folder = folder
        self.output = folder / "output"
        self.state = folder / "state"
        self.source = folder / "source"
        self.source.mkdir()
        self.jobs: list[Process] = []
        self.path = f"{VENV}/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        self.as_user: tuple[str, ...] = ()  # In front of `sm`; none: root.

    def fit(self, script: str, *words, hosts: int = 1, brings: bool = False) -> Process:
        """Starts `sm fit`; `brings`: the nodes have no `sm` of their own."""
        (self.source / "script.py").write_text(script)
        named = ("script.py", "--source-dir", self.source)
        return self.start(*named, *words, hosts=hosts, brings=brings)

    def fit_image(self, *words, hosts: int = 1) -> Process:
        """Starts `sm fit` of an image's own program."""
        return self.start(*words, hosts=hosts)

    def start(self, *words, hosts: int = 1, brings: bool = False) -> Process:
        """Starts `sm fit` with these words."""
        argv = self.cluster.argv(
            "login",
            "env",
            f"MUSTER_STATE={self.state}",
            f"PATH={self.path}",
            *self.as_user,
            SM,
            "fit",
            *words,
            "--engine",
            "slurm",
            *([] if brings else ["--slurm", f"sm={SM}"]),
            "--hosts",
            hosts,
            "--output",
            self.output,
        )
        self.jobs.append(Process(argv, own_session=True))
        return self.jobs[-1]

    def sm(self, *words) -> Process:
        """Another command on the machine that jobs are submitted from."""
        argv = self.cluster.argv("login", "env", f"MUSTER_STATE={self.state}", SM, *words)
        return Process(argv, own_session=True)

    def end(self) -> None:
        """Ends jobs that a test left, so that they do not disturb the next test."""
        for job in self.jobs:
            job.end()
        names = [line.split()[1] for line in self.queue().splitlines()]
        for name in names:
            self.cluster.run("login", "scancel", "--name", name)
        wait_until("the queue to be empty", lambda: self.queue() == "", 30)

    def succeeds(self, script: str, *words, hosts: int = 1, brings: bool = False) -> str:
        job = self.fit(script, *words, hosts=hosts, brings=brings)
        try:
            code = job.wait(90)
        except AssertionError as error:
            nodes = self.cluster.out("login", "sinfo", "-Nel")
            jobs = self.cluster.out("login", "scontrol", "show", "jobs")
            raise AssertionError(f"{error}\n{nodes}\n{jobs}") from None
        assert code == 0, job.text
        return job.text

    def queue(self) -> str:
        return self.cluster.out("login", "squeue", "-h", "-o", "%T %j")
