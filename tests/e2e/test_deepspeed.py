"""DeepSpeed: a node launcher on every host, by `sm deepspeed` and by hyperparameter.

standins/deepspeed does what DeepSpeed's node launcher's command line promises; the last tests run
the real one, where `make frameworks` has built it.
"""

import json

import pytest

from image import STANDINS
from test_operators import entry_job
from test_torchrun import SECONDS, real
from test_trainers import RESULT

WITH_STANDIN = {"PYTHONPATH": str(STANDINS)}
ENABLED = {
    "sagemaker_mpi_enabled": "false",
    "sagemaker_deepspeed_enabled": "true",
    "sagemaker_mpi_num_of_processes_per_host": "2",
}
NAMES = (
    "RANK LOCAL_RANK WORLD_SIZE LOCAL_SIZE CROSS_RANK CROSS_SIZE MASTER_ADDR MASTER_PORT "
    "CUDA_VISIBLE_DEVICES"
)
TELLS = f"""
import json, os, sys
said = {{name: os.environ.get(name) for name in "{NAMES}".split()}}
said["args"] = sys.argv[1:]
sys.stdout.write("rank says " + json.dumps(said) + "\\n")
"""
FAILS = """
import os, sys, time
if os.environ["RANK"] == "2":
    sys.stderr.write("the third one's words\\n")
    sys.exit(3)
time.sleep(600)
"""


def deepspeed_job(training, line: str, script: str, env=None, hosts: int = 2):
    env = WITH_STANDIN if env is None else env
    job = entry_job(training, hosts, line + "\n", script)
    job.env.update(env)
    return job


def ranks_of(job) -> dict[int, dict]:
    """What the ranks said of themselves, by rank; each one once."""
    found: dict[int, dict] = {}
    for train in job.trains.values():
        for line in train.text.splitlines():
            if "rank says " in line:
                said = json.loads(line.split("rank says ", 1)[1])
                assert int(said["RANK"]) not in found, job.story()
                found[int(said["RANK"])] = said
    return found


