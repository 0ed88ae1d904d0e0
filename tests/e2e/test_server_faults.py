"""Jobs of `sm server` when something is wrong with the machine: full disks, scripts that do not go.

Each job fails, or stops, with a reason that names the cause; the server goes on, and so does the
next job once there is space again.
"""

import contextlib
import os
import pathlib
import subprocess

import pytest
from botocore.exceptions import ClientError
from lab import SM, VENV
from process import wait_until
from sm_server import SmServer
from test_server_jobs import BUCKET, SECONDS, Job

MIB = 1 << 20
PYTHON = {"python": str(VENV / "bin" / "python")}
FINE = "print('a later job runs')"


@contextlib.contextmanager
def small_disk(folder: pathlib.Path, size: int):
    """A file system of `size` bytes at `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={size},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


@contextlib.contextmanager
def server_on(folder: pathlib.Path, small: str, size: int, **jobs):
    """A server of whose data the part `small` lies on a small disk."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(small_disk(folder / "data" / small, size))
        server = stack.enter_context(SmServer(folder, jobs={**PYTHON, **jobs}))
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        yield server


def fill(folder: pathlib.Path) -> pathlib.Path:
    """Takes all space of the file system at `folder`."""
    ballast = folder / "ballast"
    with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
        free = os.statvfs(folder)
        os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_bsize)
        file.seek(0, os.SEEK_END)
        while True:
            file.write(bytes(4096))
    return ballast


def failed(job: Job) -> str:
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Failed", (told, job.text())
    return told["FailureReason"]


def a_later_job_completes(server: SmServer) -> None:
    job = Job(server, FINE)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", (told, job.text())
    assert "a later job runs" in job.text()


def test_a_script_that_fills_its_disk_gets_an_error_and_the_job_reports_it(tmp_path):
    script = """
import os
with open(os.path.join(os.environ["SM_MODEL_DIR"], "weights"), "wb") as file:
    while True:
        file.write(os.urandom(1 << 20))
"""
    with server_on(tmp_path, "machine", 128 * MIB) as server:
        reason = failed(Job(server, script))
        assert "No space left on device" in reason, reason
        a_later_job_completes(server)


def test_a_log_that_fills_its_disk_ends_the_job_with_a_reason(tmp_path):
    script = """
print("the first line", flush=True)
while True:
    print("x" * 100_000, flush=True)
"""
    with server_on(tmp_path, "machine", 128 * MIB) as server:
        job = Job(server, script)
        reason = failed(job)
        assert "journal" in reason and "No space left on device" in reason, reason
        assert "the first line" in job.log()["algo-1"]
        a_later_job_completes(server)


def test_artifacts_that_meet_a_full_server_wait_until_the_job_is_stopped(tmp_path):
    script = """
import os
with open(os.path.join(os.environ["SM_MODEL_DIR"], "weights"), "wb") as file:
    file.write(os.urandom(40 << 20))
"""
    with server_on(tmp_path, "s3", 16 * MIB) as server:
        job = Job(server, script)

        def said() -> str:
            return job.describe()["SecondaryStatusTransitions"][-1].get("StatusMessage", "")

        wait_until("the results to wait", lambda: "No space for the results" in said(), SECONDS)
        job.api.stop_training_job(TrainingJobName=job.name)
        assert job.at_end()["TrainingJobStatus"] == "Failed", job.text()
        listed = server.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="out/")
        assert "Contents" not in listed, "something half is there"
        a_later_job_completes(server)


def test_a_full_server_refuses_and_takes_it_up_again(tmp_path):
    """No byte is left: nothing new is taken, what is there can be read and removed."""
    with server_on(tmp_path, "", 256 * MIB) as server:
        s3 = server.client("s3")
        s3.put_object(Bucket=BUCKET, Key="large", Body=os.urandom(MIB))
        ballast = fill(server.data)
        with pytest.raises(ClientError) as refused:
            s3.put_object(Bucket=BUCKET, Key="more", Body=os.urandom(8 * MIB))
        assert refused.value.response["Error"]["Code"] == "InsufficientStorage"
        assert len(s3.get_object(Bucket=BUCKET, Key="large")["Body"].read()) == MIB
        api = server.client("sagemaker")
        assert api.list_training_jobs()["TrainingJobSummaries"] == []
        s3.delete_object(Bucket=BUCKET, Key="large")
        ballast.unlink()
        a_later_job_completes(server)


def test_a_job_under_way_ends_right_on_a_full_disk(tmp_path):
    """All space is gone while it trains: its end is stored all the same."""
    script = """
import boto3, time
from botocore.exceptions import ClientError
s3 = boto3.client("s3")
print("it runs", flush=True)
try:
    while True:
        s3.head_object(Bucket="jobs", Key="train/a.txt")
        time.sleep(0.05)
except ClientError:
    print("it goes", flush=True)
"""
    with server_on(tmp_path, "", 256 * MIB) as server:
        job = Job(server, script)
        wait_until("it to run", lambda: "it runs" in job.text(), SECONDS)
        ballast = fill(server.data)
        server.client("s3").delete_object(Bucket=BUCKET, Key="train/a.txt")
        told = job.at_end()
        assert told["TrainingJobStatus"] in ("Completed", "Failed"), told
        if told["TrainingJobStatus"] == "Failed":
            # No place for what the host wrote, or for the model.
            reason = told["FailureReason"]
            assert "the machine's disk filled up" in reason or "Storage" in reason, reason
        assert {"it runs", "it goes"} <= set(job.log()["algo-1"])
        ballast.unlink()
        server.kill()
        server.start()
        again = job.describe()
        for each in (told, again):
            del each["ResponseMetadata"]
        assert again == told
        assert {"it runs", "it goes"} <= set(job.log()["algo-1"])
        server.client("s3").put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        a_later_job_completes(server)


def test_a_script_that_ignores_sigterm_is_killed_and_its_artifacts_kept(tmp_path):
    script = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with open(os.path.join(os.environ["SM_MODEL_DIR"], os.environ["SM_CURRENT_HOST"]), "w") as file:
    file.write("half")
print("it stays", flush=True)
time.sleep(600)
"""
    with server_on(tmp_path, "", 1024 * MIB, stop_grace_seconds=1) as server:
        job = Job(server, script, hosts=2)
        wait_until("it to run", lambda: job.text().count("it stays") == 2, SECONDS)
        job.api.stop_training_job(TrainingJobName=job.name)
        told = job.at_end()
        assert told["TrainingJobStatus"] == "Stopped" == told["SecondaryStatus"], told
        statuses = [each["Status"] for each in told["SecondaryStatusTransitions"]]
        assert statuses[-3:] == ["Stopping", "Uploading", "Stopped"], statuses
        assert job.artifact() == {"algo-1": b"half", "algo-2": b"half"}
        a_later_job_completes(server)


def test_a_folder_has_one_server(tmp_path):
    with SmServer(tmp_path) as server:
        second = [SM, "server", "--data", server.data, "--listen", "127.0.0.1:0"]
        done = subprocess.run(second, capture_output=True, text=True, timeout=30, check=False)
        assert done.returncode == 3
        assert "another sm server is using this folder" in done.stderr
        assert server.client("sts").get_caller_identity()
