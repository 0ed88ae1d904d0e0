"""What another user of a cluster's node can do to a job that comes there."""

import pytest
from process import wait_until
from slurm_cluster import Cluster
from slurm_jobs import wait_until_clean

pytestmark = pytest.mark.slurm

NODES = ("node1", "node2")
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
# What is squatted tells if anybody ever runs or reads on from it.
SQUATTER = "#!/bin/sh\necho squatter >/tmp/owned\n"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", len(NODES)) as cluster:
        yield cluster


DEEP = pytest.mark.deep


@pytest.mark.parametrize(
    "name", [pytest.param("go", marks=DEEP), pytest.param("job", marks=DEEP), "sm"]
)
def test_a_name_that_another_user_has_taken_is_used_by_nobody(place, name):
    """Names stand in squeue while a job waits: whoever is on its node can take them first."""
    cluster = place.cluster
    words = ["--exclusive", "--output=/dev/null", "--wrap", "sleep 600"]
    other = cluster.out("login", "sbatch", "--parsable", "-N2", *words)
    taken = ""
    try:
        job = place.fit("print('at work', flush=True)", brings=True)
        wait_until("it to wait", lambda: "PENDING muster-" in place.queue(), 30)
        row = next(line for line in place.queue().splitlines() if "PENDING muster-" in line)
        taken = f"/tmp/muster-{row[-16:]}.{name}"
        script = f'umask 0; printf "%s" "$0" >{taken}; chmod 777 {taken}'
        for node in NODES:
            cluster.out(node, *NOBODY, "sh", "-c", script, SQUATTER)
        cluster.out("login", "scancel", other)
        job.wait_for_output(b"Restarting", 60)
        assert job.wait(60) == 0, job.text
        assert "could not be brought" in job.text and "at work" in job.text
        for node in NODES:
            assert cluster.run(node, "cat", "/tmp/owned").returncode != 0
            # Root's job removes it; nothing was ever written to it.
            assert cluster.run(node, "cat", taken).stdout in ("", SQUATTER)
    finally:
        cluster.run("login", "scancel", other)
        for node in NODES:
            cluster.run(node, "rm", "-f", taken or "/tmp/none", "/tmp/owned")
    wait_until_clean(cluster, nodes=NODES)
