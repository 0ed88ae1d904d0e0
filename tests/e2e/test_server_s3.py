"""S3 of `sm server`, with boto3: what clients of training jobs do with it, and what it refuses."""

import base64
import concurrent.futures
import hashlib
import io
import os
import socket
import threading
import urllib.error
import urllib.request

import pytest
from botocore.exceptions import BotoCoreError, ClientError
from sm_server import SmServer

BUCKET = "bucket"
KEYS = ["foo", "foo/bar", "foo/", "a b", "ü & +?=%", "..", "/lead", "a//b", "x" * 1024, "~'()*!"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture
def s3(server):
    s3 = server.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    yield s3
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    for key in [o["Key"] for page in pages for o in page.get("Contents", [])]:
        s3.delete_object(Bucket=BUCKET, Key=key)
    s3.delete_bucket(Bucket=BUCKET)


def code_of(call, **arguments) -> str:
    with pytest.raises(ClientError) as raised:
        call(**arguments)
    error = raised.value.response
    return f"{error['Error']['Code']} {error['ResponseMetadata']['HTTPStatusCode']}"


def test_keys_of_all_kinds_come_back_and_are_listed_in_order(s3):
    for key in KEYS:
        s3.put_object(Bucket=BUCKET, Key=key, Body=key.encode())
    for key in KEYS:
        assert s3.get_object(Bucket=BUCKET, Key=key)["Body"].read() == key.encode()
    for listing in (s3.list_objects, s3.list_objects_v2):
        found = [o["Key"] for o in listing(Bucket=BUCKET)["Contents"]]
        assert found == sorted(KEYS, key=str.encode)
    versions = s3.list_object_versions(Bucket=BUCKET)["Versions"]
    assert [(v["Key"], v["VersionId"]) for v in versions] == [
        (key, "null") for key in sorted(KEYS, key=str.encode)
    ]
    page = s3.list_objects_v2(Bucket=BUCKET, Delimiter="/", Prefix="f")
    assert [o["Key"] for o in page["Contents"]] == ["foo"]
    assert [p["Prefix"] for p in page["CommonPrefixes"]] == ["foo/"]


def test_pages_of_a_listing_lose_and_double_nothing(s3):
    keys = [f"{i % 7}/{i:03}" for i in range(300)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: s3.put_object(Bucket=BUCKET, Key=key, Body=b""), keys))
    for name in ("list_objects", "list_objects_v2"):
        pages = s3.get_paginator(name).paginate(Bucket=BUCKET, PaginationConfig={"PageSize": 7})
        assert [o["Key"] for page in pages for o in page["Contents"]] == sorted(keys)
    pages = s3.get_paginator("list_objects_v2").paginate(
        Bucket=BUCKET, Delimiter="/", PaginationConfig={"PageSize": 2}
    )
    prefixes = [p["Prefix"] for page in pages for p in page.get("CommonPrefixes", [])]
    assert prefixes == [f"{i}/" for i in range(7)]


def test_metadata_and_headers_come_back(s3):
    s3.put_object(
        Bucket=BUCKET,
        Key="k",
        Body=b"text",
        ContentType="text/plain",
        CacheControl="no-store",
        Metadata={"Some": "value", "other": "x"},
        Tagging="a=b&c=d%20e",
    )
    head = s3.head_object(Bucket=BUCKET, Key="k")
    assert (head["ContentType"], head["CacheControl"]) == ("text/plain", "no-store")
    assert head["Metadata"] == {"some": "value", "other": "x"}
    assert head["ETag"] == f'"{hashlib.md5(b"text").hexdigest()}"'
    tags = s3.get_object_tagging(Bucket=BUCKET, Key="k")["TagSet"]
    assert {t["Key"]: t["Value"] for t in tags} == {"a": "b", "c": "d e"}
    s3.put_object_tagging(Bucket=BUCKET, Key="k", Tagging={"TagSet": [{"Key": "q", "Value": "r"}]})
    assert s3.get_object(Bucket=BUCKET, Key="k")["TagCount"] == 1
    s3.delete_object_tagging(Bucket=BUCKET, Key="k")
    assert s3.get_object_tagging(Bucket=BUCKET, Key="k")["TagSet"] == []
    injected = {"Bucket": BUCKET, "Key": "k", "ResponseContentType": "a/b\r\nInjected: x"}
    assert code_of(s3.get_object, **injected) == "InvalidArgument 400"


