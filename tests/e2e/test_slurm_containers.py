"""`sm fit --engine slurm --slurm hosts=container`: hosts that are containers on nodes."""

import shutil

import pytest
from process import wait_until
from lab import SM
from oci_image import layer, programs, write_layout
from slurm_cluster import Cluster
from slurm_jobs import Place, wait_until_clean

pytestmark = pytest.mark.slurm

CONTAINERS = ("--slurm", "hosts=container")

MPI = """
import os, socket
from mpi4py import MPI
world = MPI.COMM_WORLD
inside = open("/proc/1/cmdline").read().split("\\0")[1]
print(f"rank {world.rank} of {world.size} on {socket.gethostname()} below {inside}", flush=True)
print("slurm", [n for n in os.environ if n.startswith("SLURM")], flush=True)
"""

WAITS = """
import time
print("at work", flush=True)
time.sleep(600)
"""

EATS = """
import os, time
eaten = bytearray(os.urandom(1 << 20) * 1000)
time.sleep(600)
"""

RUNC = ("runc", "--root", "/run/muster/runc", "list", "-q")


def containers_on(cluster: Cluster, node: str) -> list[str]:
    return cluster.run(node, *RUNC).stdout.split()


def traces(cluster: Cluster, node: str) -> list[str]:
    """Containers, control groups and mounts of jobs that are on a node."""
    found = containers_on(cluster, node)
    groups = cluster.out(node, "find", "/sys/fs/cgroup", "-name", "muster-*")
    mounts = cluster.out(node, "cat", "/proc/1/mountinfo")
    found += groups.split()
    found += [line for line in mounts.splitlines() if "/muster-" in line]
    return found


def wait_until_untouched(cluster: Cluster) -> None:
    wait_until_clean(cluster)
    for node in ("node1", "node2", "node3"):
        try:
            wait_until(f"no trace on {node}", lambda node=node: traces(cluster, node) == [], 20)
        except AssertionError as error:
            raise AssertionError(f"{error}; there is {traces(cluster, node)}") from None


def test_three_containers_of_two_processes_run_under_mpi(place):
    text = place.succeeds(MPI, *CONTAINERS, "--processes-per-host", "2", hosts=3)
    for rank in range(6):
        assert f"rank {rank} of 6 on algo-{rank // 2 + 1} below init" in text
    assert "slurm []" in text and "no user namespace" not in text
    wait_until_untouched(place.cluster)


def test_slurms_memory_limit_holds_for_a_container_and_is_reported(place):
    job = place.fit(EATS, *CONTAINERS, "--memory", "300m", hosts=2)
    assert job.wait(90) == 1, job.text
    assert "reached its memory limit (300 MiB)" in job.text, job.text
    assert "Restarting" not in job.text
    wait_until_untouched(place.cluster)


def test_scancel_leaves_no_container_no_control_group_and_no_mount(place):
    job = place.fit(WAITS, *CONTAINERS, hosts=3)
    wait_until("all to be at work", lambda: job.text.count("at work") == 3, 60)
    for node in ("node1", "node2", "node3"):
        assert len(containers_on(place.cluster, node)) == 1
        assert traces(place.cluster, node) != []
    number = place.cluster.out("login", "squeue", "-h", "-o", "%i")
    place.cluster.out("login", "scancel", number)
    job.wait(60)
    assert "cancelled in Slurm" in job.text and "Stopped" in job.text, job.text
    wait_until_untouched(place.cluster)


def test_a_steward_that_is_killed_takes_its_container_along(place):
    job = place.fit(WAITS, *CONTAINERS, hosts=2)
    wait_until("both to be at work", lambda: job.text.count("at work") == 2, 60)
    found = place.cluster.out("node2", "pgrep", "-f", "sm steward").split()
    place.cluster.out("node2", "kill", "-9", *found)
    assert job.wait(90) == 1, job.text
    wait_until_untouched(place.cluster)


@pytest.mark.deep
def test_a_step_that_is_killed_leaves_nothing_that_runs_and_the_next_job_finds_nothing(place):
    job = place.fit(WAITS, *CONTAINERS, "--retries", "0")
    job.wait_for_output(b"at work", 60)
    cluster = place.cluster
    found = cluster.out("node1", "pgrep", "-f", "sm (node|steward)").split()
    cluster.out("node1", "kill", "-9", *found)
    job.wait(90)

    def nothing_runs() -> bool:
        return cluster.run("node1", "pgrep", "-f", "sm init").stdout == ""

    wait_until("no process of it", nothing_runs, 20)
    left = cluster.out("node1", "sh", "-c", "ls -d /tmp/muster-*")
    cluster.out("node1", "touch", "-d", "2 minutes ago", left)
    assert "Completed" in place.succeeds("print('well')", *CONTAINERS, "--overwrite")
    wait_until_untouched(cluster)


