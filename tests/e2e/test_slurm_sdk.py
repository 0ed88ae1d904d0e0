"""SageMaker's SDK, on `sm server` whose jobs run on a Slurm cluster: as beside it."""

import pytest
from slurm_cluster import Cluster
from test_server_sdk import ARGUMENTS, BUCKET, Case
from test_slurm_server import ClusterServer, certificate

pytestmark = [pytest.mark.slurm, pytest.mark.sdk]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", 3) as cluster:
        with cluster.visited("login"):
            images = {"host": {}}
            with ClusterServer(folder, cluster, images=images, **certificate(folder)) as server:
                server.folder = folder
                yield server


def test_an_estimator_with_mpi_fits_on_three_nodes(server):
    case = Case(server, "v2.py", "tensorflow", "sdk-venv")
    found = case.found()
    for rank in range(6):
        assert case.shown.count(f"rank {rank} of 6 sums 15") == 1
    for status in ("Starting", "Downloading", "Training", "Uploading", "Completed"):
        assert f" {status} - " in case.shown
    assert found["total"] == 15
    assert found["channels"] == {"test": ["test.txt"], "train": ["train.txt"]}
    assert [word for word in found["arguments"] if "model" not in word] == ARGUMENTS
    assert found["model_data"].startswith(f"s3://{BUCKET}/")


def test_a_job_without_a_waiting_client_is_listed_and_stopped(server):
    found = Case(server, "v2.py", "stop", "sdk-venv").found()
    assert found["running"] == ["InProgress", "Training"]
    assert found["transitions"][-4:] == ["Training", "Stopping", "Uploading", "Stopped"]
    assert found["model"] == ["stopped"]
