"""tools/slurm-cluster: a real Slurm on one machine, of which nothing stays."""

import os
import pathlib
import signal
import subprocess

import pytest
from conftest import leftovers
from process import wait_until
from slurm_cluster import TOOL, Cluster

pytestmark = pytest.mark.slurm


def daemons() -> set[str]:
    """Processes of Slurm and munge, of anybody."""
    found = set()
    for name in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            if name.read_text().strip() in ("slurmctld", "slurmd", "slurmstepd", "munged"):
                found.add(name.parent.name)
        except OSError:
            pass
    return found


def groups() -> set[str]:
    find = ["find", "/sys/fs/cgroup", "-maxdepth", "2", "-name", "slurm-cluster-*"]
    return set(subprocess.run(find, capture_output=True, text=True).stdout.split())


@pytest.fixture
def nothing_of_slurm(nothing_left):
    before = (daemons(), groups())
    yield
    wait_until("Slurm's processes to go", lambda: not daemons() - before[0], 10)
    assert not groups() - before[1]
    assert not leftovers(nothing_left)


def test_three_nodes_run_a_job_and_go_away(folder, nothing_of_slurm):
    with Cluster(folder / "cluster", 3) as cluster:
        names = cluster.out("login", "srun", "-N3", "--ntasks-per-node=1", "hostname").split()
        assert sorted(names) == ["node1", "node2", "node3"]
        # A job's processes are in control groups of Slurm's, where the machine lets it make some.
        if groups():
            where = cluster.out("login", "srun", "-N1", "cat", "/proc/self/cgroup")
            assert "/uid_0/job_" in where
    assert not (folder / "cluster").exists()


@pytest.mark.deep
def test_a_node_has_processes_a_name_and_tmp_of_its_own(folder, nothing_of_slurm):
    with Cluster(folder / "cluster", 2) as cluster:
        cluster.out("node1", "touch", "/tmp/here")
        assert cluster.out("node1", "ls", "/tmp") == "here"
        assert cluster.out("node2", "ls", "/tmp") == ""
        assert cluster.out("node2", "pgrep", "slurmd") != ""
        assert cluster.run("node2", "pgrep", "slurmctld").returncode == 1
        cluster.out("node1", "ip", "link", "set", "eth0", "down")
        assert cluster.out("node1", "ip", "-br", "address", "show", "eth0").split()[1] == "DOWN"
        assert cluster.out("node2", "ip", "-br", "address", "show", "eth0").split()[1] == "UP"
        assert cluster.run("node3", "true").stderr.startswith("slurm-cluster: the cluster has no")


def test_a_cluster_goes_with_its_keepers_parent(folder, nothing_of_slurm):
    parent = subprocess.Popen(
        ["sh", "-c", f"'{TOOL}' up 1 --foreground --folder '{folder}/cluster'; true"],
        stdout=subprocess.PIPE,
    )
    assert parent.stdout.readline() == b"ready\n"
    parent.kill()
    parent.wait()
    wait_until("the folder to go", lambda: not (folder / "cluster").exists(), 60)


def test_what_a_killed_keeper_leaves_is_removed_by_down(folder, nothing_of_slurm):
    cluster = Cluster(folder / "cluster", 1)
    cluster.keeper.signal(signal.SIGKILL)
    cluster.keeper.wait(10)
    assert cluster.run("login", "true").stderr.startswith("slurm-cluster: no cluster in")
    down = subprocess.run([TOOL, "down", "--folder", cluster.folder], capture_output=True)
    assert down.returncode == 0, down.stderr
    assert not cluster.folder.exists()


def test_a_folder_of_another_user_is_left_alone(folder):
    (folder / "file").write_text("mine")

    def refusals() -> list[str]:
        done = [
            subprocess.run([TOOL, *command, "--folder", folder], capture_output=True, text=True)
            for command in (["up", "1"], ["down"])
        ]
        assert [each.returncode for each in done] == [1, 1]
        return [each.stderr for each in done]

    assert all("is no cluster's folder" in text for text in refusals())
    (folder / "keeper").write_text("1")
    os.chown(folder, 65534, 65534)
    assert all("is another user's" in text for text in refusals())
    assert (folder / "file").read_text() == "mine"
