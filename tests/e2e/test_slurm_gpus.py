"""GPUs that Slurm allocates to hosts, and their utilization, with stand-ins: no test has a GPU."""

import json
import sqlite3
import sys

import pytest
from process import wait_until
from slurm_cluster import Cluster
from test_server_jobs import BUCKET, Job
from test_slurm_server import ClusterServer, certificate, log_of

pytestmark = pytest.mark.slurm

SECONDS = 120
MIB = 1 << 20
NODES = (1, 2, 3)
SCRIPT = """
import os, time
own = sorted(name for name in os.listdir("/dev") if name.startswith("standin"))
for name in own:
    with open(f"/dev/{name}", "rb", buffering=0) as device:
        assert device.read(4) == bytes(4)
print("gpus", os.environ["SM_NUM_GPUS"], os.environ.get("CUDA_VISIBLE_DEVICES"), *own, flush=True)
time.sleep(600)
"""
# What the nodes' vendor says of their GPUs.
CDI = {
    "cdiVersion": "0.6.0",
    "kind": "example.com/gpu",
    "devices": [
        {
            "name": str(gpu),
            "containerEdits": {
                "deviceNodes": [
                    {"path": f"/dev/standin{gpu}", "hostPath": f"/run/cluster/gpu/nvidia{gpu}"}
                ]
            },
        }
        for gpu in range(2)
    ],
}
# Each of a node's two GPUs has figures of its own.
TOOL = f"""#!{sys.executable}
import os, time
node = int(os.uname().nodename.removeprefix("node"))
while True:
    for gpu in range(2):
        busy, used = 10 * node + gpu, 100 * node + gpu
        print(f"{{gpu}}, 00000000:0{{gpu}}:00.0, {{busy}}, {{used}}", flush=True)
    time.sleep(0.1)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", len(NODES)) as cluster:
        tool = cluster.folder / "bin" / "nvidia-smi"
        tool.parent.mkdir()
        tool.write_text(TOOL)
        tool.chmod(0o755)
        (cluster.folder / "gpus.json").write_text(json.dumps(CDI))
        for node in NODES:  # Each has a /run of its own.
            words = "install -D -m 644 /run/cluster/gpus.json /run/cdi/gpus.json"
            cluster.out(f"node{node}", *words.split())
        yield cluster


@pytest.fixture(params=["light", "container"])
def server(request, cluster, tmp_path):
    types = {"ml.p3.2xlarge": {"gpus": 1}, "ml.p3.8xlarge": {"gpus": 2}}
    more = {"instance_types": types, "path": "/run/cluster/bin:", "slurm": {"hosts": request.param}}
    with cluster.visited("login"):
        with ClusterServer(tmp_path, cluster, **more, **certificate(tmp_path)) as server:
            server.hosts = request.param
            s3 = server.client("s3")
            s3.create_bucket(Bucket=BUCKET)
            s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"forty-two")
            yield server


def job_on(server, instance_type: str) -> Job:
    resources = {"InstanceType": instance_type, "InstanceCount": 1, "VolumeSizeInGB": 1}
    return Job(server, SCRIPT, ResourceConfig=resources)


def word_of(job: Job) -> str:
    """The job's own line."""

    def said() -> list[str]:
        return [line for line in log_of(job, "algo-1") if line.startswith("gpus ")]

    return wait_until("its line", said, SECONDS)[0]


def figures(server, job: Job) -> set[tuple[int, float, int]]:
    """Number, percent of the time and bytes of each of the job's GPUs; none so far."""
    with sqlite3.connect(server.data / "muster.db", timeout=60) as store:
        rows = store.execute(
            "SELECT gpu, percent, memory FROM host_gpus "
            "WHERE job = (SELECT number FROM jobs WHERE name = ?)",
            (job.name,),
        ).fetchall()
    store.close()
    return set(rows)


def wanted(node: int, gpus: int) -> set[tuple[int, float, int]]:
    return {(gpu, 10.0 * node + gpu, (100 * node + gpu) * MIB) for gpu in range(gpus)}


def test_hosts_have_the_gpus_from_slurm_and_report_their_utilization(server):
    both = job_on(server, "ml.p3.8xlarge")
    one = job_on(server, "ml.p3.2xlarge")
    none = job_on(server, "ml.c5.xlarge")
    said = [word_of(job) for job in (both, one, none)]
    if server.hosts == "light":  # The machine's /dev, and what of it is the host's own.
        assert said[:2] == ["gpus 2 0,1", "gpus 1 0"] and said[2].startswith("gpus 0 ")
    else:
        assert said == ["gpus 2 None standin0 standin1", "gpus 1 None standin0", "gpus 0 None"]
    told = [
        wait_until("figures", lambda job=job: figures(server, job), SECONDS) for job in (both, one)
    ]
    assert told in [[wanted(a, 2), wanted(b, 1)] for a in NODES for b in NODES if a != b]
    assert not figures(server, none)