def test_a_node_that_can_have_no_container_is_named_with_what_it_lacks_and_the_setting(place):
    cluster = place.cluster
    runc = shutil.which("runc")
    cluster.out("node2", "mount", "--bind", "/dev/null", runc)
    try:
        job = place.fit(WAITS, *CONTAINERS, hosts=2)
        assert job.wait(90) == 1, job.text
    finally:
        cluster.out("node2", "umount", runc)
    assert "node2: cannot create a container: runc is not installed there" in job.text, job.text
    assert "--slurm hosts=light" in job.text
    assert "Restarting" not in job.text
    wait_until_untouched(cluster)


TRAIN = b"""#!/bin/sh
echo "team $TEAM on $HOSTNAME, folder $PWD"
test -e /usr/bin/python3 && echo "sees the node"
test -e /gone && echo "sees what a layer removed"
echo weights >/opt/ml/model/$HOSTNAME
"""
SHELL = {**programs("/bin/sh", str(SM)), "etc/passwd": b"root:x:0:0::/root:/bin/sh\n"}
del SHELL[str(SM).removeprefix("/")]
CACHE = "/tmp/cache"


def import_image(place: Place, folder, name: str, *layers: dict) -> None:
    process = {"Env": ["PATH=/opt/bin:/bin", "TEAM=blue"], "WorkingDir": "/opt/bin"}
    write_layout(folder, [layer(members) for members in layers], process=process)
    words = (f"MUSTER_STATE={place.state}", SM, "image", "import", f"oci:{folder}:v1")
    place.cluster.out("login", "env", *words, "--name", name)


def layers_on(cluster: Cluster, node: str) -> dict[str, str]:
    """Layers that a node keeps, with the time at which each was unpacked."""
    listed = cluster.run(node, "sh", "-c", f"stat -c '%n %Z' {CACHE}/images/layers/*/root").stdout
    return dict(line.split() for line in listed.splitlines())


def test_an_image_comes_to_its_nodes_once_and_is_there_for_the_next_job(place):
    cluster = place.cluster
    with_image = (*CONTAINERS, "--slurm", f"folder={CACHE}", "--image")
    removed = {"gone": b"", "opt/bin/train": b""}
    import_image(place, place.folder / "one", "team/box:v1", {**SHELL, **removed},
                 {".wh.gone": b"", "opt/bin/train": TRAIN})
    try:
        job = place.fit_image(*with_image, "team/box:v1", hosts=2)
        assert job.wait(90) == 0, job.text
        for host in ("algo-1", "algo-2"):
            assert f"team blue on {host}, folder /opt/bin" in job.text, job.text
            assert (place.output / "model" / host).read_text() == "weights\n"
        assert "sees the node" not in job.text and "layer removed" not in job.text
        first = layers_on(cluster, "node1")
        assert len(first) == 2 and layers_on(cluster, "node2").keys() == first.keys()
        wait_until_untouched(cluster)
        # Another image over the same shell: one layer comes, the other stays what it is.
        import_image(place, place.folder / "two", "team/box:v2", {**SHELL, **removed},
                     {"opt/bin/train": TRAIN.replace(b"team", b"group")})
        job = place.fit_image(*with_image, "team/box:v2", "--overwrite", hosts=3)
        assert job.wait(90) == 0, job.text
        assert "group blue on algo-3" in job.text
        second = layers_on(cluster, "node1")
        assert len(second) == 3 and first.items() <= second.items()
        assert len(layers_on(cluster, "node3")) == 2
        wait_until_untouched(cluster)
    finally:
        for node in ("node1", "node2", "node3"):
            cluster.run(node, "rm", "-rf", CACHE)


def test_a_cache_of_another_user_is_not_used(place):
    cluster = place.cluster
    import_image(place, place.folder / "one", "team/box:v1", SHELL, {"opt/bin/train": TRAIN})
    cluster.out("node1", "install", "-d", "-m", "0777", "-o", "1000", CACHE)
    try:
        job = place.fit_image(*CONTAINERS, "--slurm", f"folder={CACHE}", "--image", "team/box:v1")
        assert job.wait(90) == 1, job.text
        assert f"{CACHE}: expected a folder that this user owns" in job.text, job.text
        assert cluster.out("node1", "ls", "-A", CACHE) == ""
    finally:
        cluster.run("node1", "rm", "-rf", CACHE)
