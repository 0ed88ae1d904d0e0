"""S3 of `sm server`: what few clients do, and what ceph/s3-tests holds a server to."""

import base64
import hashlib
import http.client
import urllib.parse
import zlib

import pytest
from botocore.exceptions import ClientError
from sm_server import SmServer

BUCKET = "edges"
PART = 5 << 20


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server")) as server:
        server.client("s3").create_bucket(Bucket=BUCKET)
        yield server


@pytest.fixture
def s3(server):
    return server.client("s3")


def code_of(call, **arguments) -> str:
    with pytest.raises(ClientError) as raised:
        call(**arguments)
    error = raised.value.response
    return f"{error['Error']['Code']} {error['ResponseMetadata']['HTTPStatusCode']}"


def uploaded(s3, key: str, bodies: list[bytes], **begin) -> tuple[dict, list[dict]]:
    """An upload with its parts, not completed: where it is, and what Complete has to name."""
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key=key, **begin)["UploadId"]
    place = {"Bucket": BUCKET, "Key": key, "UploadId": upload}
    parts = []
    for number, body in enumerate(bodies, 1):
        kind = {name: begin[name] for name in ("ChecksumAlgorithm",) if name in begin}
        done = s3.upload_part(**place, PartNumber=number, Body=body, **kind)
        named = {k: v for k, v in done.items() if k == "ETag" or k.startswith("Checksum")}
        named.pop("ChecksumType", None)
        parts.append({"PartNumber": number, **named})
    return place, parts


@pytest.mark.parametrize("composite", [False, True])
def test_complete_brings_the_checksum_of_the_whole(s3, composite):
    bodies = [b"a" * PART, b"b" * 10]
    if composite:
        sums = b"".join(hashlib.sha256(body).digest() for body in bodies)
        whole = {"ChecksumSHA256": base64.b64encode(hashlib.sha256(sums).digest()).decode() + "-2"}
        begin = {"ChecksumAlgorithm": "SHA256"}
    else:
        total = zlib.crc32(b"".join(bodies)).to_bytes(4, "big")
        whole = {"ChecksumCRC32": base64.b64encode(total).decode()}
        begin = {"ChecksumAlgorithm": "CRC32", "ChecksumType": "FULL_OBJECT"}
    place, parts = uploaded(s3, "whole", bodies, **begin)
    asked = {**place, "MultipartUpload": {"Parts": parts}}
    (name, value) = next(iter(whole.items()))
    wrong = {name: base64.b64encode(bytes(32 if composite else 4)).decode()}
    assert code_of(s3.complete_multipart_upload, **asked, **wrong) == "BadDigest 400"
    done = s3.complete_multipart_upload(**asked, **whole)
    assert done[name] == value
    assert done["ChecksumType"] == ("COMPOSITE" if composite else "FULL_OBJECT")
    head = s3.head_object(Bucket=BUCKET, Key="whole", ChecksumMode="ENABLED")
    assert head[name] == value
    for number, body in enumerate(bodies, 1):
        part = s3.get_object(Bucket=BUCKET, Key="whole", PartNumber=number, ChecksumMode="ENABLED")
        assert part["Body"].read() == body and part[name] == parts[number - 1][name]


def test_attributes_name_the_parts_page_by_page(s3):
    place, parts = uploaded(s3, "parts", [b"a" * PART, b"b" * PART, b"c"])
    s3.complete_multipart_upload(**place, MultipartUpload={"Parts": parts})
    asked = {"Bucket": BUCKET, "Key": "parts", "ObjectAttributes": ["ObjectParts", "ObjectSize"]}
    whole = s3.get_object_attributes(**asked)
    assert whole["ObjectSize"] == 2 * PART + 1 and whole["ObjectParts"]["TotalPartsCount"] == 3
    sizes = [(p["PartNumber"], p["Size"]) for p in whole["ObjectParts"]["Parts"]]
    assert sizes == [(1, PART), (2, PART), (3, 1)]
    page = s3.get_object_attributes(**asked, MaxParts=1, PartNumberMarker=1)["ObjectParts"]
    assert [p["PartNumber"] for p in page["Parts"]] == [2]
    assert page["IsTruncated"] and page["NextPartNumberMarker"] == 2
    s3.put_object(Bucket=BUCKET, Key="single", Body=b"x")
    assert "ObjectParts" not in s3.get_object_attributes(**{**asked, "Key": "single"})


def test_complete_without_a_document(s3):
    place, _ = uploaded(s3, "empty", [b"a"])
    assert code_of(s3.complete_multipart_upload, **place) == "MalformedXML 400"


