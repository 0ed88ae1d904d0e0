"""Attacks on the disk of `sm server` through its S3: what a job's key may store."""

import io

import pytest
from attack_bench import BUCKET, SECONDS, Attacked
from botocore.exceptions import ClientError
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
    assert "20.0 MiB, of which 12.0 MiB are used; this needs 9.0 MiB more" in text
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
