"""More losses than spares, with checkpoints in S3, on `sm server` and five nodes."""

import pytest
from process import wait_until
from slurm_cluster import Cluster
from slurm_jobs import left_on
from test_server_jobs import BUCKET, Job
from test_slurm_server import GETS_ON, ClusterServer, certificate, log_of

pytestmark = [pytest.mark.slurm, pytest.mark.deep]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", 5) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def server(cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    with cluster.visited("login"):
        with ClusterServer(folder, cluster, {"spares": 1}, **certificate(folder)) as server:
            server.client("s3").create_bucket(Bucket=BUCKET)
            server.client("s3").put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"forty-two")
            yield server


def begins(job: Job, host: str) -> list[int]:
    """The step that each attempt of the host began at."""
    return [int(line.split()[2]) for line in log_of(job, host) if "begins at" in line]


def kept(server: ClusterServer, prefix: str) -> list[int]:
    """The steps that hosts have kept, the least first."""
    s3 = server.client("s3")
    there = s3.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
    bodies = [s3.get_object(Bucket=BUCKET, Key=each["Key"])["Body"] for each in there]
    return sorted(int(body.read()) for body in bodies)


def test_the_second_of_two_losses_finds_no_spare_and_both_go_on_from_the_checkpoints(
    server, cluster
):
    script = GETS_ON.replace("STEPS", "400")
    job = Job(server, script, hosts=2, CheckpointConfig={"S3Uri": f"s3://{BUCKET}/kept/losses"})
    names = set()

    def submissions() -> int:
        names.update(line.split()[1] for line in server.queue())
        return len(names)

    least = 0
    for attempt, lost in enumerate(("node2", "node3"), 1):
        least += 20
        wait_until(f"step {least}", lambda: (kept(server, "kept/losses/") or [0])[0] >= least, 60)
        assert submissions() == 1
        cluster.out(lost, "ip", "link", "set", "eth0", "down")
        wait_until(f"attempt {attempt + 1}", lambda: len(begins(job, "algo-2")) > attempt, 90)
    assert submissions() == 2
    told = job.at_end(120)
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    for host in ("algo-1", "algo-2"):
        first, second, third = begins(job, host)
        assert first == 0 and second >= 20 and third >= 40, begins(job, host)
    for lost in ("node2", "node3"):
        cluster.out(lost, "ip", "link", "set", "eth0", "up")
        wait_until(f"strays on {lost} to end", lambda: not left_on(cluster, lost), 60)
