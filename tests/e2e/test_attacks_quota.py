"""Attacks on the disk of `sm server` through its S3: what a job's key may store, and what happens
when the disk is nearly full."""

import io
import os
import pathlib
import re
import subprocess
import tarfile

import pytest
from attack_bench import BUCKET, SECONDS, Attacked, job_request
from botocore.exceptions import ClientError
from lab import SM
from process import wait_until
from sm_server import SmServer

MIB = 1 << 20
GIB = 1 << 30


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    with SmServer(folder, jobs={"s3_budget_gib": 20 * MIB / GIB}) as server:
        yield Attacked(server, "kept")


def refusal(call, **arguments) -> tuple[str, str]:
    """Code and text; it must not have been tried again."""
    with pytest.raises(ClientError) as caught:
        call(Bucket=BUCKET, **arguments)
    answer = caught.value.response
    assert answer["ResponseMetadata"]["RetryAttempts"] == 0
    return answer["Error"]["Code"], answer["Error"]["Message"]


def test_a_job_stores_no_more_than_its_budget(attacked):
    s3 = attacked.client("s3")
    own = {"Bucket": BUCKET, "Key": "out/kept/a"}
    s3.put_object(Body=bytes(12 * MIB), **own)
    code, text = refusal(s3.put_object, Key="ck/run1/b", Body=bytes(9 * MIB))
    assert code == "QuotaExceeded"
    assert "20.0 MiB, of which 12.0 MiB is used; this request requires 9.0 MiB more" in text
    copy = {"CopySource": own, "Key": "ck/run1/copy"}
    assert refusal(s3.copy_object, **copy)[0] == "QuotaExceeded"
    s3.put_object(Body=bytes(19 * MIB), **own)  # An overwrite counts once.
    with pytest.raises(ClientError, match="QuotaExceeded"):  # Without a length, in pieces.
        chunks = io.BufferedReader(io.BytesIO(bytes(3 * MIB)))
        s3.put_object(Bucket=BUCKET, Key="out/kept/c", Body=chunks)
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="out/kept/parts")["UploadId"]
    part = {"Key": "out/kept/parts", "UploadId": upload, "PartNumber": 1}
    assert refusal(s3.upload_part, Body=bytes(2 * MIB), **part)[0] == "QuotaExceeded"
    s3.delete_object(**own)
    s3.upload_part(Bucket=BUCKET, Body=bytes(12 * MIB), **part)
    assert refusal(s3.put_object, Key="out/kept/d", Body=bytes(9 * MIB))[0] == "QuotaExceeded"
    s3.abort_multipart_upload(Bucket=BUCKET, Key="out/kept/parts", UploadId=upload)
    s3.put_object(Bucket=BUCKET, Key="out/kept/d", Body=bytes(9 * MIB))
    attacked.s3.put_object(Bucket=BUCKET, Key="user", Body=bytes(30 * MIB))


def test_what_a_job_began_to_upload_goes_with_it(attacked):
    holder = attacked.started("begins")
    s3 = attacked.server.client("s3", key=(holder.identity, holder.secret))
    s3.create_multipart_upload(Bucket=BUCKET, Key="out/begins/x")
    users = attacked.s3.create_multipart_upload(Bucket=BUCKET, Key="out/begins/y")["UploadId"]
    attacked.ended("begins")

    def open_uploads():
        found = attacked.s3.list_multipart_uploads(Bucket=BUCKET, Prefix="out/begins/")
        return [each["UploadId"] for each in found.get("Uploads", [])]

    wait_until("the upload to go", lambda: open_uploads() == [users], SECONDS)
    attacked.s3.abort_multipart_upload(Bucket=BUCKET, Key="out/begins/y", UploadId=users)


# One line: an entry point's words have none more.
WRITER = (
    "import random, signal; "
    "open('/opt/ml/model/w', 'wb').write(random.randbytes({bytes})); "
    "{waits} and signal.pause()"
)


def trained(server: SmServer, name: str, size: int, waits: bool) -> None:
    """Submits a job that leaves a model of so many bytes, which no archive makes fewer."""
    request = job_request(name)
    del request["InputDataConfig"], request["CheckpointConfig"]
    program = WRITER.format(bytes=size, waits=waits)
    request["AlgorithmSpecification"]["ContainerEntrypoint"] = ["python3", "-c", program]
    server.client("sagemaker").create_training_job(**request)


def fill(path, left: int) -> None:
    """A file that leaves so much of its disk."""
    with open(path, "wb") as file:
        while (free := free_of(path)) > left:
            os.posix_fallocate(file.fileno(), file.tell(), min(free - left, MIB) + 4095)
            file.seek(0, os.SEEK_END)


def free_of(path) -> int:
    disk = os.statvfs(path)
    return disk.f_bavail * disk.f_frsize


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=755,size=600m", "tmpfs", disk], check=True)
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_a_nearly_full_disk_takes_results_alone_and_they_wait_for_room(small_disk, tmp_path):
    config = {"disk_free_gib": 40 * MIB / GIB}
    with SmServer(small_disk, config=config) as server:
        s3, api = server.client("s3"), server.client("sagemaker")
        s3.create_bucket(Bucket=BUCKET)
        for number in range(100):
            try:
                s3.put_object(Bucket=BUCKET, Key=f"user/{number}", Body=bytes(8 * MIB))
            except ClientError as error:
                assert error.response["Error"]["Code"] == "InsufficientStorage"
                assert "but 40.0 MiB must stay free" in str(error)
                break
        else:
            pytest.fail("the disk was filled")

        def described(name):
            return api.describe_training_job(TrainingJobName=name)

        trained(server, "small", MIB, False)
        wait_until("small to end", lambda: described("small")["TrainingJobStatus"] == "Completed",
                   SECONDS)  # fmt: skip
        with tarfile.open(fileobj=io.BytesIO(
            s3.get_object(Bucket=BUCKET, Key="out/small/output/model.tar.gz")["Body"].read()
        )) as archive:  # fmt: skip
            assert archive.getmember("w").size == MIB

        for number in range(8):
            s3.delete_object(Bucket=BUCKET, Key=f"user/{number}")
        before = free_of(small_disk)
        trained(server, "large", 20 * MIB, True)
        wait_until("its model", lambda: free_of(small_disk) < before - 20 * MIB, SECONDS)
        # So much that the results can be collected, and not be stored in parts, then as a whole.
        fill(small_disk / "filler", 24 * MIB)
        api.stop_training_job(TrainingJobName="large")

        def said() -> str:
            return described("large")["SecondaryStatusTransitions"][-1].get("StatusMessage", "")

        wait_until("large to wait", lambda: "No space for the results" in said(), SECONDS)
        where = re.search(r"they are in (\S+)[,;]", said())[1]
        assert (pathlib.Path(where) / "model" / "w").stat().st_size == 20 * MIB
        assert described("large")["SecondaryStatus"] == "Uploading"
        (small_disk / "filler").unlink()
        wait_until("large to end", lambda: described("large")["TrainingJobStatus"] == "Stopped",
                   SECONDS)  # fmt: skip
        into = tmp_path / "into"
        subprocess.run([SM, "download", "large", into], env=server.env(), check=True)
        assert (into / "model" / "w").stat().st_size == 20 * MIB
