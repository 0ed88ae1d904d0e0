"""DeepSpeed: a node launcher on every host, by `sm deepspeed` and by hyperparameter.

DeepSpeed itself is not installed for these tests: standins/deepspeed does what its node launcher's
command line promises. The last test runs the real one where it is installed, else skips.
"""

import json
import os
import subprocess

import pytest

from image import STANDINS
from lab import REPOSITORY
from test_operators import entry_job
from training import GUARD_SECONDS, host_environment

# Where the last test finds DeepSpeed; nothing here makes it, for it is large.
DEEPSPEED = REPOSITORY / "build" / "deepspeed-venv"
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
        assert "on algo-2: exit code 3" in failure and "third one's words" in failure, failure
    job.assert_quiet()


def test_by_hyperparameter_too_a_missing_module_is_reported(training):
    job = training(1, 2, TELLS, ENABLED).start()
    assert set(job.wait().values()) == {1}, job.story()
    assert "has no module deepspeed: pip install deepspeed" in job.failure("algo-1")


# --- the real one ---


def real_python() -> str:
    """The folder of an interpreter that has DeepSpeed; empty if none has."""
    folder = DEEPSPEED / "bin"
    look = [folder / "python", "-c", "import deepspeed.launcher.launch"]
    if not look[0].exists():
        return ""
    done = subprocess.run(look, capture_output=True, check=False)
    return str(folder) if done.returncode == 0 else ""


def test_the_real_one_starts_four_processes_on_two_hosts(training):
    folder = real_python()
    if not folder:
        pytest.skip(f"{DEEPSPEED} is missing: a virtual environment with DeepSpeed")
    env = {"PATH": os.pathsep.join([folder, host_environment("")["PATH"]])}
    job = training(2, 2, TELLS, ENABLED, env=env).start().succeed(5 * GUARD_SECONDS)
    check_world(ranks_of(job), [])
    job.assert_quiet()
