"""torchrun: one agent on every host, whose ranks are the job's ranks.

The agent is a stand-in (standins/torch) that does what muster uses of torch's; the tests below the
line run the real one, of torch 2.0.1, where `make frameworks` has built it.
"""

import json
import shutil

import pytest

from frameworks import interpreter
from image import STANDINS
from lab import VENV
from process import wait_until
from test_operators import entry_job, sm_on_path
from test_stacks import all_say, stacks
from training import GUARD_SECONDS, host_environment

ENABLED = {
    "sagemaker_mpi_enabled": "false",
    "sagemaker_torch_distributed_enabled": "true",
    "sagemaker_mpi_num_of_processes_per_host": "2",
}
SECONDS = 5 * GUARD_SECONDS
TELLS = """
import json, os, sys
parent = open("/proc/%d/cmdline" % os.getppid()).read().split("\\0")
agent = [line.split()[1] for line in open("/proc/%d/status" % os.getppid()) if line[:5] == "PPid:"]
agent = open("/proc/%s/cmdline" % agent[0]).read().split("\\0")
said = {"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd(), "agent": agent[:-1]}
with open("/opt/ml/output/data/rank-" + os.environ["RANK"], "w") as file:
    json.dump(said, file)
for part in "one ", "line of ", os.environ["RANK"]:
    sys.stdout.write(part)
    sys.stdout.flush()
print(flush=True)
"""
# Rank 2 fails in its own way; the others notice.
FAILS = """
import json, os, signal, sys
if os.environ["RANK"] == "2" and int(os.environ["TORCHELASTIC_RESTART_COUNT"]) < TIMES:
    with open(os.environ["TORCHELASTIC_ERROR_FILE"], "w") as file:
        json.dump({"message": {"message": "BatchError: bad batch"}}, file)
    print("the third one's words", file=sys.stderr, flush=True)
    sys.exit(3)
if int(os.environ["TORCHELASTIC_RESTART_COUNT"]) >= TIMES:
    print("all is well", flush=True)
    sys.exit()
DOES
"""
WAITS = "signal.pause()"


@pytest.fixture
def torchrun(training):
    """Makes trainings whose interpreter finds the stand-in."""

    def make(hosts: int, script: str, **hyperparameters: str):
        env = {"PYTHONPATH": str(STANDINS)}
        return training(hosts, 2, script, {**ENABLED, **hyperparameters}, env=env)

    return make


def said(host, rank: int) -> dict:
    return json.loads((host.base / f"output/data/rank-{rank}").read_text())


def fails(times: int, does: str = WAITS) -> str:
    return FAILS.replace("TIMES", str(times)).replace("DOES", does)


def operator_job(training, line: str, script: str, hosts: int = 2):
    job = entry_job(training, hosts, f"sm torchrun --nproc-per-node 2 {line}\n", script)
    job.env["PYTHONPATH"] = str(STANDINS)
    return job


