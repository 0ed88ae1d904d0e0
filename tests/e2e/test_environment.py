"""The environment of each kind of program that muster starts has no variables of muster.

The exceptions are MUSTER_SOCKET, with which operators find their host's `train`, and
MUSTER_TRAINING_LOG, which says whether operators in an entry point log their launches.
"""

import json
import re

import pytest

from lab import VENV
from sm_server import SmServer
from test_operators import entry_job, on_hosts
from test_server_jobs import BUCKET, Job
from training import Training

# Also shows the parent processes' environments in /proc.
SHOW = """
import os
def texts():
    pid = os.getpid()
    while pid > 0:
        with open("/proc/%d/environ" % pid, "rb") as environ:
            yield pid, environ.read()
        with open("/proc/%d/stat" % pid) as stat:
            pid = int(stat.read().rsplit(")", 1)[1].split()[1])
own = {name for name in os.environ if name.startswith("MUSTER_")}
shown = {name.split("=")[0] for name in next(texts())[1].decode().split("\\0")
         if name.startswith("MUSTER_")}
key = os.environ.pop("LOOK_FOR", "").encode()[::-1]
known = [pid for pid, text in texts() if key and key in text]
line = " ".join(["sees", *sorted(own | shown), *map("the key of {}".format, known)])
os.write(1, (line + "\\n").encode())
"""
NOTHING = ["sees"]
SOCKET = ["sees MUSTER_SOCKET"]
ENTRY_POINT = ["sees MUSTER_SOCKET MUSTER_TRAINING_LOG"]

CHANNEL = "/opt/ml/input/data/train"
# What it opens takes the number that the steward's stream had.
ENTRY = f"""
import subprocess, sys
show = [sys.executable, "{CHANNEL}/show.py"]
with open("/tmp/own", "wb") as own:
    subprocess.run(show, check=True)
    subprocess.run(["sm", "mpirun", "--process_per_hosts", "2", *show], check=True)
assert open("/tmp/own").read() == ""
"""


def seen(job: Training) -> list[str]:
    """What the programs said, each thing once."""
    return sorted(set(re.findall(r"sees.*", job.story())))


def look_for(job: Training) -> None:
    """The programs look for the job's key; backwards, so that they do not find this."""
    job.env["LOOK_FOR"] = job.key[::-1]


@pytest.mark.parametrize(("hosts", "processes", "want"), [(1, 0, NOTHING), (2, 0, ENTRY_POINT),
                                                          (2, 2, SOCKET)])
def test_a_script_alone_on_two_hosts_and_as_ranks(training, hosts, processes, want):
    mpi = {"sagemaker_mpi_enabled": json.dumps(processes > 0)}
    job = training(hosts, max(processes, 1), SHOW, mpi)
    look_for(job)
    job.start().succeed()
    assert seen(job) == want, job.story()
    assert job.story().count("sees") == hosts * max(processes, 1)


@pytest.mark.parametrize("operator", ["mpirun", "run --", "torchrun --launcher direct",
                                      "mxnet run", "tf multi-worker"])
def test_an_operator_inside_train_and_what_it_starts(training, operator):
    program = "train.py" if "torchrun" in operator or "tf" in operator else "python train.py"
    line = f"python train.py && sm {operator} {program}\n"
    job = entry_job(training, 2, line, SHOW, files={"mxnet.py": SHOW})  # Servers import mxnet.
    look_for(job)
    job.start()
    assert set(job.wait().values()) == {0}, job.story()
    assert seen(job) == SOCKET + ENTRY_POINT, job.story()
    # MXNet's scheduler and servers may be ended with the workers, before they say it.
    assert 4 <= job.story().count("sees") <= (7 if "mxnet" in operator else 4)


def test_a_container_whose_entry_point_is_an_operator(training):
    job = on_hosts(training, 2, "mpirun", "python", "-c", SHOW).succeed()
    assert seen(job) == SOCKET, job.story()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    jobs = {"python": str(VENV / "bin" / "python")}
    with SmServer(tmp_path_factory.mktemp("environment"), jobs=jobs) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        s3.put_object(Bucket=BUCKET, Key="train/show.py", Body=SHOW.encode())
        s3.put_object(Bucket=BUCKET, Key="train/entry.py", Body=ENTRY.encode())
        yield server


def entry_point(server, *words, hosts: int = 2) -> Job:
    """A job of the server that starts this in place of `train`."""
    algorithm = {
        "TrainingImage": "host",
        "TrainingInputMode": "File",
        "ContainerEntrypoint": list(words),
    }
    environment = {"MUSTER_FAILURE_GRACE": "2", "FLAG": "set"}
    job = Job(server, "", hosts, AlgorithmSpecification=algorithm, Environment=environment)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", job.text()
    return job


def sees(job: Job) -> dict[str, list[str]]:
    """By host, so that a line in another's stream is found out."""
    return {
        host: [match[0] for line in lines if (match := re.search("sees.*", line))]
        for host, lines in job.log().items()
    }


def test_an_entry_point_of_the_jobs_own_and_the_operators_in_it(server):
    show = f"python {CHANNEL}/show.py"
    script = f'test "$FLAG" = set; {show}; sm mpirun --process_per_hosts 2 {show}; sm run -- {show}'
    job = entry_point(server, "/bin/sh", "-euc", script)
    want = NOTHING + 3 * SOCKET
    assert sees(job) == {"algo-1": want, "algo-2": want}, job.text()
    assert "the roll call's key is derived" not in job.text()


def test_an_entry_point_in_python_that_passes_no_descriptor_on(server):
    job = entry_point(server, "python", f"{CHANNEL}/entry.py")
    want = NOTHING + 2 * SOCKET
    assert sees(job) == {"algo-1": want, "algo-2": want}, job.text()


def test_an_operator_as_the_entry_point(server):
    job = entry_point(server, "sm", "mpirun", "python", f"{CHANNEL}/show.py")
    assert sees(job) == {"algo-1": SOCKET, "algo-2": SOCKET}, job.text()
