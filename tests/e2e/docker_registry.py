"""Debian's docker-registry, on this machine and for one test."""

import contextlib
import json
import pathlib
import shutil

import pytest

from process import Process


@contextlib.contextmanager
def docker_registry(folder: pathlib.Path, tls: dict | None = None, htpasswd: str = ""):
    """The address, "127.0.0.1:PORT". `tls`: as in its configuration; `htpasswd`: who may log in, as
    lines of that file. Skips the test where docker-registry or skopeo is not installed."""
    for program in ("docker-registry", "skopeo"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (requirements/packages.txt [test])")
    config = {
        "version": 0.1,
        "log": {"level": "info"},
        "storage": {"filesystem": {"rootdirectory": str(folder / "registry")}},
        "http": {"addr": "127.0.0.1:0", **({"tls": tls} if tls else {})},
    }
    if htpasswd:
        (folder / "htpasswd").write_text(htpasswd)
        config["auth"] = {"htpasswd": {"realm": "lab", "path": str(folder / "htpasswd")}}
    (folder / "registry.json").write_text(json.dumps(config))  # JSON is YAML.
    process = Process(["docker-registry", "serve", folder / "registry.json"])
    try:
        process.wait_for_output(b"listening on ")
        said = process.text.split("listening on 127.0.0.1:")[1]
        yield f"127.0.0.1:{int(said.split(',')[0].split(chr(34))[0])}"
    finally:
        process.end()
