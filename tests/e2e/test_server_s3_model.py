"""S3 of `sm server` against the whole model of S3 that botocore has: each operation, and each
parameter and header of each, is served or refused by name, and is never taken for another one."""

import subprocess

import botocore.session
import pytest
from botocore.exceptions import ClientError
from lab import SM
from sm_server import SmServer

BUCKET, KEY = "walked", "kept"
MODEL = botocore.session.get_session().get_service_model("s3")
OF_ANOTHER_SERVICE = {"ListDirectoryBuckets", "WriteGetObjectResponse"}  # So their signatures say.
OLD_NAMES = {
    "GetBucketLifecycle": "GetBucketLifecycleConfiguration",
    "GetBucketNotification": "GetBucketNotificationConfiguration",
}
# Members of operations that are served which are refused all the same: muster has nothing of the
# kind, and to ignore them would be to do something else than was asked.
REFUSED = {
    "PutObject": {"x-amz-write-offset-bytes"},
    "CopyObject": {"x-amz-object-annotation-directive"},
    "CreateBucket": {"x-amz-bucket-namespace", "x-amz-bucket-object-lock-enabled"},
    "AbortMultipartUpload": {"x-amz-if-match-initiated-time"},
}
REFUSED_STARTS = (  # Everywhere.
    "x-amz-server-side-encryption-customer-",
    "x-amz-copy-source-server-side-encryption-customer-",
    "x-amz-checksum-sha512",
    "x-amz-checksum-md5",
    "x-amz-checksum-xxhash",
)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="module")
def s3(server):
    # A host prefix would be a name that does not resolve.
    s3 = server.client("s3", inject_host_prefix=False)
    s3.create_bucket(Bucket=BUCKET)
    return s3


@pytest.fixture(scope="module")
def served() -> set[str]:
    page = subprocess.check_output([SM, "server", "--operations"], text=True)
    row = next(line for line in page.splitlines() if line.startswith("| s3 |"))
    return {name.strip(" `") for name in row.split("|")[2].split(",")}


def value_of(shape, name: str):
    """Something that the model takes; of the bucket and the object that are there."""
    known = {"Bucket": BUCKET, "Key": KEY, "CopySource": f"{BUCKET}/{KEY}", "PartNumber": 1}
    if name in known:
        return known[name]
    kind = shape.type_name
    if kind == "structure" and shape.is_tagged_union:
        member, of = next(iter(shape.members.items()))
        return {member: value_of(of, member)}
    if kind == "structure":
        return {
            member: value_of(shape.members[member], member) for member in shape.required_members
        }
    if kind == "list":
        return [value_of(shape.member, "")]
    if kind == "map":
        return {}
    if kind == "string":
        return shape.enum[0] if shape.enum else "x" * max(1, shape.metadata.get("min", 1))
    return {"blob": b"x", "boolean": True, "timestamp": 1, "integer": 1, "long": 1}[kind]


def wire_names(operation: str) -> dict[str, tuple[str, str]]:
    """Member: where it goes, and its name there."""
    shape = MODEL.operation_model(operation).input_shape
    members = shape.members.items() if shape else ()
    return {
        name: (member.serialization["location"], member.serialization["name"])
        for name, member in members
        if member.serialization.get("location") in ("querystring", "header")
    }


def called(s3, operation: str, more: dict) -> tuple[str, int, str]:
    """Code, status and text of what is answered; the code of a success is empty."""
    shape = MODEL.operation_model(operation).input_shape
    arguments = value_of(shape, "") if shape else {}
    try:
        s3._make_api_call(operation, {**arguments, **more})
    except ClientError as error:
        said = error.response["Error"]
        status = error.response["ResponseMetadata"]["HTTPStatusCode"]
        return said["Code"], status, said.get("Message", "")
    return "", 200, ""


def put_in_place(s3) -> dict:
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key=KEY, Body=b"precious", Metadata={"a": "1"}, Tagging="t=1")
    return what_is_there(s3)


def what_is_there(s3) -> dict:
    got = s3.get_object(Bucket=BUCKET, Key=KEY)
    objects = s3.list_objects_v2(Bucket=BUCKET)["Contents"]
    return {
        "buckets": [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]],
        "keys": [(each["Key"], each["LastModified"], each["Size"]) for each in objects],
        "body": got["Body"].read(),
        "metadata": got["Metadata"],
        "tags": s3.get_object_tagging(Bucket=BUCKET, Key=KEY)["TagSet"],
        "uploads": s3.list_multipart_uploads(Bucket=BUCKET).get("Uploads", []),
    }


@pytest.mark.parametrize("operation", MODEL.operation_names)
def test_an_operation_is_served_or_refused_by_name(s3, served, operation):
    before = put_in_place(s3)
    code, status, text = called(s3, operation, {})
    if OLD_NAMES.get(operation, operation) in served:
        assert status not in (405, 500, 501), (code, text)
        return
    path, _, query = MODEL.operation_model(operation).http["requestUri"].partition("?")
    named = [query.split("&")[0]] if query else [n for _, n in wire_names(operation).values()]
    if operation in OF_ANOTHER_SERVICE:
        assert (code, status) == ("AuthorizationHeaderMalformed", 400), text
        return
    assert (code, status) == ("NotImplemented", 501), text
    assert text.rpartition(": ")[2] in named, (path, named)
    assert what_is_there(s3) == before


def test_what_is_served_is_of_the_model(served):
    assert len(served) >= 30 and served <= set(MODEL.operation_names)


def is_refused(operation: str, name: str) -> bool:
    return name in REFUSED.get(operation, ()) or name.startswith(REFUSED_STARTS)


def test_a_member_is_taken_or_refused_by_name(s3, served):
    wrong = []
    for operation in sorted(served):
        shape = MODEL.operation_model(operation).input_shape
        for member, (_, name) in wire_names(operation).items():
            if member in shape.required_members or name == "Content-Length":
                continue
            before = put_in_place(s3)
            more = {member: value_of(shape.members[member], member)}
            code, status, text = called(s3, operation, more)
            refused = code == "NotImplemented" and text.endswith(f": {name}")
            want = is_refused(operation, name)
            head = MODEL.operation_model(operation).http["method"] == "HEAD" and status == 501
            if want != (refused or head) or status in (405, 500):
                wrong.append((operation, name, code, status, text))
            elif want and what_is_there(s3) != before:
                wrong.append((operation, name, "has changed something"))
    assert wrong == []
