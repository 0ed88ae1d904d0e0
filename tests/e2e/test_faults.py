"""Whatever dies, is cut off or stops: the other hosts end soon, and all name who and why."""

import contextlib
import os
import random
import re
import signal
import time

import pytest

from training import is_program, is_rank

WITHIN_SECONDS = 8.0  # The issue's own figure; the only hard time in these tests.
MINUTE = 60.0

WAITING = """
import os, signal
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
print("ready", MPI.COMM_WORLD.Get_rank(), flush=True)
signal.pause()
"""


def waiting_job(training):
    job = training(3, 2, WAITING).start()
    for rank in range(6):
        job.leader.wait_for_output(b"ready %d" % rank)
    return job


def host_of(job, name: str):
    return next(host for host in job.hosts if host.name == name)


def kill_one(wanted):
    def act(job, name: str) -> None:
        pids = host_of(job, name).find(wanted)
        assert pids, host_of(job, name).processes()
        os.kill(max(pids), signal.SIGKILL)

    return act


def kill_train(job, name: str) -> None:
    os.kill(job.train_pid(name), signal.SIGKILL)


def on_host(what: str):
    return lambda job, name: getattr(host_of(job, name), what)()


LOST = r"lost|no heartbeat|closed|SIGKILL"
FAULTS = {
    # name: (what is done, to which host, what the verdict must say)
    "rank": (kill_one(is_rank), "algo-2", r"rank [23] on algo-2.*SIGKILL"),
    "rank_of_leader": (kill_one(is_rank), "algo-1", r"rank [01] on algo-1.*SIGKILL"),
    "orted": (kill_one(is_program("orted")), "algo-3", r"orted on algo-3.*SIGKILL"),
    "mpirun": (kill_one(is_program("mpirun", "orterun")), "algo-1", r"mpirun on algo-1.*SIGKILL"),
    "member_train": (kill_train, "algo-2", rf"algo-2.*({LOST})"),
    "leader_train": (kill_train, "algo-1", rf"algo-1.*({LOST})"),
    "member_host": (on_host("kill"), "algo-3", rf"algo-3.*({LOST})"),
    "leader_host": (on_host("kill"), "algo-1", rf"algo-1.*({LOST})"),
    "member_cut_off": (on_host("cut"), "algo-2", rf"algo-2.*({LOST})"),
    "leader_cut_off": (on_host("cut"), "algo-1", rf"algo-1.*({LOST})"),
    "member_stopped": (on_host("stop"), "algo-3", rf"algo-3.*({LOST})"),
    "leader_stopped": (on_host("stop"), "algo-1", rf"algo-1.*({LOST})"),
}
OWN_TRAIN_GOES_ON = ("rank", "rank_of_leader", "orted", "mpirun")
HOST_IS_GONE = ("member_host", "leader_host")


def error_message(text: str) -> str:
    """The part of a failure file that may name only the culprit (the command names all hosts)."""
    match = re.search(r'ErrorMessage "(.*?)"\nCommand', text, re.S)
    return match[1] if match else text


def assert_verdict(job, name: str, accused: str, says: str) -> None:
    message = error_message(job.failure(name))
    assert re.search(says, message, re.S), f"{name} says: {job.failure(name)!r}\n{job.story()}"
    named = set(re.findall(r"algo-\d", message))
    assert named == {accused}, f"{name} names {named}: {message!r}"
    assert re.search(says, job[name].text), f"{name}'s terminal does not say it:\n{job[name].text}"


@pytest.mark.parametrize("fault", FAULTS)
def test_other_hosts_end_within_8_seconds_and_name_the_cause(training, fault):
    act, accused, says = FAULTS[fault]
    job = waiting_job(training)
    struck = time.monotonic()
    act(job, accused)
    others = [name for name in job.trains if fault in OWN_TRAIN_GOES_ON or name != accused]
    for name in others:
        code = job[name].wait(MINUTE)
        assert code not in (0, -signal.SIGKILL), f"{name}: {code}\n{job.story()}"
        took = job[name].ended_at - struck
        assert took <= WITHIN_SECONDS, f"{name} took {took:.1f} s\n{job.story()}"
    for name in others:
        assert_verdict(job, name, accused, says)
    if fault.endswith("_stopped"):
        resume(job, accused)
    if fault not in HOST_IS_GONE:
        assert job[accused].wait(MINUTE) != 0
    job.assert_quiet(killed=accused if fault.endswith("_train") else "")


def resume(job, name: str) -> None:
    host_of(job, name).resume()
    with contextlib.suppress(ProcessLookupError):
        os.kill(job[name].pid, signal.SIGCONT)  # nsenter stops when its child does.


def strike(choice: random.Random, job) -> str:
    """One random fault that can happen now; its name."""
    for fault in choice.sample(list(FAULTS), len(FAULTS)):
        act, accused, _ = FAULTS[fault]
        try:
            act(job, accused)
        except (AssertionError, ProcessLookupError, StopIteration):
            continue  # There is no such process yet.
        return fault
    raise AssertionError("nothing to strike")


def kill_at_a_random_moment(training, seed: int) -> None:
    choice = random.Random(seed)
    job = training(3, 2, WAITING, env={"MUSTER_JOIN_DEADLINE": "5"}).start()
    moment = time.monotonic() + choice.uniform(0.0, 1.5)
    job.leader.wait_for_time(moment)
    fault = strike(choice, job)
    accused = FAULTS[fault][1]
    for name, train in job.trains.items():
        if name == accused and fault.endswith("_stopped"):
            continue
        code = train.wait(MINUTE)
        assert code != 0, f"seed {seed}, {fault}: {name} ended with success\n{job.story()}"
    if fault.endswith("_stopped"):
        resume(job, accused)
        assert job[accused].wait(MINUTE) != 0
    job.assert_quiet(killed=accused if fault.endswith("_train") else "")


@pytest.mark.parametrize("seed", range(10))
def test_a_fault_at_a_random_moment_ends_every_host(training, seed):
    kill_at_a_random_moment(training, seed)


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(10, 60))
def test_fifty_faults_at_random_moments_end_every_host(training, seed):
    kill_at_a_random_moment(training, seed)
