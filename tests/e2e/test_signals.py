"""A stop request reaches every rank on every host; a grace later it is final."""

import os
import signal
import time

import pytest

from lab import SM
from process import Process
from training import GUARD_SECONDS

REACH_GUARD_SECONDS = 5.0  # The figure is 1 s.

TELLING = """
import os, signal, sys, time
from mpi4py import MPI
rank = MPI.COMM_WORLD.Get_rank()
def stopped(number, frame):
    path = os.path.join(os.environ["SM_OUTPUT_DATA_DIR"], "stopped-%d" % rank)
    open(path, "w").write(str(time.monotonic()))
    if not STAY:
        os._exit(0)
signal.signal(signal.SIGTERM, stopped)
MPI.COMM_WORLD.Barrier()
print("ready", rank, flush=True)
while True:
    signal.pause()
"""


def ready(training, stay: bool, **options):
    job = training(3, 2, TELLING.replace("STAY", str(stay)), **options).start()
    for rank in range(6):
        job.leader.wait_for_output(b"ready %d" % rank)
    return job


def times(job) -> dict[str, float]:
    return {
        path.name: float(path.read_text())
        for host in job.hosts
        for path in (host.base / "output/data").glob("stopped-*")
    }


@pytest.mark.parametrize("to", ["algo-1", "algo-3"])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_one_train_reaches_every_rank(training, to, number):
    job = ready(training, stay=False)
    sent = time.monotonic()
    os.kill(job.train_pid(to), number)
    codes = job.wait()
    assert codes[to] == 128 + number, f"{codes}\n{job.story()}"
    assert 0 not in codes.values(), codes
    reached = times(job)
    assert len(reached) == 6, f"{reached}\n{job.story()}"
    assert max(reached.values()) - sent < REACH_GUARD_SECONDS
    job.assert_quiet()


def test_ranks_that_stay_are_killed_after_the_grace(training):
    job = ready(training, stay=True, env={"MUSTER_STOP_DEADLINE": "2"})
    sent = time.monotonic()
    os.kill(job.train_pid("algo-1"), signal.SIGTERM)
    codes = job.wait()
    assert 0 not in codes.values(), codes
    assert len(times(job)) == 6, job.story()
    took = max(train.ended_at for train in job.trains.values()) - sent
    assert 2.0 <= took < 2.0 + GUARD_SECONDS / 4, took
    job.assert_quiet()


def test_a_stop_before_all_hosts_came_ends_at_once(training):
    job = training(2, 1, "")
    job.start(job.hosts[0])
    pid = job.train_pid("algo-1")
    job.leader.wait_for_time(time.monotonic() + 0.2)
    os.kill(pid, signal.SIGTERM)
    assert job.leader.wait(GUARD_SECONDS / 4) != 0
    job.assert_quiet()


def test_a_signal_to_every_train_at_once_is_one_request_with_its_grace(training):
    """What a platform does: it stops all containers. The second must not count as "now"."""
    job = ready(training, stay=True, env={"MUSTER_STOP_DEADLINE": "3"})
    sent = time.monotonic()
    for name in job.trains:
        os.kill(job.train_pid(name), signal.SIGTERM)
    codes = job.wait()
    assert 0 not in codes.values(), codes
    assert len(times(job)) == 6, job.story()
    took = min(train.ended_at for train in job.trains.values()) - sent
    assert took >= 3.0, f"the grace of 3 s was cut to {took:.1f} s\n{job.story()}"
    job.assert_quiet()


def test_a_rank_that_ends_early_does_not_cut_the_others_grace(training):
    """mpirun kills the rest a second after a rank has gone; the grace is longer."""
    script = TELLING.replace("if not STAY:", "time.sleep(3 if rank else 0)\n    if True:")
    script = script.replace("os._exit(0)", 'open(path + "-done", "w").close()\n        os._exit(0)')
    job = training(2, 1, script).start()
    for rank in range(2):
        job.leader.wait_for_output(b"ready %d" % rank)
    os.kill(job.train_pid("algo-1"), signal.SIGTERM)
    assert 0 not in job.wait().values()
    done = {path.name for host in job.hosts for path in (host.base / "output/data").glob("*-done")}
    assert done == {"stopped-0-done", "stopped-1-done"}, f"{done}\n{job.story()}"


def test_a_node_that_slurm_takes_away_while_it_removes_its_files_removes_them_all(tmp_path):
    place = tmp_path / "muster-0123456789abcdef"
    place.mkdir(mode=0o700)
    (place / "job").write_text("no job")
    (place / "job").chmod(0o600)
    for number in range(30_000):
        (place / f"file-{number}").touch()
    node = Process([SM, "node", "--job", place / "job"])
    try:
        node.wait_for_output(b"not JSON", 30)  # After this complaint about the job, it removes.
        os.kill(node.pid, signal.SIGTERM)
        assert node.wait(30) == 1, node.text
        assert not place.exists(), node.text
    finally:
        node.end()
