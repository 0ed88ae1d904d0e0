"""Attacks on the S3 of `sm server`: what a job's key reaches, and where paths lead."""

import urllib.parse

import pytest
from attack_bench import BUCKET, Attacked, job_request, unchanged  # noqa: F401
from botocore.exceptions import ClientError
from raw_http import Request, signed
from sm_server import SmServer


@pytest.fixture(scope="module")
def attacked(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server")) as server:
        yield Attacked(server, "kept")


# The job was given train, out/kept/ and ck/run1.
FOREIGN = ["secret/a", "train2/a", "ck/run10/state", "out/kept2/output/model.tar.gz"]
NOT_ITS_TO_WRITE = [
    "secret/new", "train/new", "train", "ck/run10/new", "ck/run1x", "ck/run", "ck/",
    "out/kept2/new", "out/kept", "out/new", "new", "/out/kept/new", "OUT/kept/new",
    "./out/kept/new", "secret/../out/kept/new", "out\\kept\\new",
]  # fmt: skip


def s3_code(call, **arguments) -> str:
    """AWS's code, or what HTTP says where a HEAD has none; empty if it was done."""
    try:
        call(**arguments)
    except ClientError as error:
        return error.response["Error"]["Code"]
    return ""


@pytest.mark.parametrize("key", FOREIGN)
def test_a_jobs_key_reads_no_other_place(attacked, unchanged, key):
    s3 = attacked.client("s3")
    place = {"Bucket": BUCKET, "Key": key}
    assert s3_code(s3.get_object, **place) == "AccessDenied"
    assert s3_code(s3.head_object, **place) == "403"
    assert s3_code(s3.get_object_tagging, **place) == "AccessDenied"
    assert s3_code(s3.get_object_acl, **place) == "AccessDenied"
    assert s3_code(s3.get_object_attributes, ObjectAttributes=["ETag"], **place) == "AccessDenied"
    own = {"Bucket": BUCKET, "Key": "out/kept/copy", "CopySource": place}
    assert s3_code(s3.copy_object, **own) == "AccessDenied"


@pytest.mark.parametrize("key", NOT_ITS_TO_WRITE)
def test_a_jobs_key_writes_no_other_place(attacked, unchanged, key):
    s3 = attacked.client("s3")
    place = {"Bucket": BUCKET, "Key": key}
    own = {"Bucket": BUCKET, "Key": "ck/run1/state"}
    tags = {"TagSet": [{"Key": "a", "Value": "b"}]}
    assert s3_code(s3.put_object, Body=b"mine", **place) == "AccessDenied"
    assert s3_code(s3.copy_object, CopySource=own, **place) == "AccessDenied"
    assert s3_code(s3.create_multipart_upload, **place) == "AccessDenied"
    assert s3_code(s3.put_object_tagging, Tagging=tags, **place) == "AccessDenied"
    assert s3_code(s3.put_object_acl, ACL="private", **place) == "AccessDenied"
    assert s3_code(s3.delete_object, **place) == "AccessDenied"


def test_a_jobs_key_deletes_of_many_its_own(attacked):
    s3 = attacked.client("s3")
    s3.put_object(Bucket=BUCKET, Key="out/kept/gone", Body=b"")
    asked = {"Objects": [{"Key": key} for key in ("out/kept/gone", *FOREIGN)]}
    answer = s3.delete_objects(Bucket=BUCKET, Delete=asked)
    assert [each["Key"] for each in answer["Deleted"]] == ["out/kept/gone"]
    assert {each["Key"]: each["Code"] for each in answer["Errors"]} == dict.fromkeys(
        FOREIGN, "AccessDenied"
    )
    for key in FOREIGN:
        assert attacked.s3.head_object(Bucket=BUCKET, Key=key)["ContentLength"] == 5


LISTINGS = {
    "everything": ("", None), "the bucket's root": ("/", None), "a beginning": ("t", None),
    "another folder": ("secret/", None), "a longer name": ("train2", None),
    "another job's results": ("out/", None), "another job's folder": ("out/kept2", None),
    "another's checkpoints": ("ck/run10", None), "all checkpoints": ("ck/", None),
    "its channel, which no longer name joins": ("train", ["train/a"]),
    "its checkpoints, which no longer name joins": ("ck/run1", ["ck/run1/state"]),
    "its results, which no longer name joins": ("out/kept", []),
}  # fmt: skip


@pytest.mark.parametrize(("prefix", "seen"), LISTINGS.values(), ids=LISTINGS.keys())
def test_a_jobs_key_lists_no_other_place(attacked, unchanged, prefix, seen):
    s3 = attacked.client("s3")
    place = {"Bucket": BUCKET, "Prefix": prefix}
    for call, member in ((s3.list_objects_v2, "Contents"), (s3.list_objects, "Contents"),
                         (s3.list_object_versions, "Versions")):  # fmt: skip
        if seen is None:
            assert s3_code(call, **place) == "AccessDenied"
        else:
            assert [each["Key"] for each in call(**place).get(member, [])] == seen
            names = call(Delimiter="-", **place).get("CommonPrefixes", [])
            assert names == []
    assert s3_code(s3.list_multipart_uploads, **place) == "AccessDenied"


BUCKET_CALLS = [
    ("list_buckets", {}), ("create_bucket", {"Bucket": "mine"}),
    ("delete_bucket", {"Bucket": BUCKET}),
    ("delete_bucket", {"Bucket": "other"}), ("head_bucket", {"Bucket": "other"}),
    ("get_bucket_location", {"Bucket": "other"}), ("list_objects_v2", {"Bucket": "other"}),
    ("get_bucket_acl", {"Bucket": BUCKET}),
    ("put_bucket_acl", {"Bucket": BUCKET, "ACL": "private"}),
    ("get_bucket_policy", {"Bucket": BUCKET}),
    ("get_bucket_lifecycle_configuration", {"Bucket": BUCKET}),
    ("delete_bucket_policy", {"Bucket": BUCKET}),
    ("get_bucket_logging", {"Bucket": BUCKET}), ("delete_bucket_website", {"Bucket": BUCKET}),
    ("put_object", {"Bucket": "other", "Key": "out/kept/x", "Body": b""}),
    ("get_object", {"Bucket": "other", "Key": "train/a"}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("operation", "arguments"),
    BUCKET_CALLS,
    ids=[f"{name}-{args.get('Bucket', '')}" for name, args in BUCKET_CALLS],
)
def test_a_jobs_key_rules_no_bucket(attacked, unchanged, operation, arguments):
    s3 = attacked.client("s3")
    assert s3_code(getattr(s3, operation), **arguments) in ("AccessDenied", "403")


def test_a_jobs_key_uses_no_upload_of_another(attacked):
    """By its id, at the key that it is for and at one of the job's own."""
    theirs = {"Bucket": BUCKET, "Key": "secret/large"}
    upload = attacked.s3.create_multipart_upload(**theirs)["UploadId"]
    etag = attacked.s3.upload_part(UploadId=upload, PartNumber=1, Body=b"theirs", **theirs)["ETag"]
    before = attacked.state()
    parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
    s3 = attacked.client("s3")
    source = {"Bucket": BUCKET, "Key": "secret/a"}
    own = {**theirs, "Key": "out/kept/large"}
    for place, code in ((theirs, "AccessDenied"), (own, "NoSuchUpload")):
        one = {"UploadId": upload, "PartNumber": 2, **place}
        assert s3_code(s3.upload_part, Body=b"mine", **one) == code
        assert s3_code(s3.list_parts, UploadId=upload, **place) == code
        assert s3_code(s3.complete_multipart_upload, UploadId=upload, MultipartUpload=parts,
                       **place) == code  # fmt: skip
        copied = s3_code(s3.upload_part_copy, CopySource=source, **one)
        assert copied == "AccessDenied"
        assert s3_code(s3.abort_multipart_upload, UploadId=upload, **place) in (code, "")
    assert attacked.state() == before
    listed = attacked.s3.list_parts(UploadId=upload, **theirs)["Parts"]
    assert [each["PartNumber"] for each in listed] == [1]
    attacked.s3.abort_multipart_upload(UploadId=upload, **theirs)


PATHS = [
    f"/{BUCKET}/out/kept/../../secret/a", f"/{BUCKET}/train/../secret/a",
    f"/{BUCKET}/train/%2e%2e/secret/a", f"/{BUCKET}/train/%2E%2E%2Fsecret/a",
    f"/{BUCKET}/train%2F..%2Fsecret%2Fa", f"/{BUCKET}/train/..%5Csecret%5Ca",
    f"/{BUCKET}/train/%252e%252e/secret/a", f"/{BUCKET}/train/a/../../secret/a",
    f"/{BUCKET}/./secret/a", f"/{BUCKET}//secret/a", f"//{BUCKET}/secret/a", f"/{BUCKET}/secret//a",
    f"/{BUCKET}/%00train/a", f"/{BUCKET}/train/a%00.txt", f"/{BUCKET}/train/%ff%fe",
    f"/{BUCKET}/train;/../secret/a", f"/{BUCKET}/train/%uff0e/secret/a",
    f"/other/../{BUCKET}/secret/a", f"/../{BUCKET}/secret/a", "/../../../../etc/passwd",
    "/../keys/kept", "/%2e%2e/keys/kept", "/./server.db", "/..%2fkeys/kept",
    f"/{BUCKET}/" + "../" * 30 + "etc/passwd", f"/{BUCKET}/" + "a" * 1025,
    f"/{BUCKET}/" + "a/" * 513, "/" + "b" * 300 + "/a", "/.%2e/a", "/-/a",
]  # fmt: skip


@pytest.mark.parametrize("who", ["user", "holder"])
@pytest.mark.parametrize("path", PATHS, ids=range(len(PATHS)))
def test_a_path_leads_to_no_other_object(attacked, unchanged, path, who):
    """Keys are bytes: nothing in them goes up, and no bucket is a folder of the machine."""
    keys = getattr(attacked, who)
    answer = attacked.send(signed(Request("GET", path), keys, "s3", attacked.host))
    assert answer.status in (400, 403, 404), answer.text
    assert b"root:" not in answer.body and answer.body != b"there"


ODD_KEYS = ["../../escaped", "out/../../../escaped", "a/./b", "..", ".", "a//b", "/etc/escaped",
            "x" * 1024, "\\..\\escaped", "a\nb"]  # fmt: skip


@pytest.mark.parametrize("key", ODD_KEYS)
def test_a_key_is_one_objects_and_no_path(attacked, key):
    """Whatever it looks like, it is kept and given back under itself, within the data folder."""
    place = {"Bucket": "other", "Key": key}
    data = attacked.server.data
    before = {path for path in data.parent.rglob("*") if "escaped" in path.name}
    attacked.s3.put_object(Body=key.encode(), **place)
    try:
        assert attacked.s3.get_object(**place)["Body"].read() == key.encode()
        listed = attacked.s3.list_objects_v2(Bucket="other")["Contents"]
        assert [each["Key"] for each in listed] == [key]
        outside = {path for path in data.parent.rglob("*") if "escaped" in path.name} - before
        assert outside == set()
    finally:
        attacked.s3.delete_object(**place)


@pytest.mark.parametrize("name", ["..", ".", "../keys", "a/b", "-a", "A" * 64, "a..b", "x" * 300])
def test_a_bucket_cannot_be_a_folder_of_the_machine(attacked, unchanged, name):
    path = "/" + urllib.parse.quote(name, safe="")
    for method in ("PUT", "DELETE", "GET"):
        answer = attacked.send(signed(Request(method, path), attacked.user, "s3", attacked.host))
        assert answer.status in (400, 403, 404, 405), (method, answer.text)


def test_a_prefix_of_a_channel_is_read_where_no_folder_has_its_name(attacked):
    """As S3Prefix has it, until there is what it names; written it is never."""
    for name in ("part-1.csv", "part-2.csv"):
        attacked.s3.put_object(Bucket="other", Key=name, Body=b"there")
    body = job_request("parts")
    body["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] = "s3://other/part"
    keys = attacked.started("parts", InputDataConfig=body["InputDataConfig"])
    s3 = attacked.server.client("s3", key=(keys.identity, keys.secret))
    assert s3.get_object(Bucket="other", Key="part-1.csv")["Body"].read() == b"there"
    assert s3_code(s3.put_object, Bucket="other", Key="part-3.csv", Body=b"") == "AccessDenied"
    attacked.s3.put_object(Bucket="other", Key="part/new", Body=b"there")
    assert s3_code(s3.get_object, Bucket="other", Key="part-1.csv") == "AccessDenied"
    attacked.ended("parts")
    for name in ("part-1.csv", "part-2.csv", "part/new"):
        attacked.s3.delete_object(Bucket="other", Key=name)


@pytest.mark.parametrize("url", [f"s3://{BUCKET}", f"s3://{BUCKET}/"])
def test_no_job_keeps_checkpoints_over_a_whole_bucket(attacked, unchanged, url):
    body = job_request("whole", CheckpointConfig={"S3Uri": url})
    answer = attacked.create("whole", body)
    assert (answer.status, answer.code) == (400, "ValidationException")
    assert "whole bucket" in answer.text
