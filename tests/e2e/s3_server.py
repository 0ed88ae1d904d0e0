"""An S3 server for tests: buckets in memory, signatures really checked, faults on demand.

It knows GET with Range and If-Match, ListObjectsV2, PUT, multipart uploads and their abortion, and
CodeArtifact's two calls; nothing else. What it checks it checks by itself: no code is shared with
the client.

    with S3Server() as server:
        server.put("bucket", "key", b"bytes")
        server.fault("key", reset_after=1000, times=1)
        ... server.url, server.env() ...
"""

import base64
import binascii
import datetime
import hashlib
import hmac
import http.server
import json
import socket
import ssl
import struct
import threading
import urllib.parse
from dataclasses import dataclass, field

ACCESS_KEY = "AKIDTESTTESTTESTTEST"
SECRET_KEY = "secret+test/key0123456789abcdefghijklmno"
SESSION_TOKEN = "session/token=="


@dataclass
class Fault:
    """What goes wrong with a key; `times` requests long (None: always)."""

    status: int | None = None
    code: str = "InternalError"
    message: str = "on demand"
    headers: dict = field(default_factory=dict)
    reset_after: int | None = None  # Bytes of the body, then a reset.
    stall_after: int | None = None  # Bytes of the body, then silence.
    stall_head: bool = False  # Silence instead of an answer.
    length_more: int = 0  # Says that many bytes more than it sends, then closes.
    checksum: str | None = None  # A CRC32 in place of the right one.
    corrupt: bool = False  # The first byte of the body is another.
    ignore_range: bool = False
    inside_200: bool = False  # The failure's XML under a 200.
    replace: bytes | None = None  # The object becomes this one after the answer.
    methods: tuple = ("GET", "PUT", "POST")
    times: int | None = None


@dataclass
class Stored:
    body: bytes
    etag: str
    headers: dict = field(default_factory=dict)


class Refused(Exception):
    """An answer other than success."""

    def __init__(self, status, code, message="", headers=None, region=""):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message
        self.headers, self.region = headers or {}, region


def crc32_text(body: bytes) -> str:
    return base64.b64encode(struct.pack(">I", binascii.crc32(body))).decode()


def quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="-._~")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    # --- the signature ---

    def signed_path(self, path: str, service: str) -> str:
        if service == "s3":
            return path
        return urllib.parse.quote(path, safe="/-._~")

    def check_signature(self, body: bytes):
        server = self.server.owner
        authorization = self.headers.get("Authorization", "")
        if not authorization.startswith("AWS4-HMAC-SHA256 "):
            raise Refused(403, "AccessDenied", "no signature")
        parts = dict(part.strip().split("=", 1) for part in authorization[17:].split(","))
        access_key, day, region, service, _ = parts["Credential"].split("/")
        if access_key not in server.keys:
            raise Refused(403, "InvalidAccessKeyId", "The access key Id does not exist.")
        if server.session_token and (
            self.headers.get("x-amz-security-token") != server.session_token
        ):
            raise Refused(400, "ExpiredToken", "The provided token has expired.")
        if service == "s3" and region != server.region:
            raise Refused(
                400, "AuthorizationHeaderMalformed", f"expecting '{server.region}'", {},
                server.region,
            )  # fmt: skip
        stamp = self.headers["x-amz-date"]
        when = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ")
        now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
        if abs((now - when).total_seconds()) > 900:
            raise Refused(403, "RequestTimeTooSkewed", "The difference is too large.")
        path, _, query = self.path.partition("?")
        names = parts["SignedHeaders"].split(";")
        for name in ["host"] + [n.lower() for n in self.headers if n.lower().startswith("x-amz-")]:
            if name not in names:
                raise Refused(403, "AccessDenied", f"{name} was not signed")
        said = self.headers.get("x-amz-content-sha256")
        hashed = hashlib.sha256(body).hexdigest()
        if service == "s3" and said is None:
            raise Refused(400, "MissingSecurityHeader", "x-amz-content-sha256")
        if said not in (None, "UNSIGNED-PAYLOAD", hashed):
            raise Refused(400, "XAmzContentSHA256Mismatch", "the body is not what was signed")
        if said == "UNSIGNED-PAYLOAD" and not (server.tls or "x-amz-checksum-crc32" in names):
            raise Refused(400, "InvalidRequest", "neither TLS nor a checksum that was signed")
        pairs = urllib.parse.parse_qsl(query, keep_blank_values=True)
        canonical_query = "&".join(
            f"{k}={v}" for k, v in sorted((quoted(k), quoted(v)) for k, v in pairs)
        )
        lines = "".join(f"{n}:{' '.join((self.headers.get(n) or '').split())}\n" for n in names)
        request = "\n".join(
            [self.command, self.signed_path(path, service), canonical_query, lines,
             ";".join(names), said or hashed]
        )  # fmt: skip
        scope = f"{day}/{region}/{service}/aws4_request"
        text = "\n".join(
            ["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(request.encode()).hexdigest()]
        )
        key = ("AWS4" + server.keys[access_key]).encode()
        for part in (day, region, service, "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        want = hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
        if not hmac.compare_digest(want, parts["Signature"]):
            raise Refused(403, "SignatureDoesNotMatch", "The signature we calculated differs.")

    # --- answers ---

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", headers=None, fault=None):
        fault = fault or Fault()
        headers = dict(headers or {})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + fault.length_more))
        self.send_header("x-amz-request-id", "TEST")
        self.end_headers()
        cut = fault.reset_after if fault.reset_after is not None else fault.stall_after
        if fault.corrupt and body:
            body = bytes([body[0] ^ 1]) + body[1:]
        self.wfile.write(body if cut is None else body[:cut])
        self.wfile.flush()
        if fault.reset_after is not None:
            linger = struct.pack("ii", 1, 0)  # Closing then resets.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
        if fault.length_more:
            self.close_connection = True
        if fault.stall_after is not None:
            self.stall()

    def stall(self):
        self.server.owner.released.wait(60)
        self.close_connection = True

    def refuse(self, refused):
        region = f"<Region>{refused.region}</Region>" if refused.region else ""
        body = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>' + refused.code
            + "</Code><Message>" + refused.message + "</Message>" + region + "</Error>"
        )  # fmt: skip
        headers = {"Content-Type": "application/xml", "x-amzn-ErrorType": refused.code}
        headers.update(refused.headers)
        self.answer(refused.status, body.encode(), headers)

    def serve(self):
        server = self.server.owner
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        query = dict(urllib.parse.parse_qsl(query, keep_blank_values=True))
        names = urllib.parse.unquote(path).lstrip("/").split("/", 1)
        bucket, key = names[0], names[1] if len(names) > 1 else ""
        server.requests.append((self.command, path, query, dict(self.headers.items())))
        try:
            fault = server.take_fault(key, self.command)
            if fault.stall_head:
                self.stall()
                return
            if fault.status and not fault.inside_200:
                raise Refused(fault.status, fault.code, fault.message, fault.headers)
            if path == "/credentials":
                self.credentials()
                return
            self.check_signature(body)
            if fault.inside_200:
                self.refuse(Refused(200, fault.code, fault.message))
                return
            if path.startswith("/v1/"):
                self.codeartifact(path, query)
                return
            if bucket not in server.buckets:
                raise Refused(404, "NoSuchBucket", "The specified bucket does not exist")
            {"GET": self.get, "PUT": self.put, "POST": self.post, "DELETE": self.abort}[
                self.command
            ](bucket, key, query, body, fault)
        except Refused as refused:
            self.refuse(refused)

    do_GET = do_PUT = do_POST = do_DELETE = serve

    # --- what S3 does ---

    def listing(self, bucket, query):
        server = self.server.owner
        start, after = query.get("prefix", ""), query.get("continuation-token", "")
        keys = sorted(server.buckets[bucket], key=str.encode)
        keys = [key for key in keys if key.startswith(start) and key > after]
        page = keys[: min(int(query.get("max-keys", 1000)), server.page_keys)]
        more = len(page) < len(keys)
        assert query.get("encoding-type") == "url"
        body = "<ListBucketResult><EncodingType>url</EncodingType>"
        body += f"<IsTruncated>{str(more).lower()}</IsTruncated>"
        if more:
            token = page[-1].replace("&", "&amp;").replace("<", "&lt;")
            body += f"<NextContinuationToken>{token}</NextContinuationToken>"
        for key in page:
            stored = server.buckets[bucket][key]
            etag = stored.etag.replace('"', "&quot;")
            body += f"<Contents><Key>{urllib.parse.quote_plus(key)}</Key>"
            body += f"<ETag>{etag}</ETag><Size>{len(stored.body)}</Size></Contents>"
        self.answer(200, (body + "</ListBucketResult>").encode())

    def get(self, bucket, key, query, _body, fault):
        if not key and query.get("list-type") == "2":
            self.listing(bucket, query)
            return
        objects = self.server.owner.buckets[bucket]
        if key not in objects:
            raise Refused(404, "NoSuchKey", "The specified key does not exist.")
        stored = objects[key]
        if self.headers.get("If-Match") not in (None, stored.etag):
            raise Refused(412, "PreconditionFailed", "At least one precondition did not hold")
        headers = {"ETag": stored.etag, **stored.headers}
        body, status = stored.body, 200
        span = self.headers.get("Range")
        if span and not fault.ignore_range:
            first, _, last = span.removeprefix("bytes=").partition("-")
            first, last = int(first), min(int(last or len(body)), len(body) - 1)
            if first >= len(body):
                raise Refused(416, "InvalidRange", "The range is not satisfiable")
            headers["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
            body, status = body[first : last + 1], 206
        elif self.headers.get("x-amz-checksum-mode") == "ENABLED":
            if not any(name.startswith("x-amz-checksum-") for name in headers):
                headers["x-amz-checksum-crc32"] = fault.checksum or crc32_text(stored.body)
        self.answer(status, body, headers, fault)
        if fault.replace is not None:
            self.server.owner.put(bucket, key, fault.replace)

    def check_body(self, body):
        said = self.headers.get("x-amz-checksum-crc32")
        if said != crc32_text(body):
            raise Refused(400, "BadDigest", "The CRC32 you specified did not match")

    def put(self, bucket, key, query, body, _fault):
        server = self.server.owner
        self.check_body(body)
        etag = '"' + hashlib.md5(body).hexdigest() + '"'
        if "uploadId" not in query:
            server.put(bucket, key, body)
        else:
            upload = server.uploads.get(query["uploadId"])
            if upload is None:
                raise Refused(404, "NoSuchUpload", "no such upload")
            upload[int(query["partNumber"])] = body
        self.answer(200, b"", {"ETag": etag, "x-amz-checksum-crc32": crc32_text(body)})

    def post(self, bucket, key, query, body, _fault):
        server = self.server.owner
        if "uploads" in query:
            name = f"upload&{len(server.uploads)}"
            server.uploads[name] = {}
            escaped = name.replace("&", "&amp;")
            self.answer(200, f"<R><UploadId>{escaped}</UploadId></R>".encode())
            return
        parts = server.uploads.pop(query["uploadId"], None)
        if parts is None:
            raise Refused(404, "NoSuchUpload", "no such upload")
        if body.count(b"<Part>") != len(parts):
            raise Refused(400, "InvalidPart", "a part is missing")
        for number in sorted(parts):
            if crc32_text(parts[number]).encode() not in body:
                raise Refused(400, "InvalidPart", f"part {number} has another checksum")
        server.put(bucket, key, b"".join(parts[number] for number in sorted(parts)))
        self.answer(200, b"<CompleteMultipartUploadResult/>")

    def abort(self, _bucket, _key, query, _body, _fault):
        self.server.owner.uploads.pop(query.get("uploadId"), None)
        self.answer(204)

    # --- others ---

    def credentials(self):
        server = self.server.owner
        if self.headers.get("Authorization") != server.endpoint_token:
            raise Refused(403, "Forbidden", "wrong token")
        body = {
            "AccessKeyId": ACCESS_KEY,
            "SecretAccessKey": SECRET_KEY,
            "Token": server.session_token or "",
            "Expiration": "2099-01-02T03:04:05Z",
        }
        self.answer(200, json.dumps(body).encode(), {"Content-Type": "application/json"})

    def codeartifact(self, path, query):
        if query.get("domain") != "my-domain" or query.get("domain-owner") != "123456789012":
            headers = {"x-amzn-ErrorType": "ResourceNotFoundException:http://x"}
            body = b'{"message":"Domain not found."}'
            self.answer(404, body, headers)
        elif path == "/v1/authorization-token" and self.command == "POST":
            self.answer(200, b'{"authorizationToken":"t0ken","expiration":1.0}')
        elif path == "/v1/repository/endpoint" and query.get("format") == "pypi":
            url = f"https://my-domain.example/pypi/{query['repository']}/"
            self.answer(200, json.dumps({"repositoryEndpoint": url}).encode())
        else:
            self.answer(400, b"{}")


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def shutdown_request(self, request):
        self.close_request(request)  # No goodbye first: it would make a reset an end.

    def handle_error(self, request, client_address):
        pass  # A client that goes away is part of the tests.


class S3Server:
    def __init__(self, certificate: str | None = None, region: str = "us-east-1"):
        self.keys = {ACCESS_KEY: SECRET_KEY}
        self.session_token: str | None = None
        self.endpoint_token: str | None = None
        self.region = region
        self.buckets: dict[str, dict[str, Stored]] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.requests: list[tuple] = []
        self.page_keys = 1000
        self.released = threading.Event()
        self.tls = certificate is not None
        self._faults: dict[str, list[Fault]] = {}
        self._lock = threading.Lock()
        self._listener = Listener(("127.0.0.1", 0), Handler)
        self._listener.owner = self
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._listener.socket = context.wrap_socket(self._listener.socket, server_side=True)
        self._thread = threading.Thread(target=self._listener.serve_forever, args=(0.05,))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.released.set()
        self._listener.shutdown()
        self._listener.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        return self._listener.server_address[1]

    @property
    def url(self) -> str:
        host = "localhost" if self.tls else "127.0.0.1"
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}"

    def env(self) -> dict[str, str]:
        """What a client's environment needs."""
        env = {
            "AWS_ENDPOINT_URL_S3": self.url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": "us-east-1",
        }
        return env | ({"AWS_SESSION_TOKEN": self.session_token} if self.session_token else {})

    def put(self, bucket: str, key: str, body: bytes, **headers):
        etag = '"' + hashlib.md5(body).hexdigest() + '"'
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.buckets.setdefault(bucket, {})[key] = Stored(body, etag, named)

    def get(self, bucket: str, key: str) -> bytes:
        return self.buckets[bucket][key].body

    def fault(self, key: str, **what):
        """Faults of a key take effect one after the other, each for its `times`."""
        self._faults.setdefault(key, []).append(Fault(**what))

    def take_fault(self, key: str, method: str) -> Fault:
        with self._lock:
            for fault in self._faults.get(key, []):
                if method not in fault.methods or fault.times == 0:
                    continue
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return Fault()

    def count(self, method: str, key: str) -> int:
        """Requests about a key so far."""
        return sum(1 for m, path, *_ in self.requests if m == method and path.endswith("/" + key))
