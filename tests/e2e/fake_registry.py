"""A registry for tests that misbehaves on demand. It shares no code with the client.

    with FakeRegistry() as registry:
        registry.add("team/box", "v1", image)
        registry.fault(digest, cut_after=1000, times=1)
        ... registry.address, registry.requests ...
"""

import base64
import gzip
import http.server
import json
import pathlib
import socket
import struct
import threading
import urllib.parse
from dataclasses import dataclass, field

from oci_image import config, digest, layer

OCI = "application/vnd.oci.image."
INDEX_TYPE = OCI + "index.v1+json"
MANIFEST_TYPE = OCI + "manifest.v1+json"

USER, PASSWORD = "ann", "pass:hush"
BASIC = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()


def descriptor(data: bytes, kind: str) -> dict:
    return {"mediaType": kind, "digest": digest(data), "size": len(data)}


class OciImage:
    """An image of plain files, {name: bytes} for each layer, lowest first."""

    def __init__(self, *layers: dict):
        self.tars = [layer(files) for files in layers]
        self.layers = [gzip.compress(tar, 1, mtime=0) for tar in self.tars]
        self.config = config(self.tars)
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": descriptor(self.config, OCI + "config.v1+json"),
            "layers": [descriptor(data, OCI + "layer.v1.tar+gzip") for data in self.layers],
        }
        self.manifest = json.dumps(manifest).encode()

    def blobs(self) -> dict:
        return {digest(data): data for data in [*self.layers, self.config]}

    def write_layout(self, folder: pathlib.Path) -> None:
        """As an OCI layout folder whose only image is v1, with all that skopeo wants in it."""
        blobs = folder / "blobs/sha256"
        blobs.mkdir(parents=True)
        for name, data in {**self.blobs(), digest(self.manifest): self.manifest}.items():
            (blobs / name.removeprefix("sha256:")).write_bytes(data)
        entry = descriptor(self.manifest, MANIFEST_TYPE)
        entry["annotations"] = {"org.opencontainers.image.ref.name": "v1"}
        (folder / "index.json").write_text(
            json.dumps({"schemaVersion": 2, "manifests": [entry]})
        )
        (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')


def index_of(images: dict) -> bytes:
    """An index {architecture: image}."""
    entries = [
        {
            **descriptor(image.manifest, MANIFEST_TYPE),
            "platform": {"os": "linux", "architecture": name},
        }
        for name, image in images.items()
    ]
    index = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": entries}
    return json.dumps(index).encode()


@dataclass
class Fault:
    """What goes wrong with a tag or a digest; `times` requests long (None: always)."""

    status: int | None = None
    headers: dict = field(default_factory=dict)
    cut_after: int | None = None  # Bytes of the body, then a reset.
    stall_after: int | None = None  # Bytes of the body, then silence until the registry ends.
    body: bytes | None = None  # In place of the right one.
    endless: bool = False  # Chunks, until the client goes.
    ignore_range: bool = False
    expire: bool = False  # The token that came is not taken any more.
    expire_after: bool = False  # No token that came until now is taken for the next request.
    times: int | None = None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def log_message(self, *_):
        pass

    def answer(self, status: int, body: bytes = b"", headers: dict | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def refuse(self, status: int, code: str, headers: dict | None = None) -> None:
        body = json.dumps({"errors": [{"code": code, "message": "on demand"}]}).encode()
        self.answer(status, body, headers)

    def lets_in(self, owner: "FakeRegistry", fault: Fault) -> bool:
        shown = self.headers.get("Authorization", "")
        if fault.expire:
            owner.token = ""
        if owner.login is None or (owner.login == "basic" and shown == BASIC):
            return True
        if owner.login == "bearer" and owner.token and shown == "Bearer " + owner.token:
            return True
        bearer = f'Bearer realm="http://{owner.address}/token",service="fake"'
        challenge = bearer if owner.login == "bearer" else 'Basic realm="fake"'
        self.refuse(401, "UNAUTHORIZED", {"WWW-Authenticate": challenge})
        return False

    def give_token(self, owner: "FakeRegistry", query: dict) -> None:
        scope = query.get("scope", [""])[0]
        if self.headers.get("Authorization") != BASIC or not scope.endswith(":pull"):
            self.refuse(401, "UNAUTHORIZED")
            return
        owner.tokens += 1
        owner.token = f"hush-token-{owner.tokens}"
        self.answer(200, json.dumps({"token": owner.token, "expires_in": 300}).encode())

    def give(self, body: bytes, headers: dict, fault: Fault) -> None:
        body = body if fault.body is None else fault.body
        if fault.endless:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while True:  # Until writing fails: the client has enough.
                self.wfile.write(b"10000\r\n" + b"x" * 0x10000 + b"\r\n")
        wanted = self.headers.get("Range", "")
        status, begin = 200, 0
        if wanted.startswith("bytes=") and not fault.ignore_range:
            begin = int(wanted.removeprefix("bytes=").rstrip("-"))
            status = 206
            headers["Content-Range"] = f"bytes {begin}-{len(body) - 1}/{len(body)}"
        cut = fault.cut_after if fault.cut_after is not None else fault.stall_after
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) - begin))
        self.end_headers()
        self.wfile.write(body[begin:] if cut is None else body[begin : begin + cut])
        self.wfile.flush()
        if fault.expire_after:
            self.server.owner.token = ""
        if fault.cut_after is not None:
            linger = struct.pack("ii", 1, 0)  # Closing then resets.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.close_connection = True
        if fault.stall_after is not None:
            self.server.owner.stalled.set()
            self.server.owner.released.wait(60)
            self.close_connection = True

    def serve(self) -> None:
        owner = self.server.owner
        path, _, query = self.path.partition("?")
        shown = self.headers.get("Authorization", "")
        owner.requests.append((path, self.headers.get("Range", ""), shown))
        if path == "/token":
            return self.give_token(owner, urllib.parse.parse_qs(query))
        place, kind, name = (path.rsplit("/", 2) + ["", ""])[:3]
        fault = owner.take_fault(name)
        if path.startswith("/elsewhere/"):
            return self.give(owner.blobs[name], {}, fault)
        if not self.lets_in(owner, fault):
            return None
        if fault.status is not None:
            return self.refuse(fault.status, "FAKE", dict(fault.headers))
        repository = place.removeprefix("/v2/")
        if kind == "blobs" and name in owner.blobs:
            return self.give(owner.blobs[name], {}, fault)
        if kind == "manifests" and (repository, name) in owner.manifests:
            media_type, body = owner.manifests[repository, name]
            headers = {"Content-Type": media_type, "Docker-Content-Digest": digest(body)}
            if moved := owner.moves.pop((repository, name), None):
                owner.add(repository, name, moved)
            return self.give(body, headers, fault)
        if path == "/v2/":
            return self.answer(200, b"{}")
        return self.refuse(404, "MANIFEST_UNKNOWN")

    def do_GET(self) -> None:
        try:
            self.serve()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


