"""The real frameworks train on several hosts: the examples under `train` and the operators."""

import subprocess

import pytest

from frameworks import assert_close, example_job, interpreter, make_data, trained

pytestmark = pytest.mark.framework
TORCH = {"sagemaker_torch_distributed_enabled": "true"}


@pytest.fixture
def example(training):
    """Starts a job of an example in its framework's environment."""
    return lambda *args, **options: example_job(training, *args, **options)


# --- one of each framework ---


def test_horovod_and_keras_learn(example):
    trained(example("tf", "digits/horovod_keras.py"), 2, "model.h5")


def test_tensorflow_learns_with_parameter_servers(example):
    trained(example("tf", "digits/tf_parameter_server.sh"), 2, "checkpoint")


def test_torch_learns_under_torchrun(example):
    trained(example("torch", "digits/torch_ddp.sh"), 4, "model.pt")


def test_mxnet_learns_with_its_servers(example):
    trained(example("mxnet", "digits/mxnet_dist.sh"), 2, "model.params")


# --- the rest ---


def test_tensorflow_learns_under_a_coordinator(example):
    trained(example("tf", "digits/tf_coordinator.sh"), 1, "model.h5")


@pytest.mark.parametrize(
    ("framework", "entry", "model", "enabled"),
    [
        ("tf", "digits/horovod_keras.py", "model.h5", {}),
        ("torch-horovod", "horovod-pytorch/horovod_torch.py", "model.pt", {}),
        ("torch", "digits/torch_ddp.py", "model.pt", TORCH),
        # The placement alone differs: two workers, wherever they are.
        ("tf", "digits/tf_multi_worker.sh", "model.h5", {}),
    ],
    ids=["horovod_keras", "horovod_torch", "torch_ddp", "tf_multi_worker"],
)
def test_two_hosts_learn_what_one_with_twice_the_processes_does(
    example, framework, entry, model, enabled
):
    two = trained(example(framework, entry, hosts=2, processes=1, **enabled), 2, model)
    one = trained(example(framework, entry, hosts=1, processes=2, **enabled), 2, model)
    assert_close(framework, two, one)


# The guide's files: other keys, pictures of 0 to 1 with their channel.
AS_IN_THE_GUIDE = """
import pathlib, sys
import numpy as np
for path in pathlib.Path(sys.argv[1]).glob("*/*.npz"):
    file = np.load(path)
    data = file["x"].astype(np.float32)[..., np.newaxis] / 255
    np.savez(path, data=data, labels=file["y"])
"""


def test_the_mnist_guides_files_are_read_by_the_example(example, folder):
    data = make_data(folder)
    subprocess.run([interpreter("tf"), "-c", AS_IN_THE_GUIDE, data], check=True)
    trained(example("tf", "horovod-mnist/mnist_hvd.py", channels=data, epochs="4"), 2, "model.h5")


def test_a_second_job_goes_on_after_the_first_ones_checkpoint(example, folder):
    data = make_data(folder)

    def run(epochs: int, learned: bool = True, **places):
        words = {"epochs": str(epochs), **places}
        job = example("tf", "horovod-mnist/mnist_hvd.py", channels=data, **words)
        return job, trained(job, 2, "model.h5", learned)

    _, straight = run(4, checkpoint_dir='"/opt/ml/elsewhere"')
    job, half = run(2, learned=False)
    # Only the leader's host has checkpoints: the second job's other rank learns it from there.
    assert not (job.hosts[1].base / "checkpoints").exists()
    places = sorted(path.name for path in (job.hosts[0].base / "checkpoints").iterdir())
    assert places == ["epoch-1.h5", "epoch-2.h5"]
    job, resumed = run(4, learned=False)  # A resumed run's first loss is low.
    assert "goes on after 2 of 4 epochs" in job.story()
    assert_close("tf", straight, resumed)
    with pytest.raises(AssertionError):
        assert_close("tf", straight, half)
