"""S3 of `sm server`: presigned URLs of both versions, and buckets in the host's name."""

import base64
import hashlib
import hmac
import http.client
import time
import urllib.parse

import boto3
import pytest
from botocore.config import Config
from raw_http import Keys, Request, send, signed
from sm_server import SmServer

BUCKET = "urls"
DAY = 86400


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    config = {"name": "box.example.org"}
    with SmServer(tmp_path_factory.mktemp("server"), config=config) as server:
        server.url = f"http://127.0.0.1:{server.port}"  # The server's name does not resolve here.
        server.client("s3").create_bucket(Bucket=BUCKET)
        server.client("s3").create_bucket(Bucket="data")
        yield server


@pytest.fixture
def s3(server):
    return server.client("s3")


@pytest.fixture
def keys(server) -> Keys:
    return Keys(server.keys["AWS_ACCESS_KEY_ID"], server.keys["AWS_SECRET_ACCESS_KEY"])


def signer(server, version: str | None, style: str = "path", host: str = "localhost"):
    """A client that creates presigned URLs. No `version`: boto3's default."""
    more = {"signature_version": version} if version else {}
    return boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{server.port}",
        aws_access_key_id=server.keys["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=server.keys["AWS_SECRET_ACCESS_KEY"],
        region_name="us-east-1",
        config=Config(s3={"addressing_style": style}, **more),
    )


def opened(server, url: str, method="GET", body=b"", **headers) -> tuple[int, bytes]:
    """Whatever its host is called, it is the server."""
    place = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    target = place.path + ("?" + place.query if place.query else "")
    connection.request(method, target, body, {"Host": place.netloc, **named})
    answer = connection.getresponse()
    status, text = answer.status, answer.read()
    connection.close()
    return status, text


@pytest.mark.parametrize("host", ["localhost", "box.example.org"])
@pytest.mark.parametrize("style", ["path", "virtual"])
@pytest.mark.parametrize("version", [None, "s3", "s3v4"])
def test_urls_of_both_versions_and_forms(server, s3, version, style, host):
    key = "a b/ü+&?.txt"
    place = {"Bucket": BUCKET, "Key": key}
    boto = signer(server, version, style, host)
    url = boto.generate_presigned_url("put_object", Params=place)
    assert url.startswith(f"http://{BUCKET}." if style == "virtual" else f"http://{host}")
    assert ("AWSAccessKeyId=" in url) == (version != "s3v4")
    assert opened(server, url, "PUT", b"bytes") == (200, b"")
    named = {"ResponseContentDisposition": 'attachment; filename="a b.txt"', **place}
    url = boto.generate_presigned_url("get_object", Params=named)
    assert opened(server, url) == (200, b"bytes")
    assert opened(server, url, "GET", b"", Range="bytes=1-2") == (206, b"yt")
    url = boto.generate_presigned_url("head_object", Params=place)
    assert opened(server, url, "HEAD") == (200, b"")
    upload = s3.create_multipart_upload(**place)["UploadId"]
    part = {**place, "UploadId": upload, "PartNumber": 1}
    url = boto.generate_presigned_url("upload_part", Params=part)
    assert opened(server, url, "PUT", b"x")[0] == 200
    s3.abort_multipart_upload(**place, UploadId=upload)


def test_what_a_url_of_version_2_was_signed_with_has_to_come(server, s3):
    place = {"Bucket": BUCKET, "Key": "typed", "ContentType": "text/plain", "Metadata": {"a": "1"}}
    url = signer(server, "s3").generate_presigned_url("put_object", Params=place)
    assert "content-type=" in url and "x-amz-meta-a=" in url
    assert opened(server, url, "PUT", b"x")[0] == 200  # The parameters replace the headers.
    head = s3.head_object(Bucket=BUCKET, Key="typed")
    assert head["ContentType"] == "text/plain" and head["Metadata"] == {"a": "1"}
    assert opened(server, url, "PUT", b"y", Content_Type="text/plain", x_amz_meta_a="1")[0] == 200
    for other in ({"Content_Type": "text/html"}, {"x_amz_meta_a": "2"}, {"x_amz_meta_b": "1"}):
        assert opened(server, url, "PUT", b"z", **other)[0] in (400, 403), other
    assert s3.get_object(Bucket=BUCKET, Key="typed")["Body"].read() == b"y"


def version_2(keys: Keys, method: str, target: str, expires: int, resource="", amz="") -> str:
    """A URL's target, signed by hand, so that anything about it can be wrong."""
    text = f"{method}\n\n\n{expires}\n{amz}{resource or target}"
    mac = hmac.new(keys.secret.encode(), text.encode(), hashlib.sha1).digest()
    sign = urllib.parse.quote(base64.b64encode(mac), safe="")
    mark = "&" if "?" in target else "?"
    return f"{target}{mark}AWSAccessKeyId={keys.identity}&Expires={expires}&Signature={sign}"


