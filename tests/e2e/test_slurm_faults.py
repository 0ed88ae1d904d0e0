"""What breaks on a Slurm cluster under a job of `sm fit --engine slurm`, and what comes of it."""

import os
import re
import signal

import pytest
from process import Process, children_of, wait_until
from slurm_cluster import Cluster
from slurm_jobs import Place, wait_until_clean

pytestmark = pytest.mark.slurm

AT_WORK = """
import os, sys, time
print("at work on", os.environ["SM_CURRENT_HOST"], flush=True)
"""
WAITS = AT_WORK + "time.sleep(600)\n"
LASTS = AT_WORK + "time.sleep(8)\nprint('done', flush=True)\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", 3) as cluster:
        yield cluster


@pytest.fixture
def place(cluster, tmp_path):
    place = Place(cluster, tmp_path)
    yield place
    place.end()
    wait_until_clean(cluster)


def pids(cluster: Cluster, host: str, *pattern: str) -> list[str]:
    return cluster.run(host, "pgrep", *pattern).stdout.split()


def kill_9(cluster: Cluster, host: str, *pattern: str) -> None:
    """Kills those of the host that pgrep finds."""
    found = pids(cluster, host, *pattern)
    assert found, f"no {pattern} on {host}"
    cluster.out(host, "kill", "-9", *found)


class Down:
    """A daemon that is not there for as long as this is entered.

    A slurmctld that is killed may have forgotten ends that it had told, and keeps nodes for jobs
    that are over, so mostly it is asked to end.
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


def all_at_work(job: Process, hosts: int, times: int = 1) -> None:
    def there() -> bool:
        assert job.running(), job.text
        return job.text.count("at work on") >= hosts * times

    wait_until("all hosts to be at work", there, 60)


def ends_well(job: Process, hosts: int) -> None:
    assert job.wait(90) == 0, job.text
    assert job.text.count("| done") == hosts and "Completed" in job.text, job.text


def test_a_steward_that_is_killed_is_named(place):
    job = place.fit(WAITS, hosts=2)
    all_at_work(job, 2)
    kill_9(place.cluster, "node2", "-f", "sm steward")
    assert job.wait(30) == 1, job.text
    assert "steward on algo-2: killed by SIGKILL" in job.text
    assert "Restarting" not in job.text


def test_a_slurmd_that_is_killed_and_started_again_is_no_matter(place):
    job = place.fit(LASTS, hosts=2)
    all_at_work(job, 2)
    with Down(place.cluster, "node2", "slurmd", signal.SIGKILL):
        pass
    ends_well(job, 2)
    assert "Restarting" not in job.text


@pytest.mark.deep
def test_a_slurmstepd_that_is_killed_takes_its_host_with_it_and_the_job_starts_again(place):
    job = place.fit(LASTS, hosts=2)
    all_at_work(job, 2)
    kill_9(place.cluster, "node2", "-f", r"slurmstepd: \[[0-9]+\.0\]")
    job.wait_for_output(b"Restarting", 40)
    ends_well(job, 2)
    assert "algo-2: lost" in job.text


@pytest.mark.deep
def test_a_node_that_an_operator_sets_down_is_left_out(place):
    job = place.fit(LASTS, hosts=2)
    all_at_work(job, 2)
    with Set(place.cluster, "node2", "down"):
        job.wait_for_output(b"Restarting", 40)
        ends_well(job, 2)
    assert "lost one of its nodes" in job.text, job.text


def test_a_job_on_a_node_that_is_drained_goes_on(place):
    job = place.fit(LASTS, hosts=2)
    all_at_work(job, 2)
    with Set(place.cluster, "node2", "drain"):
        ends_well(job, 2)
    assert "Restarting" not in job.text


def test_munge_may_be_down_where_the_job_was_submitted(place):
    job = place.fit(LASTS, hosts=2)
    all_at_work(job, 2)
    with Down(place.cluster, "login", "munged"):
        job.wait_for_time(job.time_of(b"at work") + 6)
    ends_well(job, 2)
    assert "Restarting" not in job.text


@pytest.mark.deep
def test_slurmctld_is_killed_right_after_sbatch(place):
    with Down(place.cluster, "login", "slurmctld"):  # So it writes down what is free.
        pass
    job = place.fit(LASTS, hosts=2)
    wait_until("it to be in the queue", lambda: "muster-" in place.queue(), 30)
    with Down(place.cluster, "login", "slurmctld", signal.SIGKILL):
        pass
    ends_well(job, 2)


def test_slurmctld_is_down_while_a_job_runs(place):
    job = place.fit(LASTS, hosts=2)
    all_at_work(job, 2)
    with Down(place.cluster, "login", "slurmctld"):
        wait_until("the job to be done", lambda: job.text.count("| done") == 2, 30)
    ends_well(job, 2)
    assert "Restarting" not in job.text


def test_slurmctld_is_down_while_a_job_is_submitted(place):
    with Down(place.cluster, "login", "slurmctld"):
        job = place.fit(LASTS, hosts=2)
        wait_until("sbatch to be tried", lambda: pids(place.cluster, "login", "-x", "sbatch"), 20)
    ends_well(job, 2)


def test_scancel_with_full_is_a_stop_too(place):
    job = place.fit(WAITS, hosts=2)
    all_at_work(job, 2)
    number = place.cluster.out("login", "squeue", "-h", "-o", "%i")
    place.cluster.out("login", "scancel", "--full", number)
    job.wait(60)
    assert "cancelled in Slurm" in job.text and "Stopped" in job.text, job.text
    assert "Restarting" not in job.text


DEAF = """
import os, signal, time
def stop(*_):
    with open(os.environ["SM_MODEL_DIR"] + "/half", "w") as file:
        file.write("half")
