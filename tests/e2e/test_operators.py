"""The operators: one line that every host runs alike."""

import json
import os
import re
import signal

import pytest

from training import GUARD_SECONDS, SCRIPT, host_environment, is_rank, train_program

SUM = """
import os, sys
from mpi4py import MPI
total = MPI.COMM_WORLD.allreduce(1)
print("ranks", total, "args", sys.argv[1:], "level", os.environ.get("TF_LOG_LEVEL"), flush=True)
"""
ENTRY = "entrypoint.sh"


def sm_on_path() -> str:
    """A folder for PATH that holds `sm`, as an image's /usr/local/bin does."""
    folder = train_program().parent
    if not (folder / "sm").is_symlink():
        (folder / "sm").symlink_to("../sm")
    return str(folder)


def with_sm(environment: dict[str, str]) -> dict[str, str]:
    return {**environment, "PATH": f"{sm_on_path()}:{environment['PATH']}"}


def entry_job(training, hosts: int, entry: str, script: str = SUM, **more):
    """A job whose entry point is a shell script."""
    hyperparameters = {"sagemaker_program": json.dumps(ENTRY), "sagemaker_mpi_enabled": "false"}
    env = with_sm(host_environment("", more.pop("env", None)))
    files = {ENTRY: "#!/bin/sh\n" + entry, "train.py": script, **more.pop("files", {})}
    return training(hosts, 1, script, hyperparameters, {"PATH": env["PATH"]}, files=files, **more)


def on_hosts(training, hosts: int, *line, env=None, script: str = SUM):
    """A job whose containers' ENTRYPOINT is the operator itself."""
    job = training(hosts, 1, script)
    for host in job.hosts:
        environment = with_sm(host_environment(job.key, env))
        words = ["env", "-C", host.base / "code", "sm", *line]
        job.trains[host.name] = host.start(words, env=environment)
    return job


# --- sm mpirun ---


def test_the_proposals_entry_point_runs_as_written(training):
    line = (
        "sm mpirun --process_per_hosts 3 --custom_mpi_options '-x TF_LOG_LEVEL=10' "
        "python train.py --learning-rate 10\n"
    )
    job = entry_job(training, 2, line).start().succeed()
    said = job.rank_lines()
    assert sorted(said) == [0, 1, 2, 3, 4, 5], job.story()
    want = "ranks 6 args ['--learning-rate', '10'] level 10"
    assert all(lines == [want] for lines in said.values()), said
    job.assert_quiet()


def test_an_entrypoint_without_hyperparameters_file_is_the_job(training):
    job = training(2, 1, SUM)
    for host in job.hosts:
        (host.base / "input" / "config" / "hyperparameters.json").unlink()
        words = ["env", "-C", host.base / "code", "sm", "mpirun", "python", SCRIPT, "a b"]
        job.trains[host.name] = host.start(words, env=with_sm(host_environment(job.key)))
    job.succeed()
    assert {tuple(lines) for lines in job.rank_lines().values()} == {
        ("ranks 2 args ['a b'] level None",)
    }, job.story()
    job.assert_quiet()


def test_alone_on_a_machine_it_is_mpirun_on_localhost(training):
    job = training(1, 1, SUM)
    host = job.hosts[0]
    environment = with_sm(host_environment(job.key, {"SAGEMAKER_BASE_DIR": "/nowhere"}))
    words = ["sm", "mpirun", "--num_processes=2", "--process-per-hosts", "2", "python"]
    job.trains["algo-1"] = host.start([*words, host.base / "code" / SCRIPT], env=environment)
    job.succeed()
    assert job.leader.text.count("ranks 2 args []") == 2, job.story()


def test_inside_train_the_hosts_gather_once(training):
    line = "sm mpirun python train.py one && sm mpirun --process_per_hosts 2 python train.py two\n"
    job = entry_job(training, 2, line).start().succeed()
    assert job.leader.text.count("ranks 2 args ['one']") == 2, job.story()
    assert job.leader.text.count("ranks 4 args ['two']") == 4
    assert job.leader.text.count("algo-2 has joined") == 1


def test_the_exit_code_is_the_programs(training):
    job = on_hosts(training, 2, "mpirun", "python", "-c", "import sys; sys.exit(9)")
    assert set(job.wait().values()) == {9}, job.story()
    assert re.search(r"rank \d on algo-\d: exit code 9", job.leader.text)
    job.assert_quiet()


def test_hosts_that_call_different_lines_are_named(training):
    job = entry_job(training, 2, 'sm mpirun python train.py "$CURRENT_HOST"\n').start()
    assert set(job.wait().values()) == {1}, job.story()
    assert re.search(r"algo-2.*calls sm mpirun python train.py algo-2, but algo-1 calls",
                     job.failure("algo-1")), job.failure("algo-1")