@pytest.mark.parametrize("size", [0, 10, 40_000, 3_000_000])
def test_ranges(s3, size):
    data = os.urandom(size)
    s3.put_object(Bucket=BUCKET, Key="k", Body=data)
    assert s3.get_object(Bucket=BUCKET, Key="k")["Body"].read() == data
    if size == 0:
        assert code_of(s3.get_object, Bucket=BUCKET, Key="k", Range="bytes=0-1").endswith("416")
        return
    for asked, want in {
        "bytes=2-5": data[2:6],
        "bytes=-3": data[-3:],
        "bytes=4-": data[4:],
        f"bytes=0-{size * 2}": data,
    }.items():
        answer = s3.get_object(Bucket=BUCKET, Key="k", Range=asked)
        assert answer["Body"].read() == want
        assert answer["ResponseMetadata"]["HTTPStatusCode"] == 206
    beyond = code_of(s3.get_object, Bucket=BUCKET, Key="k", Range=f"bytes={size}-")
    assert beyond == "InvalidRange 416"


def test_conditions(s3):
    etag = s3.put_object(Bucket=BUCKET, Key="k", Body=b"1", IfNoneMatch="*")["ETag"]
    get = {"Bucket": BUCKET, "Key": "k"}
    assert s3.get_object(**get, IfMatch=etag)["Body"].read() == b"1"
    assert code_of(s3.get_object, **get, IfMatch='"x"') == "PreconditionFailed 412"
    assert code_of(s3.get_object, **get, IfNoneMatch=etag) == "304 304"
    assert code_of(s3.put_object, **get, IfNoneMatch="*") == "PreconditionFailed 412"
    assert code_of(s3.put_object, **get, IfMatch='"x"') == "PreconditionFailed 412"
    assert code_of(s3.put_object, Bucket=BUCKET, Key="no", IfMatch=etag) == "NoSuchKey 404"
    s3.put_object(**get, Body=b"2", IfMatch=etag)


def test_of_many_that_write_only_if_nothing_is_there_one_succeeds(s3):
    def put(number):
        try:
            s3.put_object(Bucket=BUCKET, Key="k", Body=str(number), IfNoneMatch="*")
        except ClientError as error:
            assert error.response["Error"]["Code"] == "PreconditionFailed"
            return 0
        return 1

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(put, range(64))) == 1


@pytest.mark.parametrize("algorithm", ["CRC32", "CRC32C", "CRC64NVME", "SHA1", "SHA256"])
def test_checksums_are_made_checked_and_given_back(s3, algorithm):
    try:
        put = s3.put_object(Bucket=BUCKET, Key="k", Body=b"abc", ChecksumAlgorithm=algorithm)
    except Exception as error:  # botocore without awscrt
        if "awscrt" in str(error).lower() or "crt" in str(error).lower():
            pytest.skip(f"botocore makes no {algorithm} without awscrt")
        raise
    name = f"Checksum{algorithm}"
    head = s3.head_object(Bucket=BUCKET, Key="k", ChecksumMode="ENABLED")
    assert head[name] == put[name]
    wrong = {name: base64.b64encode(b"\0" * len(base64.b64decode(put[name]))).decode()}
    assert code_of(s3.put_object, Bucket=BUCKET, Key="k", Body=b"x", **wrong) == "BadDigest 400"
    assert s3.get_object(Bucket=BUCKET, Key="k")["Body"].read() == b"abc"


def test_multipart_in_any_order_and_completed_twice(s3):
    parts = [os.urandom(5 << 20), os.urandom(6 << 20), b"end"]
    upload = s3.create_multipart_upload(
        Bucket=BUCKET, Key="k", ContentType="a/b", ChecksumAlgorithm="CRC32"
    )["UploadId"]
    place = {"Bucket": BUCKET, "Key": "k", "UploadId": upload}
    done = {}
    for number in (3, 1, 2):
        answer = s3.upload_part(
            **place, PartNumber=number, Body=parts[number - 1], ChecksumAlgorithm="CRC32"
        )
        done[number] = {
            "PartNumber": number,
            "ETag": answer["ETag"],
            "ChecksumCRC32": answer["ChecksumCRC32"],
        }
    assert [u["Key"] for u in s3.list_multipart_uploads(Bucket=BUCKET)["Uploads"]] == ["k"]
    assert [p["Size"] for p in s3.list_parts(**place)["Parts"]] == [len(p) for p in parts]
    assert "Contents" not in s3.list_objects_v2(Bucket=BUCKET)
    whole = {"Parts": [done[n] for n in (1, 2, 3)]}
    first = s3.complete_multipart_upload(**place, MultipartUpload=whole)
    again = s3.complete_multipart_upload(**place, MultipartUpload=whole)
    assert first["ETag"] == again["ETag"] and first["ETag"].endswith('-3"')
    got = s3.get_object(Bucket=BUCKET, Key="k")
    assert got["Body"].read() == b"".join(parts) and got["ContentType"] == "a/b"
    part = s3.get_object(Bucket=BUCKET, Key="k", PartNumber=2)
    assert part["Body"].read() == parts[1] and part["PartsCount"] == 3
    assert code_of(s3.abort_multipart_upload, **place) == "NoSuchUpload 404"