signal.signal(signal.SIGTERM, stop)
""" + AT_WORK + """
while True:
    time.sleep(1)
"""


def test_a_host_that_does_not_end_is_ended_within_what_slurm_grants_and_gives_its_results(place):
    job = place.fit(DEAF, hosts=1)
    all_at_work(job, 1)
    number = place.cluster.out("login", "squeue", "-h", "-o", "%i")
    place.cluster.out("login", "scancel", number)
    job.wait(60)
    assert "cancelled in Slurm" in job.text and "could not be brought" not in job.text, job.text
    assert (place.output / "model" / "half").read_text() == "half"


@pytest.mark.deep
def test_a_time_limit_of_slurm_s_own_is_told_as_that(place):
    job = place.fit(WAITS, hosts=2)
    all_at_work(job, 2)
    number = place.cluster.out("login", "squeue", "-h", "-o", "%i")
    place.cluster.out("login", "scontrol", "update", f"jobid={number}", "timelimit=1")
    assert job.wait(200) == 1, job.text
    why = r"^Failed: host algo-[12]: Slurm ended it at its time limit"
    assert re.search(why, job.text, re.MULTILINE), job.text
    assert "Restarting" not in job.text, job.text


def test_a_job_that_is_preempted_starts_again_when_its_nodes_are_free(place):
    cluster = place.cluster
    job = place.fit(LASTS, hosts=2)
    all_at_work(job, 2)
    urgent = ["sbatch", "--parsable", "-p", "urgent", "-N3", "--exclusive", "--output=/dev/null"]
    other = cluster.out("login", *urgent, "--wrap", "sleep 600")
    try:
        job.wait_for_output(b"Restarting", 60)
    finally:
        cluster.out("login", "scancel", other)
    ends_well(job, 2)
    assert "Interrupted" in job.text and "took its nodes away" in job.text, job.text


EATS = AT_WORK + """
if os.environ["SM_CURRENT_HOST"] == "algo-2":
    eaten = bytearray(os.urandom(1 << 20) * 1000)
time.sleep(600)
"""


def test_out_of_memory_is_told_as_that(place):
    job = place.fit(EATS, "--memory", "300m", hosts=2)
    assert job.wait(90) == 1, job.text
    assert "out of memory" in job.text, job.text
    assert "Restarting" not in job.text


FILLS = AT_WORK + """
if os.environ["SM_CURRENT_HOST"] == "algo-2":
    open(os.environ["SM_MODEL_DIR"] + "/weights", "wb").write(bytes(50 << 20))
