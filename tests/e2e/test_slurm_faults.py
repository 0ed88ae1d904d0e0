"""What breaks on a Slurm cluster under a job of `sm fit --engine slurm`, and what comes of it."""

import os
import re
import shutil
import signal

import pytest
from image import STANDINS
from process import children_of, wait_until
from slurm_cluster import Cluster
from slurm_faults import (
    AT_WORK,
    LASTS,
    WAITS,
    WAITS_ONCE,
    Configured,
    Down,
    Set,
    all_at_work,
    clean_place,
    ends_well,
    fit_that_waits_once,
    kill_9,
    nodes_taken,
    pids,
    remove_unclaimed,
    resume,
)
from slurm_jobs import wait_until_clean

pytestmark = pytest.mark.slurm
place = pytest.fixture(clean_place)


def test_a_steward_that_is_killed_is_named(place):
    job = place.fit(WAITS, hosts=2)
    all_at_work(job, 2)
    kill_9(place.cluster, "node2", "-f", "sm steward")
    assert job.wait(30) == 1, job.text
    assert "steward on algo-2: killed by SIGKILL" in job.text
    assert "Restarting" not in job.text


@pytest.mark.deep
def test_a_restart_of_slurmd_does_not_disturb_a_job(place):
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
    assert "lost one of the job's nodes" in job.text, job.text


@pytest.mark.deep
def test_a_job_on_a_node_that_is_drained_goes_on(place):
    job = place.fit(LASTS, hosts=2)
    all_at_work(job, 2)
    with Set(place.cluster, "node2", "drain"):
        ends_well(job, 2)
    assert "Restarting" not in job.text


@pytest.mark.deep
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


@pytest.mark.deep
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
    assert "cancelled in Slurm" in job.text and "could not be copied" not in job.text, job.text
    assert (place.output / "model" / "half").read_text() == "half"


@pytest.mark.deep
def test_a_time_limit_of_slurm_is_reported_as_such(place):
    job = place.fit(WAITS, hosts=2)
    all_at_work(job, 2)
    number = place.cluster.out("login", "squeue", "-h", "-o", "%i")
    place.cluster.out("login", "scontrol", "update", f"jobid={number}", "timelimit=1")
    assert job.wait(200) == 1, job.text
    why = r"^Failed: host algo-[12]: reached its time limit in Slurm"
    assert re.search(why, job.text, re.MULTILINE), job.text
    assert "Restarting" not in job.text, job.text


def test_a_job_that_is_preempted_starts_again_when_its_nodes_are_free(place):
    cluster = place.cluster
    job = place.fit(LASTS, hosts=2)
    all_at_work(job, 2)
    with nodes_taken(cluster):
        job.wait_for_output(b"Restarting", 60)
    ends_well(job, 2)
    assert "Interrupted" in job.text, job.text
    assert "preempted by Slurm for a higher-priority job" in job.text, job.text


SAVES = (
    """
import signal, sys
def stop(*_):
    time.sleep(8)
    print("saved", flush=True)
    sys.exit("stopped")
signal.signal(signal.SIGTERM, stop)
"""
    + WAITS_ONCE
)


LESS_TIME = (
    "when the job is stopped, processes have 6 s to exit instead of the 30 s of the job, because "
    "Slurm's KillWait is 10 s; 12 s if the job is preempted, because GraceTime is 6 s"
)


@pytest.mark.deep
@pytest.mark.parametrize("is_preemption", [True, False])
def test_ranks_have_the_partitions_grace_time_where_their_nodes_are_taken_away(
    place, is_preemption
):
    """KillWait leaves a host 6 of its 10 s; the partition's GraceTime is 6 s."""
    cluster = place.cluster
    with Configured(cluster, "KillWait", "10"):
        job = fit_that_waits_once(place, 2, SAVES)
        if is_preemption:
            with nodes_taken(cluster):
                job.wait_for_output(b"Restarting", 60)
            ends_well(job, 2)
            assert job.text.count("| saved") == 2, job.text
            assert LESS_TIME in job.text
        else:
            cluster.out("login", "scancel", cluster.out("login", "squeue", "-h", "-o", "%i"))
            job.wait(60)
            assert "Stopped" in job.text and "saved" not in job.text, job.text