@pytest.mark.parametrize(
    ("flags", "want"),
    [
        (["--custom_mpi_options", "--hostfile x"], '--custom_mpi_options: "--hostfile"'),
        (["--process_per_hosts", "two"], 'error: --process_per_hosts is "two"'),
    ],
)
def test_what_cannot_be_is_one_clear_line(training, flags, want):
    job = training(1, 1, SUM)
    words = ["sm", "mpirun", *flags, "python", "x.py"]
    job.trains["algo-1"] = job.hosts[0].start(words, env=with_sm(host_environment(job.key)))
    code = job.wait()["algo-1"]
    lines = [line for line in job.leader.text.splitlines() if "error:" in line]
    assert code in (1, 2) and len(lines) == 1 and want in lines[0], (code, job.story())


def test_the_plan_can_be_seen(training):
    job = training(2, 1, SUM)
    words = ["sm", "mpirun", "--process_per_hosts", "2", "--print-plan", "python", "t.py", "a b"]
    job.trains["algo-1"] = job.hosts[0].start(words, env=with_sm(host_environment(job.key)))
    job.succeed()
    text = job.leader.text
    assert "launcher: mpi, 2 of 4 ranks on this host, after the roll call" in text
    assert "each rank runs: python t.py 'a b'" in text


# --- sm run ---


def test_a_command_runs_once_on_every_host(training):
    job = entry_job(training, 3, "sm run -- sh -c 'echo \"hello from $CURRENT_HOST\"'\n",
                    files={})
    job.start().succeed()
    said = {rank: lines for rank, lines in job.rank_lines().items()}
    assert len(said) == 3, job.story()
    job.assert_quiet()


def test_one_hosts_failure_ends_all(training):
    line = "sm run -- sh -c 'if [ $CURRENT_HOST = algo-2 ]; then exit 5; fi; sleep 600'\n"
    job = entry_job(training, 3, line).start()
    assert set(job.wait().values()) == {1}, job.story()
    assert "algo-2: exit code 5" in job.failure("algo-1"), job.failure("algo-1")
    job.assert_quiet()


def test_a_killed_hosts_command_ends_all(training):
    job = entry_job(training, 2, "sm run -- python train.py\n",
                    "import time\nprint('it runs', flush=True)\ntime.sleep(600)").start()
    job.leader.wait_for_output(b"it runs", GUARD_SECONDS)
    found = job.hosts[1].find(lambda words: "train.py" in words and "python" in words[0])
    os.kill(found[0], signal.SIGKILL)
    assert set(job.wait().values()) == {1}, job.story()
    assert "algo-2: killed by SIGKILL" in job.failure("algo-1"), job.failure("algo-1")
    job.assert_quiet()


def test_a_stop_reaches_what_an_operator_started(training):
    script = """
import signal, sys, time
def stop(*_):
    print("stopping well", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("it runs", flush=True)
time.sleep(600)
"""
    job = entry_job(training, 2, "exec sm run -- python train.py\n", script).start()
    for rank in range(2):
        job.leader.wait_for_output(b"mpirank:%d,algo-%d]<stdout>:it runs" % (rank, rank + 1))
    os.kill(job.train_pid("algo-1"), signal.SIGTERM)
    codes = job.wait()
    # The operator passes on how its programs end, and a program that ends well has ended well.
    assert set(codes.values()) == {0}, f"{codes}\n{job.story()}"
    assert job.story().count("stopping well") == 2
    job.assert_quiet()
    assert not [host.find(is_rank) for host in job.hosts if host.find(is_rank)]


# --- sm torchrun ---

TORCH = """
import os, sys
names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR")
print(*(os.environ[name] for name in names), sys.argv[1:], flush=True)
"""


def test_ranks_of_torch_are_started_one_by_one_without_an_agent(training):
    line = "sm torchrun --launcher direct --nproc-per-node 2 train.py --lr 1\n"
    job = entry_job(training, 2, line, TORCH).start().succeed()
    said = {rank: lines[0].split(" ", 4) for rank, lines in job.rank_lines().items()}
    assert sorted(said) == [0, 1, 2, 3], job.story()
    for rank, (own, local, world, local_world, _) in said.items():
        assert (own, local, world, local_world) == (str(rank), str(rank % 2), "4", "2")
    assert all(words[4].endswith(" ['--lr', '1']") for words in said.values())
    job.assert_quiet()