def test_an_object_is_removed_only_if_it_is_the_one_that_is_meant(s3):
    key = {"Bucket": BUCKET, "Key": "meant"}
    etag = s3.put_object(**key, Body=b"12")["ETag"]
    modified = s3.head_object(**key)["LastModified"]
    for other in (
        {"IfMatch": '"x"'},
        {"IfMatchSize": 3},
        {"IfMatchLastModifiedTime": modified.replace(year=2001)},
    ):
        assert code_of(s3.delete_object, **key, **other) == "PreconditionFailed 412"
    s3.delete_object(**key, IfMatch=etag, IfMatchSize=2, IfMatchLastModifiedTime=modified)
    assert code_of(s3.head_object, **key) == "404 404"
    s3.delete_object(**key, IfMatch=etag)  # Nothing there is fine.


def test_the_coding_of_a_body_comes_back_as_it_came(s3):
    for came, kept in {"deflate, gzip": "deflate, gzip", "gzip, aws-chunked": "gzip"}.items():
        s3.put_object(Bucket=BUCKET, Key="coded", Body=b"x", ContentEncoding=came)
        assert s3.head_object(Bucket=BUCKET, Key="coded")["ContentEncoding"] == kept


def test_only_the_access_that_is_so_anyway_can_be_given(s3):
    s3.put_object(Bucket=BUCKET, Key="mine", Body=b"x")
    s3.put_object_acl(Bucket=BUCKET, Key="mine", ACL="private")
    s3.put_bucket_acl(Bucket=BUCKET, ACL="private")
    public = {"Bucket": BUCKET, "ACL": "public-read"}
    assert code_of(s3.put_object_acl, **public, Key="mine") == "AccessControlListNotSupported 400"
    assert code_of(s3.put_bucket_acl, **public) == "AccessControlListNotSupported 400"
    denied = "AccessControlListNotSupported 400"
    assert code_of(s3.put_object, **public, Key="mine", Body=b"y") == denied
    assert code_of(s3.create_bucket, Bucket="public", ACL="public-read") == denied
    assert code_of(s3.create_multipart_upload, Bucket=BUCKET, Key="p", GrantRead="id=1") == denied
    locked = {"Bucket": BUCKET, "Key": "mine", "ObjectLockLegalHoldStatus": "ON"}
    assert code_of(s3.put_object, **locked) == "InvalidRequest 400"
    worm = {"Bucket": "worm", "ObjectLockEnabledForBucket": True}
    assert code_of(s3.create_bucket, **worm) == "NotImplemented 501"
    assert s3.get_object(Bucket=BUCKET, Key="mine")["Body"].read() == b"x"
    none = {"Bucket": BUCKET, "Key": "none", "ACL": "private"}
    assert code_of(s3.put_object_acl, **none) == "NoSuchKey 404"


def test_a_resumed_download_is_never_spliced_from_two_objects(s3):
    place = {"Bucket": BUCKET, "Key": "resumed"}
    old = s3.put_object(**place, Body=b"AAAAAAAA")["ETag"]
    etag = s3.put_object(**place, Body=b"BBBBBBBB")["ETag"]

    def read(if_range: str) -> bytes:
        reader = s3.meta.events
        add = lambda request, **_: request.headers.add_header("If-Range", if_range)  # noqa: E731
        reader.register("before-sign.s3.GetObject", add)
        try:
            return s3.get_object(**place, Range="bytes=4-")["Body"].read()
        finally:
            reader.unregister("before-sign.s3.GetObject", add)

    assert read(etag) == b"BBBB"
    for changed in (old, f"W/{etag}", "Sun, 06 Nov 1994 08:49:37 GMT"):
        assert read(changed) == b"BBBBBBBB", changed


def test_a_copy_onto_itself_changes_what_it_asks_for(s3):
    place = {"Bucket": BUCKET, "Key": "itself"}
    s3.put_object(**place, Body=b"x", Metadata={"a": "1"}, WebsiteRedirectLocation="/old")
    itself = {**place, "CopySource": place}
    assert code_of(s3.copy_object, **itself) == "InvalidRequest 400"
    for change in (
        {"StorageClass": "STANDARD_IA"},
        {"ServerSideEncryption": "AES256"},
        {"WebsiteRedirectLocation": "/new"},
    ):
        s3.copy_object(**itself, **change)
        head = s3.head_object(**place)
        assert head["Metadata"] == {"a": "1"}
        assert head.get("WebsiteRedirectLocation") == change.get("WebsiteRedirectLocation")
    assert s3.get_object(**place)["Body"].read() == b"x"


