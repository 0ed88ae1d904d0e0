"""`sm queue` and `sm nodes`: what a real Slurm says, in plain words."""

import datetime
import json
import subprocess

import pytest
from lab import SM
from process import wait_until
from slurm_cluster import Cluster

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", 2) as cluster:
        yield cluster


def submit(cluster, *options) -> str:
    script = "#!/bin/sh\nexec sleep 600\n"
    argv = ["sbatch", "--parsable", "--output=/dev/null", "--chdir=/tmp", *options]
    done = subprocess.run(
        cluster.argv("login", *argv), input=script, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def row(text: str, job: str) -> str:
    found = [line for line in text.splitlines() if line.split()[0] == job]
    assert len(found) == 1, text
    return found[0]


def queue(cluster, *options) -> str:
    return cluster.out("login", SM, "queue", *options)


def test_the_queue_says_what_runs_where_and_why_what_waits_waits(cluster):
    assert queue(cluster) == "no jobs"
    name = "muster-demo-0123456789abcdef"
    running = submit(cluster, "-N2", "--exclusive", "--time=60", f"--job-name={name}")
    wait_until("the job to run", lambda: "Running" in queue(cluster), 30)
    waiting = submit(cluster, "-N1", "--job-name=x\x1b[2J|y")
    held = submit(cluster, "-N1", "--hold")
    try:
        wait_until("a reason", lambda: "(Resources)" in queue(cluster), 30)
        text = queue(cluster)
        assert row(text, running).split()[1:6] == ["demo", "root", "main", "Running", "2"]
        assert "node[1-2]" in row(text, running)
        assert "Pending" in row(text, waiting) and r"x\x1b[2J|y" in row(text, waiting)
        assert "nodes are not free yet (Resources)" in row(text, waiting)
        assert "held; run `scontrol release` to continue (JobHeldUser)" in row(text, held)
        zoned = cluster.out("login", "env", "TZ=CET-1", SM, "queue")
        utc = cluster.out("login", "env", "TZ=CET-1", SM, "queue", "--utc")
        ends = [
            datetime.datetime.fromisoformat(row(each, running).split(", until ")[1].strip())
            for each in (zoned, utc)
        ]
        assert ends[0] == ends[1], (zoned, utc)
        assert [each.utcoffset().total_seconds() for each in ends] == [3600, 0]
        # A user's own settings of squeue are for squeue.
        same = cluster.out("login", "env", "SQUEUE_STATES=SUSPENDED", "SQUEUE_SORT=i", SM, "queue")
        assert row(same, running) == row(text, running)
        jobs = json.loads(queue(cluster, "--json"))["Jobs"]
        assert {job["SlurmId"]: job["State"] for job in jobs} == {
            running: "RUNNING",
            waiting: "PENDING",
            held: "PENDING",
        }
        assert queue(cluster, "--user", "nobody") == "no jobs"
    finally:
        cluster.out("login", "scancel", running, waiting, held)
    wait_until("the queue to be empty", lambda: queue(cluster) == "no jobs", 60)
    assert "cancelled in Slurm" in row(queue(cluster, "--over"), running)


def test_the_ids_of_earlier_attempts_are_below_the_queue(cluster):
    first, second = (
        submit(cluster, "--hold", f"--job-name=muster-again-{nonce}123456789abcdef")
        for nonce in (0, 1)
    )
    cluster.out("login", "scancel", first)
    try:
        wait_until("the first to be over", lambda: f" {first}\n" in queue(cluster) + "\n", 30)
        text = queue(cluster)
        assert f"again: squeue -j {second}, scancel {second}; earlier attempts: {first}" in text
        assert [line.split()[0] for line in text.splitlines()] == ["ID", second, "again:"]
    finally:
        cluster.out("login", "scancel", second)
    wait_until("the queue to be empty", lambda: queue(cluster) == "no jobs", 60)


def test_nodes_are_listed_with_the_result_of_their_last_preflight(cluster, tmp_path):
    (tmp_path / "health").mkdir()
    found = [{"text": "MTU: 1400 on node1, 1500 on the others"}]
    record = {"time": "2026-11-23T02:10:00.000Z", "findings": found}
    (tmp_path / "health" / "node1.json").write_text(json.dumps(record))
    (tmp_path / "health" / "node2.json").write_text(json.dumps({**record, "findings": []}))
    nodes = ["env", "TZ=CET-1", f"MUSTER_STATE={tmp_path}", SM, "nodes"]
    text = cluster.out("login", *nodes)
    assert text.splitlines()[0].endswith("PREFLIGHT"), text
    assert row(text, "node1").endswith(
        "1 finding, 2026-11-23 03:10 +01:00: MTU: 1400 on node1, 1500 on the others"
    )
    assert row(text, "node2").endswith("ok, 2026-11-23 03:10 +01:00")
    utc = cluster.out("login", *nodes, "--utc")
    assert row(utc, "node2").endswith("ok, 2026-11-23 02:10 +00:00")
    told = json.loads(cluster.out("login", *nodes, "--json"))["Nodes"]
    assert told[1]["Preflight"] == "ok, 2026-11-23 02:10"


def test_nodes_are_listed_with_the_reason_why_one_was_drained(cluster):
    assert row(cluster.out("login", SM, "nodes"), "node1").split() == (
        ["node1", "main,urgent", "2", "4000", "MiB", "gpu:2", "free"]
    )
    drain = ["nodename=node2", "state=drain", "reason=disk | full"]
    cluster.out("login", "scontrol", "update", *drain)
    text = cluster.out("login", SM, "nodes")
    cluster.out("login", "scontrol", "update", "nodename=node2", "state=resume")
    assert row(text, "node2").endswith("drained: does not accept jobs (disk | full)")
    assert json.loads(cluster.out("login", SM, "nodes", "--json"))["Nodes"][0]["Cpus"] == 2


def test_a_user_that_slurm_does_not_know_is_its_own_answer(cluster):
    done = cluster.run("login", SM, "queue", "--user", "no-such-user")
    assert done.returncode == 3
    assert done.stderr.startswith("sm queue: Slurm's squeue failed: Invalid user: no-such-user")


def test_without_slurm_both_say_so():
    for command in ("queue", "nodes"):
        done = subprocess.run(
            [SM, command], env={"PATH": "/nowhere"}, capture_output=True, text=True
        )
        assert done.returncode == 3
        advice = "run this on a node of a cluster, where Slurm's commands are installed"
        assert f"{advice} (sm explain slurm)" in done.stderr
    done = subprocess.run([SM, "queue", "--user", "-x"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "--user: expected a user name" in done.stderr


@pytest.mark.deep
def test_a_controller_that_is_down_is_reported_and_no_job_counts_as_gone(cluster):
    """The last one: it kills slurmctld."""
    cluster.out("login", "sh", "-c", "kill -9 $(cat /run/slurmctld.pid)")
    done = cluster.run("login", SM, "queue")
    assert done.returncode == 3
    assert done.stdout == ""
    assert "Slurm's squeue failed: " in done.stderr and "(sm explain slurm)" in done.stderr