def test_the_first_rank_to_fail_is_named(training):
    script = """
import os, sys, time
if os.environ["RANK"] == "2":
    print("the third one's words", file=sys.stderr, flush=True)
    sys.exit(3)
time.sleep(600)
"""
    line = "sm torchrun --launcher direct --nproc-per-node 2 train.py\n"
    job = entry_job(training, 2, line, script)
    assert set(job.start().wait().values()) == {1}, job.story()
    for name in job.trains:
        failure = job.failure(name)
        assert "rank 2 on algo-2: exit code 3" in failure and "third one's words" in failure
    job.assert_quiet()


# --- sm tf ---

TRAINER = """
import json, os, socket, sys, threading
config = json.loads(os.environ["TF_CONFIG"])
kind, index = config["task"]["type"], config["task"]["index"]
print("task", kind + str(index), *sys.argv[1:], flush=True)
if kind == "ps":
    address = config["cluster"]["ps"][index].rsplit(":", 1)
    server = socket.create_server(("", int(address[1])))
    while True:
        server.accept()
for address in config["cluster"].get("ps", []):
    host, port = address.rsplit(":", 1)
    while True:
        try:
            socket.create_connection((host, int(port))).close()
            break
        except ConnectionRefusedError:
            threading.Event().wait(0.05)
"""
TF_LINE = (
    "sm tf run-distributed-training --num-workers 2 --num-parameter-servers 2 train.py --x 1\n"
)


def test_parameter_servers_end_when_the_workers_have(training):
    job = entry_job(training, 2, TF_LINE, TRAINER).start().succeed()
    lines = sorted(line for said in job.rank_lines().values() for line in said)
    assert [line.split()[1] for line in lines] == ["ps0", "ps1", "worker0", "worker1"], job.story()
    flags = {line.split()[1]: line.split()[2:] for line in lines}
    assert flags["worker1"][:2] == ["--x", "1"]
    assert flags["worker1"][-4:] == ["--job_name", "worker", "--task_index", "1"]
    servers = flags["ps0"][flags["ps0"].index("--ps_hosts") + 1].split(",")
    assert len(servers) == 2 and len({address.rsplit(":", 1)[0] for address in servers}) == 2
    job.assert_quiet()


@pytest.mark.parametrize(("task", "host"), [("ps 0", 1), ("worker 0", 0)])
def test_a_killed_task_ends_the_job_and_is_named(training, task, host):
    script = TRAINER + "threading.Event().wait()"
    job = entry_job(training, 2, TF_LINE, script).start()
    job.leader.wait_for_output(b"worker1", GUARD_SECONDS)
    name, index = task.split()
    mark = f"--job_name {name} --task_index {index}"
    victim = job.hosts[host].find(lambda words: mark in " ".join(words))
    os.kill(victim[0], signal.SIGKILL)
    assert set(job.wait().values()) == {1}, job.story()
    want = f"{task} on algo-{host + 1}: killed by SIGKILL"
    assert want in job.failure("algo-1"), job.failure("algo-1")
    job.assert_quiet()


def test_workers_alone_get_their_cluster(training):
    job = entry_job(training, 3, "sm tf multi-worker train.py\n", TRAINER).start().succeed()
    lines = sorted(line for said in job.rank_lines().values() for line in said)
    assert lines == ["task worker0", "task worker1", "task worker2"], job.story()


# --- sm mxnet ---

# As in MXNet, all meet at the scheduler before a worker goes on.
MXNET = """
import os, socket, time
role = os.environ["DMLC_ROLE"]
workers, servers = os.environ["DMLC_NUM_WORKER"], os.environ["DMLC_NUM_SERVER"]
print(role, workers, servers, flush=True)
scheduler = os.environ["DMLC_PS_ROOT_URI"], int(os.environ["DMLC_PS_ROOT_PORT"])
if role == "scheduler":
    listener = socket.create_server(("", scheduler[1]))
    peers = [listener.accept()[0] for _ in range(int(workers) + int(servers))]
    [peer.sendall(b"!") for peer in peers]
else:
    peer = None
    while peer is None:
        try:
            peer = socket.create_connection(scheduler)
        except ConnectionRefusedError:
            time.sleep(0.05)
    peer.recv(1)
if role != "worker":
    time.sleep(600)
"""


def test_scheduler_and_servers_end_when_the_workers_have(training):
    program = "mxnet.py"  # What a scheduler and a server import in place of running the script.
    files = {program: MXNET}
    line = 'PYTHONPATH="$PWD" sm mxnet run --num-workers 2 --num-servers 1 python mxnet.py\n'
    job = entry_job(training, 2, line, MXNET, files=files).start().succeed()
    text = job.leader.text
    assert text.count("worker 2 1") == 2 and text.count("scheduler 2 1") == 1, job.story()
    assert text.count("server 2 1") == 1
    job.assert_quiet()