def test_transfers_of_large_files(s3):
    data = os.urandom(40 << 20)
    s3.upload_fileobj(io.BytesIO(data), BUCKET, "big")
    back = io.BytesIO()
    s3.download_fileobj(BUCKET, "big", back)
    assert back.getvalue() == data


def test_copies(s3):
    s3.put_object(Bucket=BUCKET, Key="a b/ü", Body=b"x" * 100_000, Metadata={"m": "1"})
    source = {"Bucket": BUCKET, "Key": "a b/ü"}
    s3.copy_object(Bucket=BUCKET, Key="copy", CopySource=source)
    assert s3.head_object(Bucket=BUCKET, Key="copy")["Metadata"] == {"m": "1"}
    other = {"Metadata": {"n": "2"}, "MetadataDirective": "REPLACE"}
    s3.copy_object(Bucket=BUCKET, Key="copy", CopySource=source, **other)
    assert s3.head_object(Bucket=BUCKET, Key="copy")["Metadata"] == {"n": "2"}
    missing = {"Bucket": BUCKET, "Key": "none"}
    assert code_of(s3.copy_object, Bucket=BUCKET, Key="c", CopySource=missing) == "NoSuchKey 404"
    itself = {"Bucket": BUCKET, "Key": "copy"}
    same = code_of(s3.copy_object, Bucket=BUCKET, Key="copy", CopySource=itself)
    assert same == "InvalidRequest 400"
    upload = s3.create_multipart_upload(Bucket=BUCKET, Key="parts")["UploadId"]
    place = {"Bucket": BUCKET, "Key": "parts", "UploadId": upload}
    part = s3.upload_part_copy(
        **place, PartNumber=1, CopySource=source, CopySourceRange="bytes=10-19"
    )["CopyPartResult"]
    parts = {"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]}
    s3.complete_multipart_upload(**place, MultipartUpload=parts)
    assert s3.get_object(Bucket=BUCKET, Key="parts")["Body"].read() == b"x" * 10


def test_deletes(s3):
    for key in ("a", "b&c", "d"):
        s3.put_object(Bucket=BUCKET, Key=key, Body=b"")
    asked = {"Objects": [{"Key": "a"}, {"Key": "b&c"}, {"Key": "never there"}]}
    answer = s3.delete_objects(Bucket=BUCKET, Delete=asked)
    assert [d["Key"] for d in answer["Deleted"]] == ["a", "b&c", "never there"]
    assert code_of(s3.delete_bucket, Bucket=BUCKET) == "BucketNotEmpty 409"
    s3.delete_object(Bucket=BUCKET, Key="d")
    s3.delete_object(Bucket=BUCKET, Key="d")
    assert code_of(s3.get_object, Bucket=BUCKET, Key="d") == "NoSuchKey 404"
    assert code_of(s3.head_object, Bucket=BUCKET, Key="d") == "404 404"


def test_presigned_urls(server, s3):
    signer = server.client("s3", signature_version="s3v4")
    place = {"Bucket": BUCKET, "Key": "a b"}
    url = signer.generate_presigned_url("put_object", Params=place)
    # A type of urllib's own choice would not be the one that was signed.
    untyped = {"Content-Type": ""}
    urllib.request.urlopen(urllib.request.Request(url, b"bytes", untyped, method="PUT"))
    url = signer.generate_presigned_url("get_object", Params=place)
    assert urllib.request.urlopen(url).read() == b"bytes"
    listing = signer.generate_presigned_url("list_objects_v2", Params={"Bucket": BUCKET})
    assert b"<KeyCount>1</KeyCount>" in urllib.request.urlopen(listing).read()
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(url.replace("a%20b", "a%20c"))
    assert refused.value.code == 403
    assert b"SignatureDoesNotMatch" in refused.value.read()


def test_requests_without_a_known_user_are_refused(server, s3):
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"{server.url}/{BUCKET}/k")
    assert refused.value.code == 403
    stranger = server.client("s3")
    stranger._request_signer._credentials.secret_key = "wrong"
    assert code_of(stranger.list_buckets) == "SignatureDoesNotMatch 403"


