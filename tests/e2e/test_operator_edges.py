"""Operators where hosts, slots, ports or GPUs are not what a line takes for granted."""

import os
import re
import signal
import time

import pytest

from process import children_of, wait_until
from test_operators import SUM, TF_LINE, TORCH, TRAINER, entry_job, with_sm
from training import GUARD_SECONDS, host_environment

FAULT_SECONDS = 8.0
NVIDIA_SMI = "#!/bin/sh\nfor n in $GPUS; do echo \"GPU $n: H200 (UUID: GPU-$n)\"; done\n"


def with_gpus(job, counts: dict[str, int]) -> None:
    """Starts `train` on all hosts; each finds as many GPUs as `counts` says."""
    folder = job.hosts[0].folder.parent / "tools"
    folder.mkdir()
    (folder / "nvidia-smi").write_text(NVIDIA_SMI)
    (folder / "nvidia-smi").chmod(0o755)
    path = f"{folder}:{with_sm(host_environment(''))['PATH']}"
    for host in job.hosts:
        gpus = " ".join(str(n) for n in range(counts[host.name]))
        job.start(host, env={"PATH": path, "GPUS": gpus})


def taking_ports(host, first: int, last: int):
    """A process that listens on all of these ports of a host."""
    script = (
        "import socket, time\n"
        f"held = [socket.create_server(('', port)) for port in range({first}, {last + 1})]\n"
        "print('taken', flush=True)\ntime.sleep(600)\n"
    )
    taker = host.start(["python3", "-c", script], env={"PATH": os.environ["PATH"]})
    taker.wait_for_output(b"taken", GUARD_SECONDS)
    return taker


def end_inside(process) -> None:
    """What the test started is what entered the host; the program is its child."""
    for pid in children_of(process.pid):
        os.kill(pid, signal.SIGKILL)
    process.wait(GUARD_SECONDS)


# --- hosts ---


@pytest.mark.parametrize(
    "line",
    [
        "sm mpirun python train.py",
        "sm run -- python train.py",
        "sm torchrun --launcher direct train.py",
        "sm tf run-distributed-training train.py",
        "sm mxnet run python train.py",
    ],
)
def test_a_host_that_ends_without_calling_is_named(training, line):
    line = f'if [ "$CURRENT_HOST" = algo-2 ]; then exit 0; fi\nexec {line}\n'
    job = entry_job(training, 2, line).start()
    codes = job.wait()
    assert codes["algo-1"] == 1, job.story()
    assert "algo-2: exited without calling" in job.failure("algo-1"), job.failure("algo-1")
    job.assert_quiet()


def test_an_operator_as_entry_point_names_the_host_that_never_comes(training):
    job = training(3, 1, SUM)
    for host in job.hosts[:2]:
        environment = with_sm(host_environment(job.key, {"MUSTER_JOIN_DEADLINE": "2"}))
        words = ["env", "-C", host.base / "code", "sm", "mpirun", "python", "train.py"]
        job.trains[host.name] = host.start(words, env=environment)
    assert set(job.wait().values()) == {1}, job.story()
    assert all("algo-3" in train.text for train in job.trains.values()), job.story()
    job.assert_quiet()


@pytest.mark.parametrize("lost", ["algo-1", "algo-2"])
@pytest.mark.parametrize(
    "line",
    [
        "sm mpirun python train.py",
        "sm run -- python train.py",
        "sm torchrun --launcher direct --nproc-per-node 2 train.py",
        "sm tf run-distributed-training --num-parameter-servers 2 train.py",
        "sm mxnet run python train.py",
    ],
)
def test_a_lost_host_ends_all_of_every_operator(training, line, lost):
    script = "import time\nprint('it runs', flush=True)\ntime.sleep(600)\n"
    # What a scheduler and a server import in place of running the script.
    files = {"mxnet.py": script}
    job = entry_job(training, 2, f'export PYTHONPATH="$PWD"\nexec {line}\n', script, files=files)
    job.start().leader.wait_for_output(b"it runs", GUARD_SECONDS)
    survivor = next(host for host in job.hosts if host.name != lost)
    began = time.monotonic()
    victim = next(host for host in job.hosts if host.name == lost)
    os.kill(victim.pid, signal.SIGKILL)
    code = job[survivor.name].wait(GUARD_SECONDS)
    took = time.monotonic() - began
    wait_until("the host to be gone", lambda: not victim.running())
    assert code == 1 and lost in job.failure(survivor.name), job.story()
    assert took < FAULT_SECONDS, took
    job.assert_quiet()


# --- slots ---


def test_more_processes_than_processors_all_run(training):
    job = entry_job(training, 2, "sm mpirun --process_per_hosts 6 python train.py\n").start()
    job.succeed()
    assert sorted(job.rank_lines()) == list(range(12)), job.story()
    job.assert_quiet()


