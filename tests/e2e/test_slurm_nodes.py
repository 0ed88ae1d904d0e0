"""Nodes of a Slurm cluster that are not as they should be, under `sm fit --engine slurm`."""

import pathlib
import re
import subprocess
import time

import pytest
from process import wait_until
from slurm_cluster import Cluster
from slurm_faults import (
    AT_WORK,
    LASTS,
    Configured,
    Down,
    all_at_work,
    clean_place,
    ends_well,
    fit_that_waits_once,
    remove_unclaimed,
    start_anew,
)
from slurm_jobs import Place, wait_until_clean

pytestmark = pytest.mark.slurm
place = pytest.fixture(clean_place)


def patient(cluster: Cluster) -> Configured:
    """Slurm with its own default, by which it asks nodes each 100 s, and gives them up so late."""
    return Configured(cluster, "SlurmdTimeout", "300")


def goes_on_without(place: Place, node: str, *words, **options) -> str:
    """A job gets through though that node, which is one of its first two, cannot run it."""
    job = place.fit(LASTS, *words, hosts=2, **options)
    job.wait_for_output(b"Restarting", 60)
    ends_well(job, 2)
    assert job.text.count(" Restarting - ") == 1 and node in job.text, job.text
    return job.text


@pytest.mark.deep
@pytest.mark.parametrize("node", ["node1", "node2"])
def test_a_node_without_munge_is_named_and_left_out(place, node):
    """Slurm calls it idle until it asks it next, and the job ending until SlurmdTimeout."""
    try:
        with patient(place.cluster), Down(place.cluster, node, "munged"):
            begin = time.monotonic()
            goes_on_without(place, node)
            assert time.monotonic() - begin < 60
    finally:
        start_anew(place.cluster, node)
        remove_unclaimed(place.cluster)


@pytest.mark.deep
def test_a_node_whose_munge_ends_while_a_job_runs_is_named_and_the_job_starts_again(place):
    job = fit_that_waits_once(place, 2)
    try:
        with Down(place.cluster, "node2", "munged"):
            job.wait_for_output(b"Restarting", 60)
            ends_well(job, 2)
    finally:
        start_anew(place.cluster, "node2")
    assert "node2 is down" in job.text, job.text
    assert job.text.count(" Restarting - ") == 1, job.text


LATE = """
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

time_t time(time_t* at) {
  struct timespec now;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  now.tv_sec += 3600;
  if (at) *at = now.tv_sec;
  return now.tv_sec;
}
"""


class Ahead(Down):
    """A node's munge whose clock is an hour ahead, which it believes in for 5 minutes at most."""

    def __init__(self, cluster: Cluster, node: str):
        super().__init__(cluster, node, "munged")
        library = cluster.folder / "etc" / "ahead.so"
        words = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library]
        subprocess.run(words, input=LATE, text=True, check=True)

    def __enter__(self) -> None:
        super().__enter__()
        self.cluster.out(self.host, "env", "LD_PRELOAD=/etc/slurm/ahead.so", *self.argv)

    def __exit__(self, *_) -> None:
        super().__enter__()
        super().__exit__()


@pytest.mark.deep
def test_a_node_whose_clock_is_an_hour_ahead_is_named_and_left_out(place):
    try:
        with patient(place.cluster), Ahead(place.cluster, "node2"):
            goes_on_without(place, "node2")
    finally:
        start_anew(place.cluster, "node2")
        remove_unclaimed(place.cluster)


@pytest.mark.deep
def test_a_node_on_which_nothing_that_is_brought_can_be_executed_is_named_and_left_out(place):
    place.cluster.out("node2", "mount", "-o", "remount,noexec", "/tmp")
    try:
        text = goes_on_without(place, "node2", brings=True)
    finally:
        place.cluster.out("node2", "mount", "-o", "remount,exec", "/tmp")
    why = r"node2 could not start the job: Permission denied: /tmp/muster-[0-9a-f]{16}/sm"
    assert re.search(why, text), text


@pytest.mark.deep
def test_a_program_that_nodes_have_for_another_machine_fails_the_job_with_the_reason(place):
    other = place.cluster.folder / "etc" / "sm-of-another"
    arm = bytearray(pathlib.Path("/bin/true").read_bytes())
    arm[18:20] = (183).to_bytes(2, "little")  # e_machine: EM_AARCH64
    other.write_bytes(arm)
    other.chmod(0o755)
    job = place.fit(LASTS, "--slurm", "sm=/etc/slurm/sm-of-another", "--retries", "1", brings=True)
    assert job.wait(60) == 1, job.text
    assert "could not start the job: Exec format error: /etc/slurm/sm-of-another" in job.text


class Throttled:
    """A node whose processes have a share of one processor."""

    PERIOD_US = 100_000

    def __init__(self, cluster: Cluster, node: str, share: float):
        tops = (cluster.folder / "groups").read_text().split()
        files = [pathlib.Path(top, node, "cpu.cfs_quota_us") for top in tops]
        self.files = [path for path in files if path.exists()]
        if not self.files:
            pytest.skip("no version 1 control group of processors: a node cannot be made slow")
        self.quota = int(share * self.PERIOD_US)

    def __enter__(self) -> None:
        self.files[0].write_text(str(self.quota))

    def __exit__(self, *_) -> None:
        self.files[0].write_text("-1")


COMPUTES = AT_WORK + """
for _ in range(10):
    sum(range(200_000))
print("done", flush=True)
"""


@pytest.mark.deep
def test_a_job_one_of_whose_nodes_has_a_tenth_of_a_processor_goes_on(place):
    with Throttled(place.cluster, "node2", 0.1):
        job = place.fit(COMPUTES, hosts=2)
        ends_well(job, 2)
    assert "Restarting" not in job.text, job.text


SLURMCTLD_DOWN_SECONDS = 120


@pytest.mark.deep
def test_slurmctld_is_down_for_two_minutes_in_which_a_job_runs_and_ends(place):
    job = place.fit(LASTS, hosts=2)
    all_at_work(job, 2)
    with Down(place.cluster, "login", "slurmctld"):
        until = time.monotonic() + SLURMCTLD_DOWN_SECONDS
        ends_well(job, 2)
        wait_until_clean(place.cluster)
        late = place.fit(LASTS, "--overwrite", hosts=2)
        late.wait_for_time(until)
        assert late.running(), late.text
    ends_well(late, 2)
    assert "Restarting" not in job.text + late.text
    wait_until("Slurm to be free of both", lambda: place.queue() == "", 30)
