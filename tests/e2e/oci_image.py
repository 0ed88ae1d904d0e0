"""Container images, made by hand: OCI layout folders and what `docker save` writes."""

import dataclasses
import gzip
import hashlib
import io
import json
import pathlib
import platform
import re
import subprocess
import tarfile

ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())


def layer(
    members: dict[str, bytes | tarfile.TarInfo], modes: dict[str, int] | None = None
) -> bytes:
    """A layer's tar: a file's bytes by its name, or any member at all; files are 0755."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for name, member in members.items():
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
                continue
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(member), (modes or {}).get(name, 0o755)
            tar.addfile(info, io.BytesIO(member))
    return out.getvalue()


def special(name: str, kind: bytes, link: str = "", **more) -> tarfile.TarInfo:
    """A member other than a regular file."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, link
    for key, value in more.items():
        setattr(info, key, value)
    return info


def tree(folder: pathlib.Path, prefix: str = "", *options: str) -> bytes:
    """A layer's tar of a folder."""
    words = ["tar", "-C", folder, "--transform", f"s,^\\./,{prefix},", "--exclude=__pycache__"]
    return subprocess.run([*words, *options, "-c", "."], stdout=subprocess.PIPE, check=True).stdout


@dataclasses.dataclass
class Packed:
    """A layer too large for memory: its gzip file, and the digest of the tar in it."""

    file: pathlib.Path
    diff_id: str


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def diff_id(tar: bytes | Packed) -> str:
    return tar.diff_id if isinstance(tar, Packed) else digest(tar)


def config(layers: list[bytes | Packed], process: dict | None = None) -> bytes:
    return json.dumps(
        {
            "os": "linux",
            "architecture": ARCHITECTURE,
            "config": process or {"Entrypoint": ["/train"]},
            "rootfs": {"type": "layers", "diff_ids": [diff_id(tar) for tar in layers]},
        }
    ).encode()


def programs(*paths: str) -> dict[str, bytes]:
    """Programs of this machine with the libraries that they need, as members of a layer."""
    members = {}
    for path in paths:
        told = subprocess.run(["ldd", path], capture_output=True, text=True, check=False).stdout
        for file in [path, *re.findall(r"(/\S+) \(0x", told)]:
            members[file.removeprefix("/")] = pathlib.Path(file).read_bytes()
    return members


def write_layout(
    folder: pathlib.Path,
    layers: list[bytes | Packed],
    tag: str = "v1",
    process: dict | None = None,
    packed: bool = True,
) -> str:
    """An OCI layout folder of one image; its manifest's digest."""
    blobs = folder / "blobs/sha256"
    blobs.mkdir(parents=True, exist_ok=True)

    def put(data: bytes, kind: str) -> dict:
        (blobs / hashlib.sha256(data).hexdigest()).write_bytes(data)
        media_type = f"application/vnd.oci.image.{kind}"
        return {"mediaType": media_type, "digest": digest(data), "size": len(data)}

    def put_layer(tar: bytes | Packed) -> dict:
        if isinstance(tar, Packed):
            with open(tar.file, "rb") as file:
                name = hashlib.file_digest(file, "sha256").hexdigest()
            size = tar.file.stat().st_size
            tar.file.rename(blobs / name)
            kind = "application/vnd.oci.image.layer.v1.tar+gzip"
            return {"mediaType": kind, "digest": f"sha256:{name}", "size": size}
        if not packed:
            return put(tar, "layer.v1.tar")
        return put(gzip.compress(tar, 1, mtime=0), "layer.v1.tar+gzip")

    manifest = {
        "schemaVersion": 2,
        "config": put(config(layers, process), "config.v1+json"),
        "layers": [put_layer(tar) for tar in layers],
    }
    entry = put(json.dumps(manifest).encode(), "manifest.v1+json")
    entry["annotations"] = {"org.opencontainers.image.ref.name": tag}
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    return entry["digest"]


def write_archive(path: pathlib.Path, layers: list[bytes], name: str) -> None:
    """What `docker save NAME` writes."""
    members = {f"{i}/layer.tar": tar for i, tar in enumerate(layers)}
    listed = [{"Config": "config.json", "RepoTags": [name], "Layers": list(members)}]
    members |= {"config.json": config(layers), "manifest.json": json.dumps(listed).encode()}
    path.write_bytes(layer(members))
