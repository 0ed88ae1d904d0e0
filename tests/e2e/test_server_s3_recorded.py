"""S3 of `sm server`: requests of clients that sign in their own ways, byte for byte as recorded.

recorded/ has one of each, of boto3 1.43, minio-go 7.0.88 (`mc cp --checksum`, without and with TLS)
and @aws-sdk/s3-request-presigner 3.1169. Only host, key, times and signatures are replaced.
"""

import base64
import hashlib
import hmac
import re
import time
from pathlib import Path
from urllib.parse import parse_qsl, unquote

import pytest

from raw_http import (
    EMPTY_SHA256,
    Keys,
    Request,
    Scope,
    encoded,
    hmac_of,
    send,
    signature,
    signing_key,
    stamp,
)
from sm_server import SmServer

RECORDED = sorted(Path(__file__).with_name("recorded").glob("*.http"))
CHUNK = re.compile(rb"([0-9a-f]+);chunk-signature=[0-9a-f]{64}\r\n")
TRAILER = re.compile(rb"(.*)(\r\nx-amz-trailer-signature:)[0-9a-f]{64}(\r\n\r\n)", re.S)


class Signer:
    """Signs with these keys, now."""

    def __init__(self, keys: Keys, host: str):
        self.keys, self.host, self.when = keys, host, stamp()
        self.scope = Scope("s3").text(self.when)
        self.credential = f"{keys.identity}/{self.scope}"

    def signed_again(self, recording: bytes) -> bytes:
        head, body = recording.split(b"\r\n\r\n", 1)
        first, *lines = head.decode().split("\r\n")
        method, target, version = first.split(" ")
        headers = dict(line.split(": ", 1) for line in lines)
        names = {name.lower(): name for name in headers}
        headers[names["host"]] = self.host
        if "?" in target:
            target = self.target_again(method, target)
        if "Authorization" in headers:
            headers["X-Amz-Date"] = self.when
            body = self.authorized_again(Request(method, target, headers, body))
        lines = [f"{method} {target} {version}", *map(": ".join, headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def target_again(self, method: str, target: str) -> str:
        path, query = target.split("?")
        values = dict(parse_qsl(query))
        if "AWSAccessKeyId" in values:
            values |= {"AWSAccessKeyId": self.keys.identity, "Expires": str(int(time.time()) + 60)}
            text = f"{method}\n\n\n{values['Expires']}\n{path}"
            mac = hmac.new(self.keys.secret.encode(), text.encode(), hashlib.sha1).digest()
            values["Signature"] = base64.b64encode(mac).decode()
        else:
            values |= {"X-Amz-Credential": self.credential, "X-Amz-Date": self.when}
            signs = [pair for pair in values.items() if pair[0] != "X-Amz-Signature"]
            request = Request(method, path, {"Host": self.host}, query=signs)
            values["X-Amz-Signature"] = self.signature(request, ["host"], "UNSIGNED-PAYLOAD")
        return f"{path}?{encoded(list(values.items()))}"

    def authorized_again(self, request: Request) -> bytes:
        """Replaces the header; the body with its chunks' signatures."""
        said = request.headers["Authorization"]
        names = re.search("SignedHeaders=([^,]*)", said)[1].split(";")
        seed = self.signature(request, names, request.headers["X-Amz-Content-Sha256"])
        said = re.sub("Credential=[^,]*", f"Credential={self.credential}", said)
        request.headers["Authorization"] = re.sub("Signature=.*", f"Signature={seed}", said)
        return self.chunks_again(request.body, seed)

    def chunks_again(self, body: bytes, previous: str) -> bytes:
        again, at = b"", 0
        while chunk := CHUNK.match(body, at):
            data = body[chunk.end() : chunk.end() + int(chunk[1], 16)]
            hashed = hashlib.sha256(data).hexdigest()
            previous = self.mac("PAYLOAD", f"{previous}\n{EMPTY_SHA256}\n{hashed}")
            at = chunk.end() + len(data) + (2 if data else 0)
            again += chunk[1] + b";chunk-signature=" + previous.encode() + b"\r\n"
            again += body[chunk.end() : at]
        if signed := TRAILER.fullmatch(body, at):
            hashed = hashlib.sha256(signed[1]).hexdigest()
            last = self.mac("TRAILER", f"{previous}\n{hashed}")
            return again + signed[1] + signed[2] + last.encode() + signed[3]
        return again + body[at:]

    def mac(self, kind: str, rest: str) -> str:
        text = f"AWS4-HMAC-SHA256-{kind}\n{self.when}\n{self.scope}\n{rest}"
        return hmac_of(signing_key(self.keys.secret, self.scope), text).hex()

    def signature(self, request: Request, names: list[str], payload: str) -> str:
        return signature(request, self.keys, self.scope, self.when, names, payload)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server")) as server:
        server.client("s3").create_bucket(Bucket="recorded")
        yield server


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_recorded_request(server, path):
    recording = path.read_bytes()
    method, target = recording.decode().split(" ")[:2]
    place = {"Bucket": "recorded", "Key": unquote(target.split("?")[0]).removeprefix("/recorded/")}
    text = b"hello" if b"minio-go" in recording else b"by url"
    keys = Keys(server.keys["AWS_ACCESS_KEY_ID"], server.keys["AWS_SECRET_ACCESS_KEY"])
    again = Signer(keys, f"127.0.0.1:{server.port}").signed_again(recording)
    s3 = server.client("s3")
    if method == "GET":
        s3.put_object(**place, Body=text)
    answer = send(server.port, again)
    assert (answer.status, answer.body) == (200, text if method == "GET" else b""), answer.text
    stored = s3.get_object(**place, ChecksumMode="ENABLED")
    assert stored["Body"].read() == text
    if trailer := re.search(rb"\nx-amz-checksum-crc32c:(.*)\n", recording):
        assert stored["ChecksumCRC32C"] == trailer[1].decode()
    # Only the signature lets it in.
    forged = re.sub(rb"(?<=Signature=).", lambda it: b"B" if it[0] == b"A" else b"A", again)
    assert send(server.port, forged).code == "SignatureDoesNotMatch"