"""


def test_a_full_disk_on_one_node_is_named(place):
    cluster = place.cluster
    cluster.out("node2", "mount", "-o", "remount,size=20m", "/tmp")
    try:
        job = place.fit(FILLS, hosts=2)
        assert job.wait(90) == 1, job.text
        assert "No space left" in job.text and "algo-2" in job.text, job.text
        assert "Restarting" not in job.text
    finally:
        cluster.out("node2", "mount", "-o", "remount,size=50%", "/tmp")


@pytest.mark.deep
def test_hosts_end_with_a_submitter_that_was_killed(place):
    job = place.fit(WAITS, hosts=2)
    all_at_work(job, 2)
    os.kill(children_of(job.pid)[0], signal.SIGKILL)
    job.wait(10)
    wait_until_clean(place.cluster, 80)
    wait_until("Slurm to be free of it", lambda: place.queue() == "", 20)


LEAVES = AT_WORK + """
open(os.environ["SM_MODEL_DIR"] + "/weights", "wb").write(os.urandom(1 << 20) * 30)
"""


@pytest.fixture
def small(place):
    """The state folder of the submit host on a file system of 45 MB."""
    place.state.mkdir()
    place.cluster.out("login", "mount", "-t", "tmpfs", "-o", "size=45m", "tmpfs", place.state)
    yield place
    place.cluster.out("login", "umount", "-l", place.state)


def test_results_that_cannot_be_unpacked_fail_the_job_and_are_kept(small):
    job = small.fit(LEAVES)
    assert job.wait(90) == 3, job.text
    assert "what algo-1 left on node" in job.text and "No space left on device" in job.text
    assert "they are kept in" in job.text, job.text
    find = ["find", small.state, "-name", "result.tar.partial", "-size", "+30000k"]
    kept = small.cluster.out("login", *find)
    where = re.search(r"they are kept in ([^\s;]+)", job.text)[1]
    assert kept.startswith(where), kept


def test_results_wait_on_their_node_for_room_where_the_job_was_submitted(small):
    small.cluster.out("login", "mount", "-o", "remount,size=20m", small.state)
    job = small.fit(LEAVES)
    find = ["find", small.state, "-name", "result.tar.partial", "-size", "+10M"]
    wait_until("a part to be there", lambda: small.cluster.out("login", *find), 60)
    job.wait_for_time(job.time_of(b"Uploading") + 3)
    small.cluster.out("login", "mount", "-o", "remount,size=200m", small.state)
    assert job.wait(60) == 0, job.text
    assert (small.output / "model" / "weights").stat().st_size == 30 << 20


class Prolog:
    """Slurm runs a prolog that fails on the node."""

    def __init__(self, cluster: Cluster, node: str):
        self.cluster = cluster
        self.conf = cluster.folder / "etc" / "slurm.conf"
        self.before = self.conf.read_text()
        script = cluster.folder / "etc" / "prolog"
        script.write_text(f'#!/bin/sh\n[ "$SLURMD_NODENAME" != {node} ]\n')
        script.chmod(0o755)

    def __enter__(self) -> None:
        self.conf.write_text(self.before + "Prolog=/etc/slurm/prolog\n")
        self.cluster.out("login", "scontrol", "reconfigure")

    def __exit__(self, *_) -> None:
        self.conf.write_text(self.before)
        self.cluster.out("login", "scontrol", "reconfigure")


def test_a_node_whose_prolog_fails_is_left_out(place):
    """Slurm drains the node and cancels the job, which nobody wanted stopped."""
    try:
        with Prolog(place.cluster, "node1"):
            job = place.fit(LASTS, hosts=2)
            job.wait_for_output(b"Restarting", 60)
            ends_well(job, 2)
    finally:
        resume(place.cluster, "node1")
    assert "could not start the job" in job.text, job.text


def test_a_node_that_has_no_room_for_what_is_brought_is_left_out(place):
    cluster = place.cluster
    cluster.out("node2", "mount", "-o", "remount,size=8m", "/tmp")
    try:
        job = place.fit(LASTS, hosts=2, brings=True)
        job.wait_for_output(b"Restarting", 60)
        ends_well(job, 2)
        assert "could not be brought" in job.text and "node2" in job.text, job.text
    finally:
        cluster.out("node2", "mount", "-o", "remount,size=50%", "/tmp")


def test_a_job_whose_node_has_a_slow_network_goes_on(place):
    cluster = place.cluster
    shape = ["tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", "1mbit"]
    cluster.out("node2", *shape, "burst", "32kbit", "latency", "400ms")
    try:
        job = place.fit(LASTS, hosts=2)
        ends_well(job, 2)
        assert "Restarting" not in job.text, job.text
    finally:
        cluster.out("node2", "tc", "qdisc", "del", "dev", "eth0", "root")