def test_settings_of_a_bucket_are_those_of_a_new_one(s3):
    mine = {"Bucket": BUCKET}
    for call, code in {
        s3.get_bucket_cors: "NoSuchCORSConfiguration",
        s3.get_bucket_lifecycle_configuration: "NoSuchLifecycleConfiguration",
        s3.get_bucket_policy: "NoSuchBucketPolicy",
        s3.get_bucket_tagging: "NoSuchTagSet",
        s3.get_bucket_website: "NoSuchWebsiteConfiguration",
        s3.get_bucket_replication: "ReplicationConfigurationNotFoundError",
        s3.get_object_lock_configuration: "ObjectLockConfigurationNotFoundError",
        s3.get_bucket_ownership_controls: "OwnershipControlsNotFoundError",
        s3.get_public_access_block: "NoSuchPublicAccessBlockConfiguration",
    }.items():
        assert code_of(call, **mine) == f"{code} 404"
    assert "LoggingEnabled" not in s3.get_bucket_logging(**mine)
    assert "TopicConfigurations" not in s3.get_bucket_notification_configuration(**mine)
    assert "Status" not in s3.get_bucket_accelerate_configuration(**mine)
    assert s3.get_bucket_request_payment(**mine)["Payer"] == "BucketOwner"
    s3.delete_bucket_policy(**mine)
    s3.delete_bucket_tagging(**mine)
    assert code_of(s3.put_bucket_policy, **mine, Policy="{}") == "NotImplemented 501"
    assert code_of(s3.get_bucket_policy, Bucket="nobody") == "NoSuchBucket 404"
    assert code_of(s3.delete_bucket_policy, Bucket="nobody") == "NoSuchBucket 404"


def test_the_region_of_a_bucket_is_returned(s3):
    for call in (s3.head_bucket, s3.list_objects, s3.list_objects_v2, s3.list_object_versions):
        told = call(Bucket=BUCKET)["ResponseMetadata"]["HTTPHeaders"]
        assert told["x-amz-bucket-region"] == "us-east-1"
    with pytest.raises(ClientError) as denied:
        s3._request_signer._credentials.secret_key = "wrong"
        s3.head_bucket(Bucket=BUCKET)
    told = denied.value.response["ResponseMetadata"]["HTTPHeaders"]
    assert told["x-amz-bucket-region"] == "us-east-1"


def test_buckets_of_another_region_are_none(s3):
    here = s3.list_buckets(BucketRegion="us-east-1")["Buckets"]
    assert BUCKET in [bucket["Name"] for bucket in here]
    assert {bucket["BucketRegion"] for bucket in here} == {"us-east-1"}
    assert s3.list_buckets(BucketRegion="eu-west-1")["Buckets"] == []


def test_a_checksum_of_checksums_needs_that_of_each_part(s3):
    place, parts = uploaded(s3, "composite", [b"a"], ChecksumAlgorithm="SHA256")
    bare = {"Parts": [{"PartNumber": 1, "ETag": parts[0]["ETag"]}]}
    refused = code_of(s3.complete_multipart_upload, **place, MultipartUpload=bare)
    assert refused == "InvalidRequest 400"
    s3.complete_multipart_upload(**place, MultipartUpload={"Parts": parts})


def test_buckets_are_listed_page_by_page(s3):
    names = [f"page-{number}" for number in range(5)]
    for name in names:
        s3.create_bucket(Bucket=name)
    pages = s3.get_paginator("list_buckets").paginate(
        Prefix="page-", PaginationConfig={"PageSize": 2}
    )
    found = [[bucket["Name"] for bucket in page["Buckets"]] for page in pages]
    assert found == [names[:2], names[2:4], names[4:]]
    for name in names:
        s3.delete_bucket(Bucket=name)


def test_the_date_header_will_do(server):
    """botocore replaces it, writes the zone as "-0000", and sends no x-amz-date then."""
    s3 = server.client("s3")
    s3.meta.events.register(
        "before-call.s3.PutObject", lambda params, **_: params["headers"].update({"Date": "x"})
    )
    s3.put_object(Bucket=BUCKET, Key="dated", Body=b"x")


def test_a_body_may_come_without_its_length(server):
    s3 = server.client("s3")
    s3.meta.events.register_first(
        "before-sign.s3.*",
        lambda request, **_: request.headers.add_header("Transfer-Encoding", "chunked"),
    )
    s3.put_object(Bucket=BUCKET, Key="streamed", Body=b"some bytes")
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="p")["UploadId"]
    s3.upload_part(Bucket=BUCKET, Key="p", UploadId=upload, PartNumber=1, Body=b"more")
    got = server.client("s3").get_object(Bucket=BUCKET, Key="streamed")
    assert got["Body"].read() == b"some bytes"


def test_tags_of_a_header_come_back_sorted(s3):
    s3.put_object(Bucket=BUCKET, Key="tagged", Body=b"", Tagging="foo=bar&b=")
    tags = s3.get_object_tagging(Bucket=BUCKET, Key="tagged")["TagSet"]
    assert [(tag["Key"], tag["Value"]) for tag in tags] == [("b", ""), ("foo", "bar")]


def test_browsers_get_an_error_because_cors_is_unsupported(server, s3):
    s3.put_object(Bucket=BUCKET, Key="seen", Body=b"x")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": BUCKET, "Key": "seen"})
    place = urllib.parse.urlsplit(url)
    for headers, want in (({}, 400), ({"Origin": "http://example.com"}, 403)):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("OPTIONS", f"{place.path}?{place.query}", headers=headers)
        assert connection.getresponse().status == want
        connection.close()