class FakeRegistry:
    def __init__(self, login: str | None = None):
        self.login = login  # "basic", "bearer".
        self.token, self.tokens = "", 0
        self.blobs: dict[str, bytes] = {}
        self.manifests: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.faults: dict[str, Fault] = {}
        self.moves: dict[tuple[str, str], OciImage] = {}
        self.requests: list[tuple[str, str, str]] = []  # Path, Range, Authorization.
        self.stalled, self.released = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._server.owner = self
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> "FakeRegistry":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()

    def add(self, repository: str, tag: str, image: OciImage) -> str:
        """The image's name there."""
        self.blobs.update(image.blobs())
        for name in (tag, digest(image.manifest)):
            self.manifests[repository, name] = (MANIFEST_TYPE, image.manifest)
        return f"{self.address}/{repository}:{tag}"

    def add_index(self, repository: str, tag: str, index: bytes) -> str:
        self.manifests[repository, tag] = (INDEX_TYPE, index)
        return f"{self.address}/{repository}:{tag}"

    def move_when_asked(self, repository: str, tag: str, image: OciImage) -> None:
        """The tag means this image from the next request on that follows one for it."""
        self.moves[repository, tag] = image

    def fault(self, name: str, **what) -> None:
        self.faults[name] = Fault(**what)

    def take_fault(self, name: str) -> Fault:
        with self._lock:
            fault = self.faults.get(name)
            if fault is None or fault.times == 0:
                return Fault()
            if fault.times is not None:
                fault.times -= 1
            return fault

    def asked(self, name: str) -> int:
        """How often a tag or digest was asked for."""
        return sum(path.endswith("/" + name) for path, _, _ in self.requests)
