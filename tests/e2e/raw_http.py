"""Requests as bytes: signed by our own hand, so that anything about them can be wrong.

    answer = send(port, signed(Request("GET", "/bucket/key"), keys, "s3"))
    ... answer.status, answer.code ...
"""

import dataclasses
import datetime
import hashlib
import hmac
import http.client
import json
import re
import socket
import time
import urllib.parse
from dataclasses import dataclass, field

ANSWER_SECONDS = 30.0
EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True)
class Keys:
    identity: str
    secret: str


@dataclass
class Request:
    method: str = "POST"
    path: str = "/"
    headers: dict = field(default_factory=dict)
    body: bytes = b""
    query: list = field(default_factory=list)  # Pairs, as they are before encoding.

    @property
    def target(self) -> str:
        return self.path + ("?" + encoded(self.query) if self.query else "")


@dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def code(self) -> str:
        """AWS's error code, wherever the response's protocol puts it; empty if missing."""
        kind = self.headers.get("Content-Type", "")
        if "json" in kind:
            said = json.loads(self.body).get("__type", "")
            assert said == self.headers.get("x-amzn-ErrorType", said), (said, self.headers.items())
            return said
        if "cbor" in kind:
            from botocore.parsers import RpcV2CBORParser

            parser = RpcV2CBORParser()
            stream = parser.get_peekable_stream_from_bytes(self.body)
            return parser.parse_data_item(stream).get("__type", "")
        found = re.search(rb"<Code>([^<]*)</Code>", self.body)
        return found[1].decode() if found else ""

    @property
    def text(self) -> str:
        return self.body.decode(errors="replace")


def encoded(query: list) -> str:
    quote = urllib.parse.quote
    return "&".join(f"{quote(k, safe='-._~')}={quote(v, safe='-._~')}" for k, v in query)


def stamp(seconds_ahead: float = 0.0) -> str:
    now = datetime.datetime.now(datetime.timezone.utc)
    return (now + datetime.timedelta(seconds=seconds_ahead)).strftime("%Y%m%dT%H%M%SZ")


def hmac_of(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


@dataclass(frozen=True)
class Scope:
    """What a signature says beside the request; each may be a lie."""

    service: str
    region: str = "us-east-1"
    time: str = ""  # Now.
    day: str = ""  # The time's.
    terminal: str = "aws4_request"

    @property
    def when(self) -> str:
        return self.time or stamp()

    def text(self, when: str) -> str:
        return f"{self.day or when[:8]}/{self.region}/{self.service}/{self.terminal}"


def signing_key(secret: str, scope: str) -> bytes:
    key = ("AWS4" + secret).encode()
    for word in scope.split("/"):
        key = hmac_of(key, word)
    return key


def signature(
    request: Request, keys: Keys, scope: str, when: str, names: list, payload: str
) -> str:
    lowered = {name.lower(): value for name, value in request.headers.items()}
    lines = "".join(f"{name}:{' '.join(str(lowered[name]).split())}\n" for name in names)
    path = urllib.parse.quote(urllib.parse.unquote_to_bytes(request.path), safe="/-._~")
    canonical = "\n".join(
        [request.method, path, encoded(sorted(request.query)), lines, ";".join(names),
         payload]
    )  # fmt: skip
    hashed = hashlib.sha256(canonical.encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{when}\n{scope}\n{hashed}"
    return hmac_of(signing_key(keys.secret, scope), text).hex()


def signed(
    request: Request, keys: Keys, scope, host: str, payload: str = "", unsigned: tuple = ()
) -> Request:
    """Signs the request. `payload` replaces the body's hash; `unsigned`: headers to leave out."""
    if isinstance(scope, str):
        scope = Scope(scope)
    when = scope.when
    payload = payload or hashlib.sha256(request.body).hexdigest()
    headers = {"Host": host, **request.headers, "X-Amz-Date": when}
    if scope.service == "s3":
        headers["X-Amz-Content-Sha256"] = payload
    request = dataclasses.replace(request, headers=headers)
    names = sorted(name.lower() for name in headers if name.lower() not in unsigned)
    value = signature(request, keys, scope.text(when), when, names, payload)
    headers["Authorization"] = (
        f"AWS4-HMAC-SHA256 Credential={keys.identity}/{scope.text(when)}, "
        f"SignedHeaders={';'.join(names)}, Signature={value}"
    )
    return request


def presigned(request: Request, keys: Keys, scope: Scope, host: str, expires: str) -> Request:
    """With the signature in the query."""
    when = scope.when
    query = [
        ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
        ("X-Amz-Credential", f"{keys.identity}/{scope.text(when)}"),
        ("X-Amz-Date", when),
        ("X-Amz-Expires", expires),
        ("X-Amz-SignedHeaders", "host"),
    ]
    headers = {"Host": host, **request.headers}
    request = dataclasses.replace(request, headers=headers, query=request.query + query)
    payload = "UNSIGNED-PAYLOAD" if scope.service == "s3" else EMPTY_SHA256
    value = signature(request, keys, scope.text(when), when, ["host"], payload)
    request.query.append(("X-Amz-Signature", value))
    return request


def head_of(request: Request, length: bool = True) -> bytes:
    lines = [f"{request.method} {request.target} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in request.headers.items()]
    said = {name.lower() for name in request.headers}
    if length and not said & {"content-length", "transfer-encoding"}:
        lines.append(f"Content-Length: {len(request.body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


def send(port: int, request: Request | bytes, end: bool = False) -> Answer:
    """What is answered; with `end` the client's side is closed behind the request."""
    raw = request if isinstance(request, bytes) else head_of(request) + request.body
    with socket.create_connection(("127.0.0.1", port), timeout=ANSWER_SECONDS) as connection:
        try:
            connection.sendall(raw)
            if end:
                connection.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError):
            pass  # Refused before the request's end: the answer says why.
        return read_answer(connection, raw.split(b" ", 1)[0].decode(errors="replace"))


def read_answer(connection: socket.socket, method: str) -> Answer:
    response = http.client.HTTPResponse(connection, method=method)
    response.begin()
    return Answer(response.status, response.msg, response.read())


def closed_within(connection: socket.socket, seconds: float) -> bool:
    """Whether the other side ends the connection in time; what comes before is passed over."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        connection.settimeout(left)
        try:
            if not connection.recv(65536):
                return True
        except TimeoutError:
            return False
        except ConnectionResetError:
            return True
    return False
