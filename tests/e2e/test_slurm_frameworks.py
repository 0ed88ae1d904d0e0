"""The examples of frameworks, by `sm fit --engine slurm` on two nodes: as on one machine."""

import pytest
from frameworks import EXAMPLES, HUSH, check_results, interpreter
from slurm_cluster import Cluster

pytestmark = [pytest.mark.slurm, pytest.mark.framework]

SECONDS = 300


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", 2) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("framework", "program", "mpi", "ranks", "model"),
    [
        ("tf", "horovod_keras.py", ["--processes-per-host", "2"], 4, "model.h5"),
        ("torch", "torch_ddp.sh", [], 4, "model.pt"),
        ("mxnet", "mxnet_dist.sh", [], 2, "model.params"),
    ],
    ids=["horovod", "torchrun", "mxnet"],
)
def test_a_framework_learns_on_two_nodes(place, framework, program, mpi, ranks, model):
    words = ["--source-dir", EXAMPLES / "digits", "--python", interpreter(framework)]
    words += mpi
    for name, value in HUSH.items():
        words += ["--env", f"{name}={value}"]
    job = place.start(program, *words, hosts=2)
    assert job.wait(SECONDS) == 0, job.text
    assert len(check_results(job.text, ranks)) == 1, job.text
    assert (place.output / "model" / model).stat().st_size > 0
