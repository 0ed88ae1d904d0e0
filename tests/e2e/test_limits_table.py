"""Every limit that a job can run into ends it by name, with the figure, here and on a server; a job
of a type with limits has them, in each group its own."""

import os
import resource

import pytest
from fit import GUARD_SECONDS

from lab import VENV
from sm_server import SmServer
from test_limits import CPUS, FILL, needs_volumes
from test_server_groups import group, resources
from test_server_jobs import BUCKET, Job

ALLOCATE = "x = bytearray(1 << 30)\n"
# What lies in memory counts: 80 MiB of files, 110 and the program are more than 192.
ALLOCATE_BESIDE_FILES = """\
for path in ("/tmp/a", "/dev/shm/a"):
    with open(path, "wb", buffering=0) as file:
        for _ in range(40):
            file.write(bytes(1 << 20))
x = bytearray(%d << 20)
print("fits", flush=True)
"""
THREADS = """\
import threading, time
threading.stack_size(64 << 10)
while True:
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
"""
FILES = """\
files = []
while True:
    files.append(open("/dev/null"))
"""
MEMORY = "192 MiB"
OPEN_FILES = min(65536, resource.getrlimit(resource.RLIMIT_NOFILE)[1])

# What runs into a limit, and what the end says.
OVERRUNS = [
    pytest.param(ALLOCATE, f"reached its memory limit ({MEMORY})", id="memory"),
    pytest.param(
        ALLOCATE_BESIDE_FILES % 110, f"reached its memory limit ({MEMORY})", id="files-in-memory"
    ),
    pytest.param(FILL % "/dev/shm", "/dev/shm: 48 MiB full", id="shm"),
    pytest.param(FILL % "/tmp", "/tmp: 96 MiB full", id="tmp"),
    pytest.param(FILL % "/opt/ml/output", "disk: 1 GiB of VolumeSizeInGB=1 full", id="disk",
                 marks=needs_volumes),
    pytest.param(FILES, f"a process reached its limit of {OPEN_FILES} open files", id="open-files"),
]


@pytest.mark.parametrize(("script", "want"), OVERRUNS)
def test_sm_fit_names_the_limit(machine, script, want):
    process = machine.fit(script, "--memory", "192m", "--volume-size", 1)
    assert process.wait(GUARD_SECONDS) == 1, process.text
    assert f"algo-1: {want}" in process.text


def test_files_in_memory_leave_room_for_what_fits(machine):
    process = machine.fit(ALLOCATE_BESIDE_FILES % 30, "--memory", "192m")
    assert process.wait(GUARD_SECONDS) == 0, process.text


def test_sm_fit_names_processes(machine):
    process = machine.fit(THREADS)
    assert process.wait(GUARD_SECONDS) == 1, process.text
    assert "algo-1: reached its limit of 16384 processes" in process.text


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    config = {
        "python": str(VENV / "bin" / "python"),
        "instance_types": {
            "ml.small": {"memory_gib": 0.1875},
            "ml.one": {"cpus": 1},
            "ml.half": {"cpus": 0.5},
            "ml.huge": {"cpus": 900},
            "*": {},
        },
    }
    with SmServer(tmp_path_factory.mktemp("server"), jobs=config) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a", Body=b"a")
        yield server


def of_type(kind: str) -> dict:
    return {"InstanceType": kind, "InstanceCount": 1, "VolumeSizeInGB": 1}


@pytest.mark.parametrize(("script", "want"), OVERRUNS)
def test_a_server_names_the_limit(server, script, want):
    told = Job(server, script, ResourceConfig=of_type("ml.small")).at_end(GUARD_SECONDS)
    assert told["TrainingJobStatus"] == "Failed"
    assert f"algo-1: {want}" in told["FailureReason"]


def test_a_server_names_processes(server):
    told = Job(server, THREADS, ResourceConfig=of_type("ml.any")).at_end(GUARD_SECONDS)
    assert "algo-1: reached its limit of 16384 processes" in told["FailureReason"]


TELL_CPUS = CPUS + 'print("threads", os.environ.get("OMP_NUM_THREADS"), flush=True)\n'


def told_by(job: Job) -> dict[str, str]:
    """The line about processors by host."""
    assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
    return {
        host: " ".join(line for line in lines if "cpus [" in line or "threads " in line)
        for host, lines in job.log().items()
    }


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_hosts_have_their_types_processors(server):
    every = str(sorted(os.sched_getaffinity(0)))
    asked = resources(group("one", "ml.one", 1), group("half", "ml.half", 1),
                      group("all", "ml.any", 1))
    told = told_by(Job(server, TELL_CPUS, ResourceConfig=asked))
    own = told["algo-1"].split("cpus ")[1].split("]")[0] + "]"
    assert "," not in own
    assert told["algo-1"].startswith(f"cpus {own} 1")
    assert told["algo-2"] == f"cpus {every} 1 threads 1"
    assert told["algo-3"] == f"cpus {every} {len(os.sched_getaffinity(0))} threads None"


def test_a_type_larger_than_the_machine_has_all_of_it(server):
    every = sorted(os.sched_getaffinity(0))
    told = told_by(Job(server, TELL_CPUS, ResourceConfig=of_type("ml.huge")))
    assert told["algo-1"].startswith(f"cpus {every} {len(every)}")
