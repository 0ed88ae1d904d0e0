"""The real frameworks train on several hosts: examples/digits under `train` and the operators."""

import json
import os
import re
import signal

import pytest

from lab import REPOSITORY
from process import wait_until
from test_operators import sm_on_path
from training import GUARD_SECONDS, host_environment

EXAMPLES = REPOSITORY / "examples" / "digits"
ENVIRONMENTS = REPOSITORY / "build" / "frameworks"
SECONDS = 5 * GUARD_SECONDS
RESULT = re.compile(
    r"(?:rank|worker) (\d+) of (\d+): loss ([\d.]+) to ([\d.]+), accuracy ([\d.]+)"
    r"(?:, weights (\w+))?"
)


@pytest.fixture
def digits(training):
    """Makes a job of an example in its framework's environment."""

    def make(framework: str, entry: str, hosts: int = 2, processes: int = 1, **more):
        python = ENVIRONMENTS / framework / "bin"
        if not python.exists():
            pytest.skip(f"{python} is missing: make frameworks builds it")
        files = {path.name: path.read_text() for path in EXAMPLES.iterdir() if path.is_file()}
        mpi = {"sagemaker_mpi_enabled": json.dumps(entry == "horovod_keras.py")}
        path = f"{python}:{sm_on_path()}:{host_environment('')['PATH']}"
        return training(
            hosts,
            processes,
            "",
            {"sagemaker_program": json.dumps(entry), **mpi, **more},
            {"PATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"},
            files,
        ).start()

    return make


def trained(job, count: int, model: str) -> list[str]:
    """All did; the weights' checksums."""
    job.succeed(SECONDS)
    found = sorted(RESULT.findall(job.story()))
    assert [int(rank) for rank, *_ in found] == list(range(count)), job.story()
    for _, size, first, last, accuracy, _ in found:
        assert int(size) == count
        assert float(last) < float(first) / 2 and float(accuracy) > 0.9, job.story()
    models = [path.name for host in job.hosts for path in (host.base / "model").glob("*")]
    assert any(name.startswith(model) for name in models), models
    job.assert_quiet()
    return [weights for *_, weights in found]


def test_horovod_and_keras_learn_alike_on_two_hosts_and_on_one(digits):
    two = trained(digits("tf", "horovod_keras.py", hosts=2, processes=1), 2, "model.h5")
    one = trained(digits("tf", "horovod_keras.py", hosts=1, processes=2), 2, "model.h5")
    assert len(set(two)) == 1 and len(set(one)) == 1


def test_tensorflow_learns_with_parameter_servers(digits):
    trained(digits("tf", "tf_parameter_server.sh"), 2, "checkpoint")


def test_tensorflow_learns_on_mirrored_workers(digits):
    weights = trained(digits("tf", "tf_multi_worker.sh"), 2, "model.h5")
    assert len(set(weights)) == 1


def test_tensorflow_learns_under_a_coordinator(digits):
    trained(digits("tf", "tf_coordinator.sh"), 1, "model.h5")


def test_torch_learns_under_torchrun(digits):
    weights = trained(digits("torch", "torch_ddp.sh"), 4, "model.pt")
    assert len(set(weights)) == 1


def test_torch_learns_by_its_hyperparameter(digits):
    enabled = {
        "sagemaker_torch_distributed_enabled": "true",
        "sagemaker_mpi_num_of_processes_per_host": "1",
    }
    weights = trained(digits("torch", "torch_ddp.py", **enabled), 2, "model.pt")
    assert len(set(weights)) == 1


def test_mxnet_learns_with_its_servers(digits):
    weights = trained(digits("mxnet", "mxnet_dist.sh"), 2, "model.params")
    assert len(set(weights)) == 1


@pytest.mark.parametrize(
    ("framework", "entry", "mark", "want"),
    [
        ("tf", "tf_parameter_server.sh", "--job_name ps", "ps 0 on algo-2: killed by SIGKILL"),
        ("tf", "tf_parameter_server.sh", "--job_name worker", "worker 1 on algo-2: killed"),
    ],
)
def test_a_killed_task_ends_the_training(digits, framework, entry, mark, want):
    job = digits(framework, entry, steps="1000000")
    victim = job.hosts[1]
    job.leader.wait_for_output(b"train: roll call", GUARD_SECONDS)

    def tasks():
        return victim.find(lambda words: mark in " ".join(words) and "python" in words[0])

    os.kill(wait_until("the task to run", tasks, SECONDS)[0], signal.SIGKILL)
    assert set(job.wait(SECONDS).values()) == {1}, job.story()
    assert want in job.failure("algo-1"), job.failure("algo-1")
    job.assert_quiet()
