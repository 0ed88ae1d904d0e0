"""torchrun: one agent on every host, told who leads. The agent is a stand-in that writes down how
it was started; the last test runs the real one where PyTorch is installed."""

import json
import subprocess

import pytest

from lab import REPOSITORY
from training import GUARD_SECONDS, host_environment

# Where the last test finds PyTorch; nothing here makes it, for it is large.
TORCH = REPOSITORY / "build" / "torch-venv"

# Writes down its arguments and environment, and runs the script once as `torchrun` would.
AGENT = """#!/usr/bin/python3
import json, os, sys
seen = {"argv": sys.argv, "env": dict(os.environ), "cwd": os.getcwd()}
with open("/opt/ml/output/data/agent.json", "w") as file:
    json.dump(seen, file)
at = next(at for at, word in enumerate(sys.argv) if word.endswith(".py"))
os.execv("/usr/bin/python3", ["python3", *sys.argv[at:]])
"""
ENABLED = {
    "sagemaker_mpi_enabled": "false",
    "sagemaker_torch_distributed_enabled": "true",
    "sagemaker_mpi_num_of_processes_per_host": "2",
}


@pytest.fixture
def torchrun(training):
    """Makes trainings whose hosts find the stand-in."""

    def make(hosts: int, script: str, agent: str = AGENT, **hyperparameters: str):
        path = "/opt/ml/bin:" + host_environment("")["PATH"]
        job = training(hosts, 2, script, {**ENABLED, **hyperparameters}, env={"PATH": path})
        for host in job.hosts:
            program = host.base / "bin" / "torchrun"
            program.parent.mkdir()
            if agent:
                program.write_text(agent)
                program.chmod(0o755)
        return job

    return make


def seen(host) -> dict:
    return json.loads((host.base / "output/data/agent.json").read_text())


def line(rank: int, *args: str) -> list[str]:
    who = ["--master_addr", "algo-1", "--master_port", "7777", "--node_rank", str(rank)]
    return ["--nnodes", "2", "--nproc_per_node", "2", *who, "script.py", *args]


def test_every_host_runs_an_agent_that_knows_its_rank_and_the_leader(torchrun):
    values = {"lr": "0.1", "text": json.dumps("a b; $(id)")}
    job = torchrun(2, "print('hello')", **values).start().succeed()
    for rank, host in enumerate(job.hosts):
        agent = seen(host)
        assert agent["argv"][1:] == line(rank, "--lr", "0.1", "--text", "a b; $(id)")
        assert agent["cwd"] == "/opt/ml/code"
        env = agent["env"]
        assert env["SM_CURRENT_HOST"] == host.name
        assert env["SM_HP_LR"] == "0.1"
        assert json.loads(env["SM_HOSTS"]) == ["algo-1", "algo-2"]
        assert (env["NCCL_PROTO"], env["NCCL_SOCKET_IFNAME"]) == ("simple", "eth0")
        assert "FI_PROVIDER" not in env
        assert "MUSTER_JOB_KEY" not in env
        assert (host.base / "output" / "success").exists()
    job.assert_quiet()


def test_a_host_alone_is_told_of_no_master(torchrun):
    job = torchrun(1, "print('hello')").start().succeed()
    want = ["--nnodes", "1", "--nproc_per_node", "2", "script.py"]
    assert seen(job.hosts[0])["argv"][1:] == want


def test_an_agent_that_fails_ends_the_job_on_both_hosts(torchrun):
    script = (
        "import os, signal, sys\n"
        "if os.environ['SM_CURRENT_HOST'] == 'algo-2': sys.exit(3)\n"
        "signal.pause()\n"
    )
    job = torchrun(2, script).start()
    assert job.wait() == {"algo-1": 1, "algo-2": 1}, job.story()
    for name in ("algo-1", "algo-2"):
        failure = job.failure(name)
        assert failure.startswith("ExecuteUserScriptError:\nExitCode 3\n"), failure
        assert "algo-2" in failure, failure
    job.assert_quiet()


def test_a_missing_torchrun_is_one_clear_line(torchrun):
    job = torchrun(1, "", agent="").start()
    assert job.leader.wait(GUARD_SECONDS) == 1, job.story()
    assert "torchrun" in job.failure("algo-1"), job.failure("algo-1")


SUM = r"""
import os, sys
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
value = torch.tensor([float(dist.get_rank())])
dist.all_reduce(value)
where = os.environ["SM_CURRENT_HOST"]
# In one write, for the two processes of a host share one pipe.
sys.stdout.write(f"rank {dist.get_rank()} of {dist.get_world_size()} on {where}: {value.item()}\n")
dist.destroy_process_group()
"""


def torch_missing() -> str:
    """Why the real torchrun cannot be tried; empty if it can."""
    python = TORCH / "bin" / "python"
    if not python.exists():
        return f"{python} is missing: a virtual environment with PyTorch"
    done = subprocess.run([python, "-c", "import torch"], capture_output=True, check=False)
    return "" if done.returncode == 0 else f"{python} cannot import torch"


def test_the_real_one_trains_in_four_processes_on_two_hosts(training):
    why = torch_missing()
    if why:
        pytest.skip(why)
    env = {"PATH": f"{TORCH}/bin:/usr/bin:/bin", "GLOO_SOCKET_IFNAME": "eth0"}
    job = training(2, 2, SUM, ENABLED, env=env).start().succeed(5 * GUARD_SECONDS)
    lines = "\n".join(train.text for train in job.trains.values()).splitlines()
    for rank in range(4):
        assert f"rank {rank} of 4 on algo-{rank // 2 + 1}: 6.0" in lines, job.story()
    job.assert_quiet()
