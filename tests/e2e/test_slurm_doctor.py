"""`sm doctor --engine slurm`: what is in the way of jobs on a real cluster, what bears on them."""

import json
import subprocess

import pytest
from lab import SM
from slurm_cluster import Cluster

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", 2) as cluster:
        yield cluster


def doctor(cluster, *words, host="login") -> tuple[int, dict]:
    done = cluster.run(host, SM, "doctor", "--engine", "slurm", "--json", *words)
    found = json.loads(done.stdout)
    return done.returncode, {check["what"]: check for check in found["checks"]}


def test_the_doctor_says_what_bears_on_jobs(cluster):
    code, found = doctor(cluster, "--probe")
    assert code == 0
    assert found["version"]["found"].count(".") == 2
    assert found["nodes"]["found"] == "2 of 2 can run jobs"
    assert found["address"]["found"] == "10.88.0.1"
    assert (found["kill wait"]["good"], found["kill wait"]["found"]) == (False, "5 sec")
    assert "main up" in found["partitions"]["found"], found["partitions"]
    assert found["select"]["good"] and found["accounting"]["good"]
    assert found["preemption"]["found"] == "REQUEUE"
    for what in ("clocks", "room", "namespaces", "python3"):
        assert found[what]["good"] and found[what]["found"] == "on all 2 nodes", found[what]


def test_the_doctor_names_what_is_in_the_way(cluster):
    code, found = doctor(cluster, "--slurm", "partition=none")
    assert code == 3 and "Invalid partition" in found["submission"]["found"]
    subprocess.run(
        cluster.argv("node2", "fallocate", "-l", "1G", "/tmp/large"), check=True, timeout=60
    )
    cluster.out("login", "scontrol", "update", "nodename=node1", "state=drain", "reason=test")
    try:
        free = int(cluster.out("node2", "df", "--output=avail", "-k", "/tmp").split()[-1])
        code, found = doctor(cluster, "--probe")
        assert code == 0 and found["nodes"]["found"] == "1 of 2 can run jobs"
        assert found["room"]["good"] == (free >= 1 << 20)
        assert found["python3"]["found"] == "on 1 node"
    finally:
        cluster.out("login", "scontrol", "update", "nodename=node1", "state=resume")
        cluster.out("node2", "rm", "/tmp/large")


def test_a_machine_without_slurm_is_reported(tmp_path):
    done = subprocess.run(
        [SM, "doctor", "--engine", "slurm"], env={"PATH": str(tmp_path)}, capture_output=True,
        text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 3 and "scontrol not found" in done.stdout
    for words in (("--probe",), ("--engine", "k8s"), ("--slurm", "partition=x")):
        done = subprocess.run([SM, "doctor", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2, done
