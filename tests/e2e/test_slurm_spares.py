"""`sm fit --engine slurm --spares N`: a host that is lost goes on on a node that stood by."""

import pytest
from process import wait_until
from slurm_cluster import Cluster
from slurm_jobs import Place, left_on, wait_until_clean

pytestmark = pytest.mark.slurm

NODES = ("node1", "node2", "node3", "node4")

MPI = """
import socket, time
from mpi4py import MPI
world = MPI.COMM_WORLD
print(f"rank {world.rank} of {world.size} on {socket.gethostname()}", flush=True)
world.allreduce(1)
print("input", open("/opt/ml/input/data/train/words").read(), flush=True)
for step in range(STEPS):
    world.barrier()
    time.sleep(0.5)
print("done", flush=True)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", 4) as cluster:
        yield cluster


@pytest.fixture
def place(cluster, tmp_path):
    place = Place(cluster, tmp_path)
    (place.folder / "data").mkdir()
    (place.folder / "data" / "words").write_text("as it was")
    yield place
    place.end()
    for node in NODES:
        cluster.run(node, "ip", "link", "set", "eth0", "up")
    wait_until_clean(cluster, 40, NODES)

    def all_idle() -> bool:
        states = cluster.out("login", "sinfo", "-h", "-N", "-p", "main", "-o", "%T")
        return set(states.split()) == {"idle"}

    wait_until("all nodes to be idle", all_idle, 60)


def begin(place: Place, steps: int, *words, hosts: int = 3, processes: int = 2):
    """A job that is at work."""
    data = f"train={place.folder / 'data'}"
    script = MPI.replace("STEPS", str(steps))
    common = ("--spares", "1", "--processes-per-host", str(processes), "--input", data)
    job = place.fit(script, *common, *words, hosts=hosts, brings=True)
    ranks = hosts * processes

    def all_there() -> bool:
        return job.text.count("as it was") == ranks or not job.running()

    try:
        wait_until("all ranks", all_there, 60)
    except AssertionError as error:
        raise AssertionError(f"{error}: {job.text}") from None
    assert job.running(), job.text
    return job


def submissions(place: Place) -> set[str]:
    """Names of all jobs that Slurm still knows, over or not."""
    lines = place.cluster.out("login", "squeue", "-h", "-t", "all", "-o", "%j").split()
    return set(lines)


@pytest.mark.deep
def test_a_spare_takes_the_place_of_a_node_that_is_cut_off(place):
    cluster = place.cluster
    before = submissions(place)
    job = begin(place, 30)
    cluster.out("node2", "ip", "link", "set", "eth0", "down")
    try:
        job.wait_for_output(b"a spare, takes its place", 60)
        wait_until("the ranks anew", lambda: job.text.count("as it was") == 12, 60)
    finally:
        cluster.out("node2", "ip", "link", "set", "eth0", "up")
    assert job.wait(90) == 0, job.text
    assert "was lost on node2" in job.text and "node4, a spare" in job.text, job.text
    for rank in range(6):
        assert job.text.count(f"rank {rank} of 6 on algo-{rank // 2 + 1}") == 2, job.text
    assert job.text.count("| done") == 6, job.text
    assert "Restarting" in job.text
    assert len(submissions(place) - before) == 1
    wait_until("the stray to be told to end", lambda: not left_on(cluster, "node2"), 30)


def test_a_killed_steward_restarts_on_the_same_node(place):
    cluster = place.cluster
    before = submissions(place)
    job = begin(place, 20, hosts=2, processes=1)
    found = cluster.out("node2", "pgrep", "-f", "sm steward").split()
    cluster.out("node2", "kill", "-9", *found)
    assert job.wait(90) == 0, job.text
    assert "was lost on node2: its steward was killed; it restarts there" in job.text
    assert job.text.count("| done") == 2, job.text
    assert len(submissions(place) - before) == 1


@pytest.mark.deep
def test_a_spare_that_is_lost_first_is_a_word_and_takes_a_place_when_it_is_back(place):
    cluster = place.cluster
    before = submissions(place)
    job = begin(place, 60, hosts=2, processes=1)
    cluster.out("node3", "ip", "link", "set", "eth0", "down")
    job.wait_for_output(b"node3, a spare, does not respond", 40)
    assert "Restarting" not in job.text
    cluster.out("node3", "ip", "link", "set", "eth0", "up")
    job.wait_for_output(b"node3, a spare, responds again", 40)
    cluster.out("node2", "ip", "link", "set", "eth0", "down")
    job.wait_for_output(b"node3, a spare, takes its place", 60)
    cluster.out("node2", "ip", "link", "set", "eth0", "up")
    wait_until("the stray to be told to end", lambda: not left_on(cluster, "node2"), 30)
    assert job.wait(90) == 0, job.text
    assert job.text.count("| done") == 2, job.text
    assert len(submissions(place) - before) == 1
