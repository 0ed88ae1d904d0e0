"""Signatures of images as cosign makes them, by the openssl program, without a line of muster."""

import base64
import json
import pathlib
import subprocess
import urllib.request

from fake_registry import MANIFEST_TYPE, OCI, FakeRegistry, descriptor
from oci_image import digest

PAYLOAD_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json"


class Key:
    """An ECDSA P-256 key, as cosign generate-key-pair makes one."""

    def __init__(self, folder: pathlib.Path, name: str = "cosign"):
        self.private, self.public = folder / f"{name}.key", folder / f"{name}.pub"
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.private)
        openssl("ec", "-in", self.private, "-pubout", "-out", self.public)

    def sign(self, payload: bytes) -> bytes:
        return openssl("dgst", "-sha256", "-sign", self.private, stdin=payload)


def openssl(*words, stdin: bytes | None = None) -> bytes:
    done = subprocess.run(["openssl", *map(str, words)], input=stdin, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def payload_for(of: str, reference: str) -> bytes:
    return json.dumps(
        {
            "critical": {
                "identity": {"docker-reference": reference},
                "image": {"docker-manifest-digest": of},
                "type": "cosign container image signature",
            },
            "optional": None,
        }
    ).encode()


def tag_of(of: str) -> str:
    return of.replace(":", "-") + ".sig"


class Attachment:
    """What cosign pushes beside an image: blobs, and a manifest for tag_of(its digest)."""

    def __init__(self, *signed: tuple[bytes, bytes]):
        rootfs = {"type": "layers", "diff_ids": []}
        self.config = json.dumps({"architecture": "", "os": "", "rootfs": rootfs}).encode()
        self.blobs = [self.config, *(payload for payload, _ in signed)]
        layers = [
            {
                **descriptor(payload, PAYLOAD_TYPE),
                "annotations": {
                    "dev.cosignproject.cosign/signature": base64.b64encode(signature).decode()
                },
            }
            for payload, signature in signed
        ]
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST_TYPE,
            "config": descriptor(self.config, OCI + "config.v1+json"),
            "layers": layers,
        }
        self.manifest = json.dumps(manifest).encode()

    def add_to(self, registry: FakeRegistry, repository: str, of: str) -> None:
        registry.blobs.update({digest(blob): blob for blob in self.blobs})
        registry.manifests[repository, tag_of(of)] = (MANIFEST_TYPE, self.manifest)

    def push(self, address: str, repository: str, of: str, headers: dict | None = None) -> None:
        """To a registry that keeps what it is sent."""
        for blob in self.blobs:
            begun = ask("POST", f"http://{address}/v2/{repository}/blobs/uploads/", b"", headers)
            where = begun.headers["Location"]
            where = where if where.startswith("http") else f"http://{address}{where}"
            joint = "&" if "?" in where else "?"
            data = {**(headers or {}), "Content-Type": "application/octet-stream"}
            ask("PUT", f"{where}{joint}digest={digest(blob)}", blob, data)
        kind = {**(headers or {}), "Content-Type": MANIFEST_TYPE}
        ask("PUT", f"http://{address}/v2/{repository}/manifests/{tag_of(of)}", self.manifest, kind)


def ask(method: str, url: str, body: bytes, headers: dict | None):
    request = urllib.request.Request(url, body, headers or {}, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer


def policy(folder: pathlib.Path, key: Key | None, scope: str, identity: dict | None = None,
           name: str = "policy.json") -> pathlib.Path:
    """Rejects all but what `key` signed in the scope; without a key it takes that as it is."""
    rule = {"type": "insecureAcceptAnything"}
    if key is not None:
        rule = {"type": "sigstoreSigned", "keyPath": str(key.public)}
    if identity:
        rule["signedIdentity"] = identity
    path = folder / name
    path.write_text(
        json.dumps({"default": [{"type": "reject"}], "transports": {"docker": {scope: [rule]}}})
    )
    return path