def check_world(said: dict[int, dict], args: list[str]) -> None:
    """Two hosts with two ranks each."""
    assert sorted(said) == [0, 1, 2, 3], said
    for rank, own in said.items():
        assert own["LOCAL_RANK"] == str(rank % 2) and own["CROSS_RANK"] == str(rank // 2), own
        assert (own["WORLD_SIZE"], own["LOCAL_SIZE"], own["CROSS_SIZE"]) == ("4", "2", "2"), own
        assert own["MASTER_ADDR"] == "algo-1", own
        assert own["args"] == [f"--local_rank={rank % 2}", *args], own
    assert len({own["MASTER_PORT"] for own in said.values()}) == 1, said


# --- sm deepspeed ---


def test_a_node_launcher_on_each_host_starts_the_ranks(training):
    line = "sm deepspeed --num_gpus 2 train.py --lr 1 'a b'"
    job = deepspeed_job(training, line, TELLS).start().succeed()
    said = ranks_of(job)
    check_world(said, ["--lr", "1", "a b"])
    assert {own["CUDA_VISIBLE_DEVICES"] for own in said.values()} == {"0,1"}
    assert sorted(job.rank_lines()) == [0, 1, 2, 3], job.story()
    job.assert_quiet()


def test_the_rank_of_a_node_launcher_that_fails_is_named(training):
    job = deepspeed_job(training, "sm deepspeed --num_gpus 2 train.py", FAILS)
    assert set(job.start().wait().values()) == {1}, job.story()
    for name in job.trains:
        failure = job.failure(name)
        assert "rank 2 on algo-2: exit code 3" in failure, job.story()
        assert "third one's words" in failure, failure
    job.assert_quiet()


def test_ranks_are_started_one_by_one_without_a_node_launcher(training):
    line = "sm deepspeed --launcher direct --num_gpus 2 train.py --lr 1"
    # No stand-in: nothing of DeepSpeed's is asked for.
    job = deepspeed_job(training, line, TELLS, env={}).start().succeed()
    check_world(ranks_of(job), ["--lr", "1"])
    assert sorted(job.rank_lines()) == [0, 1, 2, 3], job.story()
    job.assert_quiet()


def test_the_first_rank_to_fail_is_named(training):
    line = "sm deepspeed --launcher direct --num_gpus 2 train.py"
    job = deepspeed_job(training, line, FAILS, env={})
    assert set(job.start().wait().values()) == {1}, job.story()
    for name in job.trains:
        failure = job.failure(name)
        assert "rank 2 on algo-2: exit code 3" in failure and "third one's words" in failure
    job.assert_quiet()


@pytest.mark.parametrize(
    ("line", "want"),
    [
        ("sm deepspeed train.py", "has no module deepspeed: pip install deepspeed"),
        ("sm deepspeed --launcher pdsh train.py", 'expected agent or direct, got "pdsh"'),
    ],
)
def test_what_cannot_be_is_one_clear_line(training, line, want):
    job = deepspeed_job(training, line, TELLS, env={}, hosts=1).start()
    assert set(job.wait().values()) == {1}, job.story()
    told = [one for one in job.leader.text.splitlines() if one.startswith("sm deepspeed: error: ")]
    assert len(told) == 1 and want in told[0], job.story()
    assert not ranks_of(job)


# --- by hyperparameter ---


def test_a_hyperparameter_asks_for_it(training):
    values = {**ENABLED, "lr": "0.1"}
    job = training(2, 2, TELLS, values, env=WITH_STANDIN).start().succeed()
    said = ranks_of(job)
    check_world(said, ["--lr", "0.1"])
    assert {own["MASTER_PORT"] for own in said.values()} == {"29500"}
    job.assert_quiet()


def test_by_hyperparameter_a_failure_ends_the_job_on_both_hosts(training):
    job = training(2, 2, FAILS, ENABLED, env=WITH_STANDIN).start()
    assert all(job.wait().values()), job.story()
    for name in job.trains:
        failure = job.failure(name)
        assert "rank 2 on algo-2: exit code 3" in failure, failure
        assert "third one's words" in failure, failure
    job.assert_quiet()


def test_by_hyperparameter_too_a_missing_module_is_reported(training):
    job = training(1, 2, TELLS, ENABLED).start()
    assert set(job.wait().values()) == {1}, job.story()
    assert "has no module deepspeed: pip install deepspeed" in job.failure("algo-1")


# --- the real one ---


LEARNS = """
import argparse
import deepspeed
import torch
parser = argparse.ArgumentParser()
parser.add_argument("--local_rank", type=int)
parser.parse_args()
torch.manual_seed(1)
torch.set_num_threads(1)
deepspeed.init_distributed(dist_backend="gloo")
rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
x = torch.randn(512, 8)
y = x @ torch.arange(8.0).unsqueeze(1)
model = torch.nn.Linear(8, 1)
loss = torch.nn.functional.mse_loss
first = loss(model(x), y).item()
config = {"train_micro_batch_size_per_gpu": 16}
engine, *_ = deepspeed.initialize(
    model=model, optimizer=torch.optim.SGD(model.parameters(), lr=0.05), config=config)
for epoch in range(8):
    for number in range(rank * 16, len(x), size * 16):
        if rank == FAILS and epoch == 1:
            raise ArithmeticError("bad batch")
        engine.backward(loss(engine(x[number:number + 16]), y[number:number + 16]))
        engine.step()
weights = ",".join(f"{part.sum().item():.5f}" for part in model.parameters())
print(f"rank {rank} of {size}: loss {first:.3f} to {loss(model(x), y).item():.3f}, "
      f"weights {weights}", flush=True)
"""


def real_job(training, line: str, fails: int = -1):
    """The job, with the environment of `make frameworks` that has DeepSpeed."""
    job = real(entry_job(training, 2, line + "\n", LEARNS.replace("FAILS", str(fails))))
    job.env["DS_ACCELERATOR"] = "cpu"
    return job.start()


@pytest.mark.framework
def test_the_real_one_trains_in_four_processes_on_two_hosts(training):
    job = real_job(training, "sm deepspeed --num_gpus 2 train.py").succeed(SECONDS)
    weights = set()
    lines = job.rank_lines()
    for rank in range(4):
        found = [match for line in lines[rank] if (match := RESULT.match(line))]
        assert len(found) == 1, job.story()
        who, before, after, learned = found[0].groups()
        assert int(who) == rank and float(after) < float(before) / 10, job.story()
        weights.add(learned)
    assert len(weights) == 1, job.story()
    job.assert_quiet()


@pytest.mark.framework
def test_the_real_ones_rank_that_fails_is_the_cause(training):
    job = real_job(training, "sm deepspeed --num_gpus 2 train.py", fails=3)
    assert set(job.wait(SECONDS).values()) == {1}, job.story()
    for host in job.trains:
        failure = job.failure(host)
        assert "rank 3 on algo-2: exit code 1: " in failure, job.story()
        assert "ArithmeticError: bad batch" in failure, job.story()
    job.assert_quiet()
