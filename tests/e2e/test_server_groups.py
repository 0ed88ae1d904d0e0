"""Jobs of `sm server` whose hosts are not alike: ResourceConfig.InstanceGroups."""

import json

import pytest
from botocore.exceptions import ClientError

from lab import VENV
from sm_server import SmServer
from test_server_jobs import BUCKET, Job, channel

SCRIPT = """
import json, os
rank = "none"
if "OMPI_COMM_WORLD_RANK" in os.environ:
    from mpi4py import MPI
    rank = "%d of %d" % (MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size())
host = os.environ["SM_CURRENT_HOST"]
with open("/opt/ml/input/config/resourceconfig.json") as file:
    told = json.load(file)
has = {name: sorted(os.listdir(os.environ["SM_CHANNEL_" + name.upper()]))
       for name in json.loads(os.environ["SM_CHANNELS"])}
print("told " + json.dumps([host, rank, os.environ["SM_CURRENT_INSTANCE_GROUP"], has, told]),
      flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    config = {
        "python": str(VENV / "bin" / "python"),
        "instance_types": {"ml.small": {"memory_gib": 0.5}, "ml.large": {"memory_gib": 1}},
        "capacity": {"ml.large": 2},
    }
    with SmServer(folder, jobs=config) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        for key in ("train/a", "large/b", "shared/1", "shared/2", "shared/3"):
            s3.put_object(Bucket=BUCKET, Key=key, Body=b"x")
        yield server


def group(name: str, kind: str, count: int) -> dict:
    return {"InstanceGroupName": name, "InstanceType": kind, "InstanceCount": count}


def resources(*groups: dict) -> dict:
    return {"InstanceGroups": list(groups), "VolumeSizeInGB": 1}


def test_groups_have_their_hosts_types_and_channels(server):
    large = {"InstanceGroupNames": ["large"]}
    inputs = [
        channel("train", "train"),
        channel("large", "large", **large),
        channel("shared", "shared", S3DataDistributionType="ShardedByS3Key", **large),
    ]
    asked = resources(group("small", "ml.small", 1), group("large", "ml.large", 2))
    values = {"sagemaker_distribution_instance_groups": ["large"]}
    job = Job(server, SCRIPT, processes=1, hyperparameters=values, InputDataConfig=inputs,
              ResourceConfig=asked)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", (told.get("FailureReason"), job.text())
    assert told["ResourceConfig"] == asked
    lines = [line.partition("told ")[2] for line in job.text().splitlines() if "told " in line]
    by_host = {each[0]: each[1:] for each in map(json.loads, lines)}
    assert sorted(by_host) == ["algo-1", "algo-2", "algo-3"] == sorted(job.log())
    assert by_host["algo-1"][:3] == ["none", "small", {"train": ["a"]}]
    assert by_host["algo-2"][:2] == ["0 of 2", "large"]
    assert by_host["algo-3"][:2] == ["1 of 2", "large"]
    assert by_host["algo-2"][2] == {"large": ["b"], "shared": ["1", "3"], "train": ["a"]}
    assert by_host["algo-3"][2] == {"large": ["b"], "shared": ["2"], "train": ["a"]}
    config = by_host["algo-3"][3]
    assert config["current_instance_type"] == "ml.large"
    assert config["current_group_name"] == "large"
    assert config["hosts"] == ["algo-1", "algo-2", "algo-3"]
    assert config["instance_groups"] == [
        {"instance_group_name": "small", "instance_type": "ml.small", "hosts": ["algo-1"]},
        {"instance_group_name": "large", "instance_type": "ml.large",
         "hosts": ["algo-2", "algo-3"]},
    ]


@pytest.mark.parametrize(("who", "end"), [("algo-1", "Failed"), ("algo-2", "Completed")])
def test_a_groups_hosts_have_its_types_memory(server, who, end):
    script = f"""
import os
if os.environ["SM_CURRENT_HOST"] == "{who}":
    print("taken", len(bytearray(700 << 20)), flush=True)
"""
    asked = resources(group("small", "ml.small", 1), group("large", "ml.large", 1))
    told = Job(server, script, ResourceConfig=asked).at_end()
    assert told["TrainingJobStatus"] == end, told
    assert end == "Completed" or "memory" in told["FailureReason"], told


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({"ResourceConfig": resources(group("a", "ml.large", 1), group("a", "ml.small", 1))},
         "two groups named a"),
        ({"ResourceConfig": resources(group("a", "ml.small", 1), group("b", "ml.large", 3))},
         "ml.large: 3 requested, 2 available"),
    ],
    ids=["twice", "capacity"],
)
def test_groups_that_cannot_be_are_refused(server, change, want):
    with pytest.raises(ClientError, match=want):
        Job(server, "print()", **change)