def test_a_url_of_version_2_is_good_for_little_and_not_for_long(server, s3, keys):
    now = int(time.time())
    s3.put_object(Bucket=BUCKET, Key="k", Body=b"kept")
    host = f"http://localhost:{server.port}"

    def status(method: str, target: str, ahead: int = 60, more="", resource="", amz="", **headers):
        url = version_2(keys, method, target, now + ahead, resource, amz) + more
        return opened(server, host + url, method, b"", **headers)[0]

    path = f"/{BUCKET}/k"
    assert status("GET", path) == 200 and status("GET", path, 7 * DAY - 60) == 200
    assert status("GET", path, -1) == 403 and status("GET", path, 7 * DAY + 60) in (400, 403)
    # What it may not do, though it is well signed.
    for method, target in (
        ("GET", f"/{BUCKET}"), ("GET", f"/{BUCKET}?location"), ("PUT", f"/{BUCKET}2"),
        ("GET", "/"), ("DELETE", path), ("DELETE", f"/{BUCKET}"), ("GET", path + "?acl"),
        ("GET", path + "?tagging"), ("PUT", path + "?acl"), ("GET", path + "?uploadId=a"),
        ("POST", path + "?uploads"), ("GET", path + "?x-id=GetObject"),
        ("GET", f"/{BUCKET}?prefix=k"),
    ):  # fmt: skip
        assert status(method, target) in (400, 501), (method, target)
        # Nor if the parameter is left out of what was signed, as Version 2 has it.
        assert status(method, target, resource=target.split("?")[0]) in (400, 403, 501), target
    copy = f"x-amz-copy-source:/{BUCKET}/k\n"
    assert status("PUT", f"/{BUCKET}/c", amz=copy, x_amz_copy_source=f"/{BUCKET}/k") == 400
    # Changed on its way.
    for more in ("&versionId=null", "&response-content-type=text/html", "&Expires=9999999999",
                 "&x-amz-meta-a=1", "&partNumber=1", "&anything", "&prefix=",
                 "&expires=1"):  # fmt: skip
        assert status("GET", path, more=more) in (400, 403), more
    good = version_2(keys, "GET", path, now + 60)
    for method in ("PUT", "DELETE", "POST"):
        assert opened(server, host + good, method)[0] in (400, 403, 405)
    stretched = good.replace(str(now + 60), str(now + 600))
    assert opened(server, host + stretched)[0] == 403
    assert opened(server, host + good.replace("/k?", "/j?"))[0] == 403
    assert opened(server, host + good, Authorization="AWS a:b")[0] == 400
    old = {"Authorization": f"AWS {keys.identity}:{good.split('Signature=')[1]}"}
    assert opened(server, host + path, **old)[0] == 400
    assert s3.get_object(Bucket=BUCKET, Key="k")["Body"].read() == b"kept"
    assert [b["Name"] for b in s3.list_buckets()["Buckets"]] == ["data", BUCKET]


def test_a_url_of_version_2_calls_no_other_service(server, keys):
    now = int(time.time())
    listing = {
        "X_Amz_Target": "SageMaker.ListTrainingJobs",
        "Content_Type": "application/x-amz-json-1.1",
    }
    for path, more in (("/", listing), ("/v2/", {}), ("/ui/call/visit", {}), ("/metrics", {})):
        for method in ("GET", "POST"):
            url = f"http://localhost:{server.port}" + version_2(keys, method, path, now + 60)
            status, text = opened(server, url, method, b"{}" if method == "POST" else b"", **more)
            assert status in (400, 403, 404, 405, 501), (path, method, text)


def test_a_host_of_a_bucket_is_that_bucket_alone(server, s3, keys):
    def ask(host: str, path: str, method="PUT"):
        request = Request(method, path, {}, b"mine" if method == "PUT" else b"")
        return send(server.port, signed(request, keys, "s3", f"{host}:{server.port}"))

    for domain in ("localhost", "box.example.org"):
        assert ask(f"{BUCKET}.{domain}", "/data/x").status == 200
        assert ask(f"{BUCKET}.{domain}", "/data/x", "GET").body == b"mine"
        assert s3.get_object(Bucket=BUCKET, Key="data/x")["Body"].read() == b"mine"
        assert "Contents" not in s3.list_objects_v2(Bucket="data")
        assert ask(domain, "/data/x", "GET").code == "NoSuchKey"
        nobodys = ask(f"nobody.{domain}", f"/{BUCKET}/data/x", "GET")
        assert (nobodys.status, nobodys.code) == (404, "NoSuchBucket")
    for host in ("other.example.org", "urls.example.org", "urls.s3.amazonaws.com", "box"):
        refused = ask(host, "/data/x")
        assert (refused.status, refused.code) == (400, "InvalidRequest")
        assert "s3_domain" in refused.text and "name" in refused.text
    assert "Contents" not in s3.list_objects_v2(Bucket="data")


def test_a_browsers_form_gets_an_error_that_says_what_to_do(server):
    form = b'--b\r\nContent-Disposition: form-data; name="key"\r\n\r\nk\r\n--b--\r\n'
    kind = "multipart/form-data; boundary=b"
    for host, path in (("localhost", f"/{BUCKET}"), (f"{BUCKET}.localhost", "/")):
        url = f"http://{host}:{server.port}{path}"
        status, text = opened(server, url, "POST", form, Content_Type=kind)
        assert status == 501 and b"presigned" in text
