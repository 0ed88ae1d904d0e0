"""How a job ends, as every host sees it."""

import re

import pytest

# The figure is 1 s (bench/ measures it); a test guards five times that.
END_GUARD_SECONDS = 5.0

GOODBYE = """
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
print("goodbye", flush=True)
"""


def test_every_train_exits_soon_after_the_last_line(training):
    job = training(3, 2, GOODBYE).start().succeed()
    last = job.leader.time_of(b"goodbye", "last")
    late = {name: train.ended_at - last for name, train in job.trains.items()}
    assert max(late.values()) < END_GUARD_SECONDS, late
    job.assert_quiet()


def test_success_leaves_both_success_files_on_every_host(training):
    job = training(2, 1, GOODBYE).start().succeed()
    for host in job.hosts:
        assert (host.base / "output" / "success").read_bytes() == b""
        assert (host.base / "success").exists()
        assert not (host.base / "output" / "failure").exists()


def failing(job, seconds: float = 60) -> None:
    codes = job.wait(seconds)
    assert set(codes.values()) == {1}, f"{codes}\n{job.story()}"
    for host in job.hosts:
        assert not (host.base / "output" / "success").exists()
    job.assert_quiet()


FAILURE = re.compile(
    r'^ExecuteUserScriptError:\nExitCode (\d+)\nErrorMessage "(.*)"\nCommand "(.*)"\s*$', re.S
)


def test_an_exit_code_is_reported_as_the_reference_does_on_every_host(training):
    script = """
import sys
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.Get_rank() == 1:
    print("about to fail", file=sys.stderr, flush=True)
    sys.exit(42)
MPI.COMM_WORLD.Barrier()
"""
    job = training(2, 1, script).start()
    failing(job)
    for name in job.trains:
        match = FAILURE.match(job.failure(name))
        assert match, f"{name}: {job.failure(name)!r}"
        assert match[1] == "42"
        assert "about to fail" in match[2]
        assert "script.py" in match[3]
    assert re.search(r"rank 1 on algo-2: exit code 42", job.leader.text), job.story()


def test_an_exception_on_one_rank_ends_all(training):
    script = """
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.Get_rank() == 3:
    raise ValueError("the third rank's own words")
MPI.COMM_WORLD.Barrier()
"""
    job = training(2, 2, script).start()
    failing(job)
    assert "ValueError: the third rank's own words" in job.failure("algo-1"), job.story()


def test_a_crash_is_the_cause_not_the_peers_broken_connections(training):
    script = """
import os, signal
from mpi4py import MPI
comm = MPI.COMM_WORLD
comm.Barrier()
if comm.Get_rank() == 3:
    os.kill(os.getpid(), signal.SIGSEGV)
comm.recv(source=3)  # Fails or is killed: rank 3 never sends.
"""
    job = training(2, 2, script).start()
    failing(job)
    assert re.search(r"rank 3 on algo-2.*SIGSEGV", job.failure("algo-1")), job.failure("algo-1")


# Rank 1 closes its connection and takes its time to end; rank 0 sees that and fails at once.
CONSEQUENCE = """
import atexit, socket, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
if comm.Get_rank() == 0:
    listener = socket.create_server(("", 7777))
    comm.Barrier()
    peer = listener.accept()[0]
    if not peer.recv(1):
        raise RuntimeError("Connection was likely closed. Did the remote server shutdown or crash?")
comm.Barrier()
peer = socket.create_connection(("algo-1", 7777))
atexit.register(time.sleep, 1.5)
try:
    raise ValueError("bad batch")
finally:
    peer.close()
"""


def test_who_only_saw_that_its_peer_went_is_not_blamed(training):
    job = training(2, 1, CONSEQUENCE).start()
    failing(job)
    for name in job.trains:
        want = 'ErrorMessage "rank 1 on algo-2: exit code 1: ValueError: bad batch\n'
        assert want in job.failure(name), job.failure(name)


def test_a_long_error_and_one_on_stdout_are_reported_in_full(training):
    script = """
import sys, warnings
warnings.warn("old api")
print("no images below /opt/ml/input")
raise KeyError("None of [Index(" + "'column', " * 2000 + ")] are in the [columns]")
"""
    job = training(1, 1, script, {"sagemaker_mpi_enabled": "false"}).start()
    failing(job)
    told = job.failure("algo-1")
    assert "exit code 1: KeyError: \"None of [Index(" in told and "are in the [columns]" in told
    assert 'File "' in told and "no images below /opt/ml/input" in told and "UserWarning" in told


@pytest.mark.parametrize("words", ["my own reason"])
def test_a_failure_file_that_the_program_wrote_is_kept(training, words):
    script = f"""
import os, sys
path = os.path.join(os.environ["SM_OUTPUT_DIR"], "failure")
open(path, "w").write({words!r})
sys.exit(1)
"""
    job = training(1, 1, script, {"sagemaker_mpi_enabled": "false"}).start()
    failing(job)
    assert job.failure("algo-1") == words


def test_a_run_by_hand_makes_its_folders_and_forgets_what_an_earlier_one_left(training):
    program = "import os\nopen(os.environ['SM_OUTPUT_DATA_DIR'] + '/kept', 'w')\n"
    job = training(1, 1, program + "raise ValueError('first')", {"sagemaker_mpi_enabled": "false"})
    (host,) = job.hosts
    script, config = host.base / "code/script.py", host.base / "input/config"
    for folder in ("model", "output/data", "output"):
        (host.base / folder).rmdir()
    failing(job.start())
    assert "ValueError: first" in job.failure("algo-1"), job.story()
    assert (host.base / "model").is_dir() and (host.base / "output/data/kept").exists()

    script.write_text("raise ValueError('second')")
    failing(job.start())
    assert "second" in job.failure("algo-1") and "first" not in job.failure("algo-1")

    script.write_text("")
    job.start(args=("--print-plan",)).succeed()
    assert "second" in job.failure("algo-1"), "a look at the plan changes nothing"
    job.start().succeed()
    assert job.failure("algo-1") == "" and (host.base / "success").exists()

    (config / "hyperparameters.json").write_text("{")
    assert job.start().wait() == {"algo-1": 1}
    assert job.failure("algo-1").startswith("Framework Error: ")
    assert not (host.base / "success").exists() and not (host.base / "output/success").exists()