def test_every_host_runs_an_agent_whose_ranks_are_the_jobs(torchrun):
    values = {"lr": "0.1", "text": json.dumps("a b; $(id)")}
    job = torchrun(2, TELLS, **values).start().succeed()
    for rank in range(4):
        host = job.hosts[rank // 2]
        rank_said = said(host, rank)
        assert rank_said["argv"] == ["script.py", "--lr", "0.1", "--text", "a b; $(id)"]
        assert rank_said["cwd"] == "/opt/ml/code"
        env = rank_said["env"]
        assert (env["RANK"], env["LOCAL_RANK"]) == (str(rank), str(rank % 2))
        assert env["SM_CURRENT_HOST"] == host.name
        assert env["SM_HP_LR"] == "0.1"
        assert json.loads(env["SM_HOSTS"]) == ["algo-1", "algo-2"]
        assert (env["NCCL_PROTO"], env["NCCL_SOCKET_IFNAME"]) == ("simple", "eth0")
        assert "FI_PROVIDER" not in env
        assert [name for name in env if name.startswith("MUSTER_")] == ["MUSTER_SOCKET"]
        at = rank_said["agent"].index("torch.distributed.run")
        options = ["--nnodes", "2", "--nproc_per_node", "2", "--master_addr", "algo-1"]
        options += ["--master_port", "7777", "--node_rank", str(rank // 2), "--no_python"]
        assert rank_said["agent"][at + 1 : at + 12] == options
        assert (host.base / "output" / "success").exists()
    assert job.rank_lines() == {rank: [f"one line of {rank}"] for rank in range(4)}, job.story()
    job.assert_quiet()


def test_a_single_host_gets_no_master_address(torchrun):
    job = torchrun(1, TELLS).start().succeed()
    agent = said(job.hosts[0], 0)["agent"]
    at = agent.index("torch.distributed.run")
    assert agent[at + 1 : at + 6] == ["--nnodes", "1", "--nproc_per_node", "2", "--no_python"]


def test_the_rank_that_fails_is_named_with_the_error_that_it_recorded(torchrun):
    job = torchrun(2, fails(1)).start()
    assert job.wait() == {"algo-1": 1, "algo-2": 1}, job.story()
    for name in job.trains:
        failure = job.failure(name)
        assert failure.startswith("ExecuteUserScriptError:\nExitCode 3\n"), failure
        assert "rank 2 on algo-2: exit code 3: BatchError: bad batch" in failure, failure
        assert "third one's words" in failure, failure
    job.assert_quiet()


def test_an_interpreter_without_torch_is_one_clear_line(training):
    job = training(1, 2, "", ENABLED).start()
    assert job.leader.wait(GUARD_SECONDS) == 1, job.story()
    assert "has no module torch: pip install torch" in job.failure("algo-1")


@pytest.mark.parametrize("launcher", ["", "--launcher agent "])
def test_the_operator_names_the_rank_that_fails(training, launcher):
    job = operator_job(training, f"{launcher}train.py", fails(1)).start()
    assert set(job.wait().values()) == {1}, job.story()
    for name in job.trains:
        failure = job.failure(name)
        assert "rank 2 on algo-2: exit code 3: BatchError: bad batch" in failure, failure
    job.assert_quiet()


def test_ranks_that_torchrun_starts_again_end_nothing(training):
    # Ranks of the other host fail for their peer's end, as they would with gloo.
    notices = (
        "import time\n"
        "time.sleep(0.3)\n"
        "raise ConnectionResetError('Connection closed by peer')\n"
    )
    job = operator_job(training, "--max-restarts 3 train.py", fails(2, notices)).start().succeed()
    text = job.story()
    for number in (1, 2):
        assert f"torchrun restart {number} of 3 on algo-2, after rank 2" in text, text
        assert f"torchrun restart {number} of 3 on algo-1" in text, text
    assert sum("all is well" in lines[-1] for lines in job.rank_lines().values()) == 4, text
    job.assert_quiet()


def test_the_cause_is_named_once_no_restart_is_left(training):
    notices = (
        "import time\n"
        "time.sleep(0.3)\n"
        "raise ConnectionResetError('Connection closed by peer')\n"
    )
    job = operator_job(training, "--max-restarts 1 train.py", fails(9, notices)).start()
    assert set(job.wait().values()) == {1}, job.story()
    for name in job.trains:
        assert "rank 2 on algo-2: exit code 3: BatchError: bad batch" in job.failure(name)
    job.assert_quiet()


# Rank 3 waits for its data, all others for rank 3.
STANDS = """
import os
def read_batch():
    os.read(os.pipe()[0], 1)
def reduce():
    os.read(os.pipe()[0], 1)
print("here is", os.environ["RANK"], flush=True)
read_batch() if os.environ["RANK"] == "3" else reduce()
"""


@pytest.mark.parametrize("form", ["flag", "operator"])
def test_lines_and_stacks_are_found_by_rank(machine, form):
    (machine.source / "train.py").write_text(STANDS)
    (machine.source / "entry.sh").write_text("exec sm torchrun --nproc-per-node 2 train.py\n")
    shutil.copytree(STANDINS / "torch", machine.source / "torch")
    words = ["entry.sh"]
    if form == "flag":
        words = ["train.py", "--torchrun", "--processes-per-host", 2]
    fit = machine.sm("fit", *words, "--source-dir", machine.source, "--output", machine.output,
                     "--python", VENV / "bin/python", "--hosts", 2, "--name", "still")  # fmt: skip
    all_say(fit, 4, "| here is ")

    def marked() -> bool:
        text = stacks(machine, "still")
        return "rank 3  <- stuck in a different place than most" in text and "ranks 0-2\n" in text

    wait_until("rank 3 marked", marked, GUARD_SECONDS)
    text = stacks(machine, "still")
    assert text.startswith("4 ranks on 2 hosts, at 2 places\n"), text
    assert "read_batch  train.py:4\n" in text and "could not be read" not in text, text
    for rank in range(4):
        logs = machine.sm("logs", "still", "--rank", rank)
        assert logs.wait(GUARD_SECONDS) == 0, logs.text
        lines = logs.out.decode().splitlines()
        assert len(lines) == 1 and lines[0].endswith(f"here is {rank}"), logs.text
    assert machine.sm("stop", "still", "--now", "--wait").wait(GUARD_SECONDS) == 0
    fit.wait(GUARD_SECONDS)


# --- the real one ---

SUM = r"""
import os, sys
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
value = torch.tensor([float(dist.get_rank())])
dist.all_reduce(value)
where = os.environ["SM_CURRENT_HOST"]
print(f"rank {dist.get_rank()} of {dist.get_world_size()} on {where}: {value.item()}", flush=True)
dist.destroy_process_group()
"""
# Rank 3 fails in its first two lives, after all ranks have met.
RECORDED = r"""
import os, sys
import torch
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
class BatchError(Exception):
    pass
@record
def main():
    dist.init_process_group("gloo")
    value = torch.tensor([1.0])
    dist.all_reduce(value)
    if dist.get_rank() == 3 and int(os.environ["TORCHELASTIC_RESTART_COUNT"]) < TIMES:
        sys.stderr.close()
        raise BatchError("bad batch")
    for _ in range(3):
        dist.all_reduce(value)
    print("learned in life", os.environ["TORCHELASTIC_RESTART_COUNT"], flush=True)
main()
"""


def real(job):
    """The job, with the interpreter that has torch."""
    path = [interpreter("torch").parent, sm_on_path(), host_environment("")["PATH"]]
    job.env.update(PATH=":".join(map(str, path)), GLOO_SOCKET_IFNAME="eth0")
    job.env.pop("PYTHONPATH", None)
    return job


@pytest.mark.framework
def test_the_real_one_trains_in_four_processes_on_two_hosts(training):
    job = real(training(2, 2, SUM, ENABLED, env={})).start().succeed(SECONDS)
    for rank in range(4):
        want = [f"rank {rank} of 4 on algo-{rank // 2 + 1}: 6.0"]
        assert job.rank_lines()[rank] == want, job.story()
    job.assert_quiet()


@pytest.mark.framework
def test_the_real_one_restarts_the_ranks_of_two_hosts(training):
    script = RECORDED.replace("TIMES", "2")
    job = real(operator_job(training, "--max-restarts 3 train.py", script))
    job.start().succeed(SECONDS)
    text = job.story()
    for number in (1, 2):
        assert f"torchrun restart {number} of 3 on algo-2, after rank 3" in text, text
        assert f"torchrun restart {number} of 3 on algo-1" in text, text
    learned = [lines[-1] for lines in job.rank_lines().values()]
    assert learned == ["learned in life 2"] * 4, text
    job.assert_quiet()


@pytest.mark.framework
def test_the_real_one_s_recorded_error_is_the_cause(training):
    script = RECORDED.replace("TIMES", "9")
    job = real(operator_job(training, "train.py", script)).start()
    assert set(job.wait(SECONDS).values()) == {1}, job.story()
    for name in job.trains:
        assert "rank 3 on algo-2: exit code 1: " in job.failure(name), job.story()
        assert "BatchError: bad batch" in job.failure(name), job.story()
    job.assert_quiet()
