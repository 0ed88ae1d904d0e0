"""A job fills the memory of muster itself with file names, which no limit of its host counts."""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import resource
import shutil
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


# A million files whose paths have 100 bytes.
MANY = """
import os
for folder in range(1000):
    os.mkdir(f"PLACE/{folder:095}")
    at = os.open(f"PLACE/{folder:095}", os.O_RDONLY)
    for number in range(1000):
        os.close(os.open(f"{number:04}", os.O_WRONLY | os.O_CREAT, dir_fd=at))
    os.close(at)
"""
MANY_SECONDS = 3000.0
# The stored objects, and a volume that is large enough for an inode for each (16 KiB).
FREE = 22 << 30


def peaks_while_it_runs(job: Job, *words: str) -> dict[str, int]:
    """The highest peak in KiB of the processes with each of these words; the job completes."""
    peaks = dict.fromkeys(words, 0)

    def ended():
        for word in words:
            peaks[word] = max([peaks[word], *peaks_of(word)])
        return job.describe()["TrainingJobStatus"] in ("Completed", "Failed")

    wait_until("the job to end", ended, MANY_SECONDS)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    return peaks


@pytest.mark.deep
def test_a_million_results_take_no_memory_of_steward_and_upload(server):
    script = MANY.replace("PLACE", "/opt/ml/model")
    script += """
os.link(f"/opt/ml/model/{0:095}/0000", "/opt/ml/model/further")
"""
    resources = {"InstanceType": "x", "InstanceCount": 1, "VolumeSizeInGB": 30}
    job = Job(server, script, ResourceConfig=resources)
    for word, peak in peaks_while_it_runs(job, "--spec", "--upload").items():
        assert 0 < peak < MEMORY_KIB, f"{word}: {peak} KiB"


@pytest.mark.deep
def test_a_million_checkpoints_are_stored_and_restored_without_memory_of_the_steward(server):
    """As many as a job's key may store on this server."""
    free = shutil.disk_usage(server.data).free
    assert free > FREE, f"a volume for a million files takes {FREE} bytes, {free} are free"
    kept = {
        "CheckpointConfig": {"S3Uri": f"s3://{BUCKET}/million/"},
        "ResourceConfig": {"InstanceType": "x", "InstanceCount": 1, "VolumeSizeInGB": 30},
    }
    stores = Job(server, MANY.replace("PLACE", "/opt/ml/checkpoints"), **kept)
    stored = peaks_while_it_runs(stores, "--spec")["--spec"]
    count = "import os; print(sum(len(f) for _, _, f in os.walk('/opt/ml/checkpoints')), 'here')"
    restores = Job(server, count, **kept)
    restored = peaks_while_it_runs(restores, "--spec")["--spec"]
    assert "1000000 here" in restores.text()
    assert 0 < stored < MEMORY_KIB, f"{stored} KiB"
    assert 0 < restored < MEMORY_KIB, f"{restored} KiB"


WAITS = """
import os, resource, time
print("here", resource.getrlimit(resource.RLIMIT_DATA), flush=True)
while not os.path.exists("/tmp/go"):
    time.sleep(0.05)
"""


def started(job: Job) -> pathlib.Path:
    """Waits for a job of the script WAITS to wait. Its folder on the machine."""
    wait_until("the job to run", lambda: "here" in job.text(), SECONDS)
    return job.server.data / "machine" / "jobs" / job.name


def init_of(folder: pathlib.Path) -> pathlib.Path:
    """The host's first process, below /proc."""
    return pathlib.Path("/proc", (folder / "algo-1" / "bundle" / "pid").read_text().strip())


def let_go(init: pathlib.Path) -> None:
    host_tmp = os.open(init / "root" / "tmp", os.O_PATH)
    owner = init.stat()  # The machine's root has no ID in the host.
    os.setegid(owner.st_gid)
    os.seteuid(owner.st_uid)
    try:
        os.close(os.open("go", os.O_CREAT | os.O_WRONLY, dir_fd=host_tmp))
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.close(host_tmp)


def take_memory_of(pid: int) -> None:
    """The process can allocate nothing more."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_DATA)
    assert soft == 256 << 20
    resource.prlimit(pid, resource.RLIMIT_DATA, (4096, hard))  # The kernel takes 0 for none.


def test_a_steward_at_its_limit_of_memory_fails_its_own_job_with_that_reason(server):
    script = WAITS + """
for number in range(10**9):
    with open(f"/opt/ml/checkpoints/{number % 20}", "wb") as file:
        file.write(bytes(20 << 20))
    time.sleep(0.5)
"""
    job = Job(server, script, CheckpointConfig={"S3Uri": f"s3://{BUCKET}/large/"})
    folder = started(job)
    own = resource.getrlimit(resource.RLIMIT_DATA)
    assert f"here {own}" in job.text(), "the limit is the steward's, not the job's"
    take_memory_of(int((folder / "algo-1" / "steward.pid").read_text().split()[0]))
    init = init_of(folder)
    let_go(init)  # The job's first upload comes now: a later one could use an earlier one's memory.
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Failed"
    assert "killed for memory: exceeded the limit of 256 MiB" in told["FailureReason"]
    # The kernel kills it with its steward, and takes its time where much runs.
    wait_until("its host to be gone", lambda: not init.exists(), SECONDS)
    wait_until("the job's folder to go", lambda: not folder.exists(), SECONDS)


def uploads_of(folder: pathlib.Path) -> list[int]:
    """The processes that wait for their turn to store this job's results."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # Ended meanwhile.
            files = [os.readlink(each) for each in (process / "fd").iterdir()]
            if str(folder / "upload.lock") in files and int(process.name) != os.getpid():
                found.append(int(process.name))
    return found


def test_an_upload_at_its_limit_of_memory_fails_its_own_job_and_stores_no_part_of_it(server):
    script = WAITS + """
with open("/opt/ml/model/weights", "wb") as file:
    file.write(os.urandom(40 << 20))
"""
    job = Job(server, script)
    folder = started(job)
    with open(folder / "upload.lock", "w") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        let_go(init_of(folder))
        [upload] = wait_until("the upload", lambda: uploads_of(folder), SECONDS)
        take_memory_of(upload)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Failed"
    assert "killed for memory: exceeded the limit of 256 MiB" in told["FailureReason"]
    stored = server.client("s3").list_objects_v2(Bucket=BUCKET, Prefix=f"out/{job.name}/")
    assert stored["KeyCount"] == 0, stored["Contents"]
    wait_until("its unfinished upload to go",
               lambda: "Uploads" not in server.client("s3").list_multipart_uploads(Bucket=BUCKET),
               SECONDS)  # fmt: skip
    after = Job(server, "open('/opt/ml/model/w', 'w').write('next')")
    assert after.at_end()["TrainingJobStatus"] == "Completed"


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
