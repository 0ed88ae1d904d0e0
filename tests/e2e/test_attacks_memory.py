"""A job fills the memory of muster itself with file names, which no limit of its host counts."""

import json
import os
import pathlib
import re
import resource
import subprocess
import sys

import pytest

from lab import SM, VENV
from process import wait_until
from s3_server import S3Server
from sm_server import SmServer
from test_server_jobs import BUCKET, Job
from test_transfer import Results

SECONDS = 120.0
FILES = 10_000
MEMORY_KIB = 100 << 10  # With each path held once it would be 150 MiB, and it was three times.
SCRIPT = f"""
import os, signal
at = os.open("/opt/ml/checkpoints", os.O_RDONLY)
for _ in range(60):
    os.mkdir("d" * 250, dir_fd=at)
    at = os.open("d" * 250, os.O_RDONLY, dir_fd=at)
for number in range({FILES}):
    os.close(os.open("f" * 200 + str(number), os.O_WRONLY | os.O_CREAT, dir_fd=at))
with open("/opt/ml/checkpoints/kept", "w") as file:
    file.write("kept")
print("made all", flush=True)
"""

# Runs a program and prints its peak. A child starts with its parent's peak, and pytest's is large.
MEASURE = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    config = {"python": str(VENV / "bin" / "python")}
    with SmServer(tmp_path_factory.mktemp("server"), jobs=config) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        yield server


def test_long_paths_of_checkpoints_take_no_memory_of_the_steward(server):
    job = Job(server, SCRIPT, CheckpointConfig={"S3Uri": f"s3://{BUCKET}/kept/"})
    peak = 0

    def ended():
        nonlocal peak
        for file in (server.data / "machine" / "jobs" / job.name).glob("algo-1/steward.pid"):
            try:
                pid = file.read_text().split()[0]
                with open(f"/proc/{pid}/status") as status:
                    peak = max(peak, int(re.search(r"VmHWM:\s+(\d+)", status.read())[1]))
            except (OSError, IndexError, TypeError):
                pass  # Just starting, or ended.
        return job.describe()["TrainingJobStatus"] in ("Completed", "Failed")

    wait_until("the job to end", ended, SECONDS)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", (told.get("FailureReason"), job.text())
    assert 0 < peak < MEMORY_KIB, f"{peak} KiB"
    assert "made all" in job.text()
    found = server.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="kept/")["Contents"]
    assert [each["Key"] for each in found] == ["kept/kept"]
    assert f"checkpoints: {FILES} files skipped: their paths are too long" in job.text()


def peaks_of(word: str) -> list[int]:
    """The peaks in KiB of the processes whose command line has this word."""
    peaks = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (process / "cmdline").read_bytes().split(b"\0"):
                peaks += re.findall(r"VmHWM:\s+(\d+)", (process / "status").read_text())
        except OSError:
            pass  # Ended meanwhile.
    return [int(each) for each in peaks]


@pytest.mark.deep
def test_a_million_results_take_no_memory_of_steward_and_upload(server):
    script = """
import os
for folder in range(1000):
    os.makedirs(f"/opt/ml/model/{folder:095}")
    at = os.open(f"/opt/ml/model/{folder:095}", os.O_RDONLY)
    for number in range(1000):
        os.close(os.open(f"{number}", os.O_WRONLY | os.O_CREAT, dir_fd=at))
    os.close(at)
os.link(f"/opt/ml/model/{0:095}/0", "/opt/ml/model/further")
"""
    resources = {"InstanceType": "x", "InstanceCount": 1, "VolumeSizeInGB": 30}
    job = Job(server, script, ResourceConfig=resources)
    peaks = {"--spec": 0, "--upload": 0}

    def ended():
        for word in peaks:
            peaks[word] = max([peaks[word], *peaks_of(word)])
        return job.describe()["TrainingJobStatus"] in ("Completed", "Failed")

    wait_until("the job to end", ended, 3000)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    for word, peak in peaks.items():
        assert 0 < peak < MEMORY_KIB, f"{word}: {peak} KiB"


def test_a_steward_at_its_limit_of_memory_fails_its_own_job_with_that_reason(server):
    script = """
import os, resource, time
print("here", resource.getrlimit(resource.RLIMIT_DATA), flush=True)
while not os.path.exists("/tmp/limited"):
    time.sleep(0.05)
for number in range(10**9):
    with open(f"/opt/ml/checkpoints/{number % 20}", "wb") as file:
        file.write(bytes(20 << 20))
    time.sleep(0.5)
"""
    job = Job(server, script, CheckpointConfig={"S3Uri": f"s3://{BUCKET}/large/"})
    wait_until("the job to run", lambda: "here" in job.text(), SECONDS)
    own = resource.getrlimit(resource.RLIMIT_DATA)
    assert f"here {own}" in job.text(), "the limit is the steward's, not the job's"
    folder = server.data / "machine" / "jobs" / job.name
    pid = int((folder / "algo-1" / "steward.pid").read_text().split()[0])
    soft, hard = resource.prlimit(pid, resource.RLIMIT_DATA)
    assert soft == 256 << 20
    init = pathlib.Path("/proc", (folder / "algo-1" / "bundle" / "pid").read_text().strip())
    resource.prlimit(pid, resource.RLIMIT_DATA, (4096, hard))  # The kernel takes 0 for none.
    # The job's first upload comes after this: a later one could use an earlier one's memory.
    host_tmp = os.open(init / "root" / "tmp", os.O_PATH)
    owner = init.stat()  # The machine's root has no ID in the host.
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        os.close(os.open("limited", os.O_CREAT | os.O_WRONLY, dir_fd=host_tmp))
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.close(host_tmp)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Failed"
    assert "killed for memory: exceeded the limit of 256 MiB" in told["FailureReason"]
    # The kernel kills it with its steward, and takes its time where much runs.
    wait_until("its host to be gone", lambda: not init.exists(), SECONDS)
    wait_until("the job's folder to go", lambda: not folder.exists(), SECONDS)


def test_long_paths_of_results_take_no_memory_of_their_upload(tmp_path):
    """Each held once would be 60 MiB; it was four times."""
    with S3Server() as s3:
        s3.buckets["bucket"] = {}
        results = Results(s3, tmp_path, 1)
        at = os.open(results.job / "algo-1" / "result" / "model", os.O_RDONLY)
        for _ in range(11):
            os.mkdir("d" * 250, dir_fd=at)
            inner = os.open("d" * 250, os.O_RDONLY, dir_fd=at)
            os.close(at)
            at = inner
        for number in range(2 * FILES):
            os.close(os.open("f" * 200 + str(number), os.O_WRONLY | os.O_CREAT, dir_fd=at))
        os.close(at)
        upload = subprocess.run(
            [sys.executable, "-c", MEASURE, SM, "steward", "--upload", results.job, "--completed"],
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(upload.stdout)["model"]["entries"] == 2 * FILES + 11
        assert int(upload.stderr.split()[-1]) < MEMORY_KIB, upload.stderr
