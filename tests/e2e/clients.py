"""Third-party clients from package registries, in build/clients.

`python clients.py` installs the clients of clients.toml, and records why a client is unavailable.
A test requests one with program() or python(), and is skipped with that reason.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib
import venv

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build" / "clients"
WANTED = pathlib.Path(__file__).with_name("clients.toml")
# Prefer PyPI's Go and Node.js: Debian's are too old for some clients.
PINNED = {"PATH": f"{BUILD}/venv/bin:{os.environ['PATH']}"}
SECONDS = 900  # A Go client of very many modules, on a busy machine.


def run(*words, cwd=None, **env) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=SECONDS, cwd=cwd,
                   env={**os.environ, **env})  # fmt: skip


def install_debian(package: str, name: str) -> None:
    if not pathlib.Path("/usr/bin", name).exists():
        run("apt-get", "install", "-qq", "-y", "--no-install-recommends", package)
    (BUILD / "bin" / name).unlink(missing_ok=True)
    (BUILD / "bin" / name).symlink_to(pathlib.Path("/usr/bin", name))


def install_go(name: str, module: str) -> None:
    done = BUILD / "bin" / f"{name}.module"
    if done.exists() and done.read_text() == module:
        return
    run("go", "install", "-ldflags=-s -w", module, GOBIN=str(BUILD / "bin"), CGO_ENABLED="0",
        GOTOOLCHAIN="local", **PINNED)  # fmt: skip
    done.write_text(module)


def install_go_sdk(folder: pathlib.Path) -> None:
    """A program of our own over AWS's SDK; go.mod and go.sum pin that."""
    run("go", "build", "-ldflags=-s -w", "-o", BUILD / "bin" / "go2", ".", cwd=folder,
        CGO_ENABLED="0", GOTOOLCHAIN="local", GOFLAGS="-mod=readonly", **PINNED)  # fmt: skip


def install_java(folder: pathlib.Path) -> None:
    """The jars of AWS's SDK; pom.xml pins it."""
    run("mvn", "-B", "-q", "-f", folder / "pom.xml", "dependency:copy-dependencies",
        f"-DoutputDirectory={BUILD}/java")  # fmt: skip


def install_npm(packages: dict[str, str]) -> None:
    words = [f"{name}@{version}" for name, version in packages.items()]
    run("npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix",
        BUILD / "npm", *words, **PINNED)  # fmt: skip


def install_python(requirements: str) -> None:
    venv.create(BUILD / "venv", with_pip=True)
    (BUILD / "requirements.txt").write_text(requirements)
    run(BUILD / "venv/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check",
        "--no-deps", "--require-hashes", "-r", BUILD / "requirements.txt")  # fmt: skip


def reason_of(error: Exception) -> str:
    """One line."""
    said = str(getattr(error, "stderr", None) or "").strip().splitlines()
    return said[-1] if said else str(error)


def install() -> dict[str, str]:
    """Installs the clients. Returns the reason for each one that is unavailable."""
    wanted = tomllib.loads(WANTED.read_text())
    (BUILD / "bin").mkdir(parents=True, exist_ok=True)
    steps = [("python", install_python, (wanted["python"]["requirements"],))]
    steps += [(name, install_debian, (package, name)) for name, package in wanted["debian"].items()]
    steps += [("npm", install_npm, (wanted["npm"],))]
    steps += [(name, install_go, (name, module)) for name, module in wanted["go"].items()]
    steps += [("go2", install_go_sdk, (WANTED.with_name("clients_go"),))]
    steps += [("java", install_java, (WANTED.with_name("clients_java"),))]
    missing = {}
    for name, function, arguments in steps:
        try:
            function(*arguments)
        except (subprocess.SubprocessError, OSError) as error:
            missing[name] = reason_of(error)
            sys.stdout.write(f"clients: no {name}: {missing[name]}\n")
    (BUILD / "missing.json").write_text(json.dumps(missing))
    return missing


def _need(name: str) -> None:
    import pytest

    if not (BUILD / "missing.json").exists():
        pytest.skip("build/clients is not there: make test-clients")
    missing = json.loads((BUILD / "missing.json").read_text())
    if name in missing:
        pytest.skip(f"{name} cannot be had here: {missing[name]}")


def program(name: str) -> pathlib.Path:
    """One of Debian's or of a Go module."""
    _need(name)
    return BUILD / "bin" / name


def python(name: str = "python") -> pathlib.Path:
    """A program of the virtual environment."""
    _need("python")
    return BUILD / "venv" / "bin" / name


def jars() -> str:
    """A class path."""
    _need("javac")
    _need("java")
    return f"{BUILD}/java/*"


def node() -> list[pathlib.Path]:
    """Node.js, and the folder of node_modules."""
    _need("npm")
    own = BUILD / "venv" / "bin" / "node"
    return [own if own.exists() else pathlib.Path("node"), BUILD / "npm"]


if __name__ == "__main__":
    install()