def test_what_is_not_there(s3):
    assert code_of(s3.get_object, Bucket="nobody", Key="k") == "NoSuchBucket 404"
    assert code_of(s3.put_object, Bucket="nobody", Key="k", Body=b"x") == "NoSuchBucket 404"
    assert code_of(s3.head_bucket, Bucket="nobody") == "404 404"
    long_key = code_of(s3.put_object, Bucket=BUCKET, Key="x" * 1025, Body=b"")
    assert long_key == "KeyTooLongError 400"
    lifecycle = code_of(s3.get_bucket_lifecycle_configuration, Bucket=BUCKET)
    assert lifecycle.split()[1] in ("404", "501")


def test_a_body_that_ends_early_leaves_nothing(server, s3):
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest

    request = AWSRequest("PUT", f"{server.url}/{BUCKET}/half", headers={"Content-Length": "100000"})
    request.headers["x-amz-content-sha256"] = "UNSIGNED-PAYLOAD"
    S3SigV4Auth(s3._request_signer._credentials, "s3", "us-east-1").add_auth(request)
    head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        host = f"Host: 127.0.0.1:{server.port}\r\n"
        connection.sendall(f"PUT /{BUCKET}/half HTTP/1.1\r\n{host}{head}\r\n".encode())
        connection.sendall(b"x" * 50_000)
    assert code_of(s3.head_object, Bucket=BUCKET, Key="half") == "404 404"
    assert "Contents" not in s3.list_objects_v2(Bucket=BUCKET)


def test_everything_is_there_after_a_kill(folder):
    with SmServer(folder) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        upload = s3.create_multipart_upload(Bucket=BUCKET, Key="later")["UploadId"]
        place = {"Bucket": BUCKET, "Key": "later", "UploadId": upload}
        etag = s3.upload_part(**place, PartNumber=1, Body=b"part")["ETag"]
        for i in range(50):
            s3.put_object(Bucket=BUCKET, Key=f"k{i:02}", Body=b"x" * i * 1000)
        server.kill()
        server.start()
        s3 = server.client("s3")
        assert [o["Size"] for o in s3.list_objects_v2(Bucket=BUCKET)["Contents"]] == [
            i * 1000 for i in range(50)
        ]
        parts = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
        s3.complete_multipart_upload(**place, MultipartUpload=parts)
        assert s3.get_object(Bucket=BUCKET, Key="later")["Body"].read() == b"part"
        assert server.resident_kib() < 40 << 10
        assert server.stop() == 0


def test_what_was_acknowledged_is_there_whole_when_the_server_is_killed_amid_puts(folder):
    def body_of(thread: int, number: int) -> bytes:
        return f"{thread} {number} ".encode() * (1 + number * 397 % 5000)

    def write(s3, thread: int, acknowledged: list[int], enough) -> None:
        while True:
            number = acknowledged[thread] + 1
            try:
                s3.put_object(Bucket=BUCKET, Key=f"over/{thread}", Body=body_of(thread, number))
                s3.put_object(Bucket=BUCKET, Key=f"once/{thread}/{number}", Body=b"new")
            except (ClientError, BotoCoreError):
                return
            acknowledged[thread] = number
            if sum(acknowledged) >= enough:
                killing.set()

    threads = 8
    acknowledged = [0] * threads
    with SmServer(folder) as server:
        server.client("s3").create_bucket(Bucket=BUCKET)
        for _ in range(3):
            killing = threading.Event()
            s3 = server.client("s3")
            enough = sum(acknowledged) + 150
            with concurrent.futures.ThreadPoolExecutor(threads) as pool:
                writers = [
                    pool.submit(write, s3, thread, acknowledged, enough)
                    for thread in range(threads)
                ]
                assert killing.wait(60)
                server.kill()
                for writer in writers:
                    writer.result(60)
            server.start()
            s3 = server.client("s3")
            pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
            listed = {o["Key"]: o["Size"] for page in pages for o in page["Contents"]}
            for thread, number in enumerate(acknowledged):
                got = s3.get_object(Bucket=BUCKET, Key=f"over/{thread}")["Body"].read()
                assert got in (body_of(thread, number), body_of(thread, number + 1))
                assert listed[f"over/{thread}"] == len(got)
                missing = [i for i in range(1, number + 1) if f"once/{thread}/{i}" not in listed]
                assert missing == []
            assert all(size == 3 for key, size in listed.items() if key.startswith("once/"))