# The first rank of a host ends soon, with a code for which launchers end all others.
SAVES_AS_RANK = """
import os, signal, time
local = os.environ.get("OMPI_COMM_WORLD_LOCAL_RANK") or os.environ["LOCAL_RANK"]
def stop(*_):
    time.sleep(0.1 if local == "0" else 8)
    print("saved", flush=True)
    os._exit(143)
signal.signal(signal.SIGTERM, stop)
"""


@pytest.mark.deep
@pytest.mark.parametrize("launcher", ["--mpi", "--torchrun"])
def test_every_rank_of_a_launcher_saves_before_its_nodes_are_taken_away(place, launcher):
    shutil.copytree(STANDINS / "torch", place.source / "torch")
    words = (launcher, "--processes-per-host", 2)
    with Configured(place.cluster, "KillWait", "10"):
        job = fit_that_waits_once(place, 2, SAVES_AS_RANK + WAITS_ONCE, words, ranks=2)
        with nodes_taken(place.cluster):
            job.wait_for_output(b"Restarting", 60)
        ends_well(job, 4)
    assert job.text.count("| saved") == 4, job.text


EATS = AT_WORK + """
if os.environ["SM_CURRENT_HOST"] == "algo-2":
    eaten = bytearray(os.urandom(1 << 20) * 1000)
time.sleep(600)
"""


def test_out_of_memory_is_reported_as_such(place):
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
    options = "size=45m,mode=755"
    place.cluster.out("login", "mount", "-t", "tmpfs", "-o", options, "tmpfs", place.state)
    yield place
    place.cluster.out("login", "umount", "-l", place.state)


def test_results_that_cannot_be_unpacked_fail_the_job_and_are_kept(small):
    job = small.fit(LEAVES)
    assert job.wait(90) == 3, job.text
    assert "results of algo-1 on node" in job.text and "No space left on device" in job.text
    assert "the results are kept in" in job.text, job.text
    find = ["find", small.state, "-name", "result.tar.partial", "-size", "+30000k"]
    kept = small.cluster.out("login", *find)
    where = re.search(r"the results are kept in ([^\s;]+)", job.text)[1]
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

    def __init__(self, cluster: Cluster, node: str, seconds: int = 0):
        self.cluster = cluster
        self.conf = cluster.folder / "etc" / "slurm.conf"
        self.before = self.conf.read_text()
        script = cluster.folder / "etc" / "prolog"
        fails = f'[ "$SLURMD_NODENAME" != {node} ] || {{ sleep {seconds}; false; }}'
        script.write_text(f"#!/bin/sh\n{fails}\n")
        script.chmod(0o755)

    def __enter__(self) -> None:
        self.conf.write_text(self.before + "Prolog=/etc/slurm/prolog\n")
        self.cluster.out("login", "scontrol", "reconfigure")

    def __exit__(self, *_) -> None:
        self.conf.write_text(self.before)
        self.cluster.out("login", "scontrol", "reconfigure")


@pytest.mark.parametrize("seconds", [0, pytest.param(2, marks=pytest.mark.deep)])
def test_a_node_whose_prolog_fails_is_left_out(place, seconds):
    """Slurm drains the node and cancels the job, although no user asked for it."""
    try:
        with Prolog(place.cluster, "node1", seconds):
            job = place.fit(LASTS, hosts=2)
            job.wait_for_output(b"Restarting", 60)
            ends_well(job, 2)
    finally:
        resume(place.cluster, "node1")
    assert "could not start the job" in job.text, job.text
    remove_unclaimed(place.cluster)


@pytest.mark.deep
def test_a_node_that_has_no_room_for_what_is_brought_is_left_out(place):
    cluster = place.cluster
    cluster.out("node2", "mount", "-o", "remount,size=8m", "/tmp")
    try:
        job = place.fit(LASTS, hosts=2, brings=True)
        job.wait_for_output(b"Restarting", 60)
        ends_well(job, 2)
        assert "could not be copied" in job.text and "node2" in job.text, job.text
    finally:
        cluster.out("node2", "mount", "-o", "remount,size=50%", "/tmp")


@pytest.mark.deep
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