def test_a_count_beyond_what_hosts_hold_is_one_clear_line(training):
    line = "exec sm mpirun --process_per_hosts 2 --num_processes 5 python train.py\n"
    job = entry_job(training, 2, line).start()
    assert 0 not in job.wait().values(), job.story()
    want = "--num_processes is 5"
    said = [one for one in job.leader.text.splitlines() if one.startswith("sm ") and want in one]
    assert len(said) == 1, job.story()
    job.assert_quiet()


# --- several jobs on one machine, and ports ---


def test_jobs_alone_on_one_machine_do_not_meet(training):
    job = training(1, 1, SUM, files={"torch.py": TORCH, "tf.py": TRAINER})
    host = job.hosts[0]
    environment = with_sm(host_environment(job.key, {"SAGEMAKER_BASE_DIR": "/nowhere"}))
    code = host.base / "code"
    lines = {
        "mpi 1": ["mpirun", "--process_per_hosts", "2", "python", code / "script.py"],
        "mpi 2": ["mpirun", "--process_per_hosts", "2", "python", code / "script.py"],
        "torch 1": ["torchrun", "--launcher", "direct", "--nproc-per-node", "2", code / "torch.py"],
        "torch 2": ["torchrun", "--launcher", "direct", "--nproc-per-node", "2", code / "torch.py"],
        "tf 1": ["tf", "run-distributed-training", "--num-workers", "2", code / "tf.py"],
        "tf 2": ["tf", "run-distributed-training", "--num-workers", "2", code / "tf.py"],
    }
    for name, words in lines.items():
        job.trains[name] = host.start(["sm", *words], env=environment)
    job.succeed()
    for name in ("mpi 1", "mpi 2"):
        assert job[name].text.count("ranks 2 ") == 2, job.story()
    for name in ("tf 1", "tf 2"):
        assert job[name].text.count("task worker") == 2, job.story()
    job.assert_quiet()


def test_two_jobs_on_the_same_hosts_need_a_port_each(training):
    one = entry_job(training, 2, "sm mpirun python train.py\n").start()
    environment = with_sm(host_environment("cd" * 32, {"MUSTER_ROLLCALL_PORT": "9731"}))
    others = [
        host.start(["env", "-C", host.base / "code", "sm", "run", "--", "true"], env=environment)
        for host in one.hosts
    ]
    assert [other.wait(GUARD_SECONDS) for other in others] == [0, 0], others[0].text
    one.succeed()
    one.assert_quiet()


def test_a_taken_port_of_the_roll_call_is_one_clear_line(training):
    job = training(2, 1, SUM, env={"MUSTER_JOIN_DEADLINE": "3"})
    taker = taking_ports(job.hosts[0], 9730, 9730)
    job.start()
    codes = job.wait()
    end_inside(taker)
    assert 0 not in codes.values(), job.story()
    said = [line for line in job.leader.text.splitlines() if "9730" in line and "error" in line]
    assert len(said) == 1 and "in use" in said[0], job.story()
    job.assert_quiet()


def test_a_port_that_is_taken_is_not_agreed_on(training):
    """Every port that the kernel gives out but a few is taken: the rest has to do."""
    job = entry_job(training, 1, TF_LINE, TRAINER)
    host = job.hosts[0]
    host.check("sh", "-c", "echo 40000 40063 > /proc/sys/net/ipv4/ip_local_port_range")
    taker = taking_ports(host, 40000, 40055)
    job.start().succeed()
    lines = [line for said in job.rank_lines().values() for line in said] or [job.leader.text]
    ports = {int(port) for line in lines for port in re.findall(r":(400\d\d)\b", line)}
    assert ports and all(port >= 40056 for port in ports), job.story()
    end_inside(taker)


# --- GPUs ---


def test_ranks_by_gpus(training):
    job = entry_job(training, 2, "sm mpirun python train.py\n")
    with_gpus(job, {"algo-1": 2, "algo-2": 2})
    job.succeed()
    assert sorted(job.rank_lines()) == [0, 1, 2, 3], job.story()


@pytest.mark.parametrize(
    ("line", "flag"),
    [
        ("sm mpirun python train.py", "--process_per_hosts"),
        ("sm torchrun --launcher direct train.py", "--nproc-per-node"),
    ],
)
def test_a_host_without_gpu_among_hosts_with_is_one_clear_line(training, line, flag):
    job = entry_job(training, 2, f"exec {line}\n")
    with_gpus(job, {"algo-1": 2, "algo-2": 0})
    assert 0 not in job.wait().values(), job.story()
    for name in job.trains:
        assert flag in job.failure(name) or flag in job[name].text, job.story()
    assert re.search("algo-2 has no GPU", job.leader.text), job.story()
    job.assert_quiet()


def test_a_number_makes_a_host_without_gpu_an_equal(training):
    line = "sm torchrun --launcher direct --nproc-per-node 2 train.py\n"
    job = entry_job(training, 2, line, TORCH)
    with_gpus(job, {"algo-1": 2, "algo-2": 0})
    job.succeed()
    assert sorted(job.rank_lines()) == [0, 1, 2, 3], job.story()
