"""What tests break on a Slurm cluster, and jobs that are at work meanwhile."""

import contextlib
import re
import signal
import tarfile

from process import Process, wait_until
from slurm_cluster import Cluster
from slurm_jobs import Place, wait_until_clean

AT_WORK = """
import os, sys, time
print("at work on", os.environ["SM_CURRENT_HOST"], flush=True)
"""
WAITS = AT_WORK + "time.sleep(600)\n"
LASTS = AT_WORK + "time.sleep(8)\nprint('done', flush=True)\n"
WAITS_ONCE = AT_WORK + """
if not os.path.exists("/opt/ml/input/data/train/go"):
    time.sleep(600)
print("done", flush=True)
"""


def clean_place(cluster: Cluster, tmp_path):
    """The fixture `place` of a file that breaks things: no test leaves anything on a node."""
    place = Place(cluster, tmp_path)
    yield place
    place.end()
    wait_until_clean(cluster)


def fit_that_waits_once(
    place: Place, hosts: int, script: str = WAITS_ONCE, words: tuple = (), ranks: int = 1
) -> Process:
    """A job at work, with so many ranks on a host; attempts after this one end by themselves."""
    data = place.folder / "data"
    data.mkdir()
    job = place.fit(script, "--input", f"train={data}", *words, hosts=hosts)
    all_at_work(job, hosts, ranks)
    with tarfile.open(next(place.state.rglob("archive")), "a") as tar:
        tar.addfile(tarfile.TarInfo("channel-train/go"))
    return job


def pids(cluster: Cluster, host: str, *pattern: str) -> list[str]:
    return cluster.run(host, "pgrep", *pattern).stdout.split()


def kill_9(cluster: Cluster, host: str, *pattern: str) -> None:
    """Kills those of the host that pgrep finds."""
    found = pids(cluster, host, *pattern)
    assert found, f"no {pattern} on {host}"
    cluster.out(host, "kill", "-9", *found)


@contextlib.contextmanager
def nodes_taken(cluster: Cluster):
    """Slurm takes others' nodes for an urgent job, for as long as this is entered."""
    urgent = ["sbatch", "--parsable", "-p", "urgent", "-N3", "--exclusive", "--output=/dev/null"]
    job = cluster.out("login", *urgent, "--wrap", "sleep 600")
    try:
        yield
    finally:
        cluster.out("login", "scancel", job)


class Down:
    """Stops a daemon while this context is entered.

    A killed slurmctld can forget job ends that it has reported, and then keeps nodes for finished
    jobs. So most tests ask it to end instead.
    """

    PID_FILES = {
        "munged": "/run/munge/munged.pid",
        "slurmctld": "/run/slurmctld.pid",
        "slurmd": "/run/slurmd.pid",
    }

    def __init__(self, cluster: Cluster, host: str, name: str, number: int = signal.SIGTERM):
        self.cluster = cluster
        self.host = host
        self.name = name
        self.number = number

    def __enter__(self) -> None:
        pid = self.cluster.out(self.host, "cat", self.PID_FILES[self.name])
        words = self.cluster.out(self.host, "cat", f"/proc/{pid}/cmdline")
        assert self.name in words
        self.argv = words.rstrip("\0").split("\0")
        self.cluster.out(self.host, "kill", f"-{int(self.number)}", pid)
        proc = f"/proc/{pid}"
        gone = ["sh", "-c", f"! grep -q '^State:.[^ZX]' {proc}/status"]
        wait_until(
            f"{self.name} to end",
            lambda: self.cluster.run(self.host, *gone).returncode == 0,
        )

    def __exit__(self, *_) -> None:
        self.cluster.out(self.host, *self.argv)


class Configured:
    """Slurm's configuration with another value of what is in it."""

    def __init__(self, cluster: Cluster, name: str, value: str):
        self.cluster = cluster
        self.conf = cluster.folder / "etc" / "slurm.conf"
        self.before = self.conf.read_text()
        self.text = re.sub(rf"^{name}=.*$", f"{name}={value}", self.before, flags=re.MULTILINE)
        assert self.text != self.before

    def __enter__(self) -> None:
        self._set(self.text)

    def __exit__(self, *_) -> None:
        self._set(self.before)

    def _set(self, text: str) -> None:
        self.conf.write_text(text)
        self.cluster.out("login", "scontrol", "reconfigure")


class Set:
    """A node in a state that an operator gave it."""

    def __init__(self, cluster: Cluster, node: str, state: str):
        self.cluster = cluster
        self.node = node
        words = ["scontrol", "update", f"nodename={node}", f"state={state}", "reason=test"]
        self.cluster.out("login", *words)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_) -> None:
        resume(self.cluster, self.node)


def resume(cluster: Cluster, node: str) -> None:
    """Waits until all nodes take jobs again."""
    # A node that is down comes back by itself when its slurmd says a word.
    cluster.run("login", "scontrol", "update", f"nodename={node}", "state=resume")

    def all_idle() -> bool:
        states = cluster.out("login", "sinfo", "-h", "-N", "-p", "main", "-o", "%T")
        return set(states.split()) == {"idle"}

    wait_until("all nodes to be idle", all_idle, 30)


def start_anew(cluster: Cluster, node: str) -> None:
    """Slurm asks a node that is down seldom; one whose slurmd starts says so itself."""
    with Down(cluster, node, "slurmd"):
        pass
    resume(cluster, node)


def remove_unclaimed(cluster: Cluster) -> None:
    """What was brought for a job that never began: later jobs do that, once it is an hour old."""
    unclaimed = "rm -rf /tmp/muster-*"
    for node in ("node1", "node2", "node3"):
        cluster.out(node, "sh", "-c", unclaimed)


def all_at_work(job: Process, hosts: int, times: int = 1) -> None:
    def there() -> bool:
        assert job.running(), job.text
        return job.text.count("at work on") >= hosts * times

    wait_until("all hosts to be at work", there, 60)


def ends_well(job: Process, hosts: int) -> None:
    assert job.wait(90) == 0, job.text
    assert job.text.count("| done") == hosts and "Completed" in job.text, job.text
