"""Third-party clients from package registries, in build/clients and build/airflow-venv.

`python clients.py` installs the clients that requirements/ pins, and records why a client is
unavailable. A test requests one with program() or python(), and is skipped with that reason.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib
import venv

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build" / "clients"
PINS = REPOSITORY / "requirements" / "clients"
# Prefer PyPI's Go and Node.js: Debian's are too old for some clients.
PATH = {"PATH": f"{BUILD}/venv/bin:{os.environ['PATH']}"}
SECONDS = 900  # A Go client of very many modules, on a busy machine.


def run(*words, cwd=None, **env) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True, timeout=SECONDS, cwd=cwd,
                   env={**os.environ, **env})  # fmt: skip


def folder_of(name: str, *files: pathlib.Path) -> pathlib.Path:
    """An empty folder of build/clients with copies of `files`."""
    folder = BUILD / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in files:
        shutil.copy(file, folder)
    return folder


def install_debian(name: str, package: str) -> None:
    if not pathlib.Path("/usr/bin", name).exists():
        run("apt-get", "install", "-qq", "-y", "--no-install-recommends", package)
    (BUILD / "bin" / name).unlink(missing_ok=True)
    (BUILD / "bin" / name).symlink_to(pathlib.Path("/usr/bin", name))


def install_go(name: str, module: str) -> None:
    done = BUILD / "bin" / f"{name}.module"
    if done.exists() and done.read_text() == module:
        return
    run("go", "install", "-ldflags=-s -w", module, GOBIN=str(BUILD / "bin"), CGO_ENABLED="0",
        GOTOOLCHAIN="local", **PATH)  # fmt: skip
    done.write_text(module)


def install_go_sdk() -> None:
    """A program of our own over AWS's SDK."""
    source = pathlib.Path(__file__).with_name("clients_go") / "main.go"
    folder = folder_of("go", source, PINS / "go.mod", PINS / "go.sum")
    run("go", "build", "-ldflags=-s -w", "-o", BUILD / "bin" / "go2", ".", cwd=folder,
        CGO_ENABLED="0", GOTOOLCHAIN="local", GOFLAGS="-mod=readonly", **PATH)  # fmt: skip


def install_java() -> None:
    """The jars of AWS's SDK. Maven has no lock, so their hashes are checked here."""
    folder = folder_of("java")
    run("mvn", "-B", "-q", "--strict-checksums", "-f", PINS / "pom.xml",
        "dependency:copy-dependencies", f"-DoutputDirectory={folder}")  # fmt: skip
    found = {jar.name: hashlib.sha256(jar.read_bytes()).hexdigest() for jar in folder.iterdir()}
    lines = (PINS / "jars.sha256").read_text().splitlines()
    wanted = {name: value for value, name in map(str.split, lines)}
    if found != wanted:
        names = {name for name, _ in found.items() ^ wanted.items()}
        raise OSError(f"not as jars.sha256 says: {', '.join(sorted(names))}")


def install_npm() -> None:
    folder = folder_of("npm", PINS / "package.json", PINS / "package-lock.json")
    run("npm", "ci", "--loglevel=error", "--no-audit", "--no-fund", "--ignore-scripts",
        cwd=folder, **PATH)  # fmt: skip


def install_python() -> None:
    venv.create(BUILD / "venv", with_pip=True)
    run(BUILD / "venv/bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check",
        "--no-deps", "--require-hashes", "-r", PINS / "python.txt")  # fmt: skip


def reason_of(error: Exception) -> str:
    """One line."""
    said = str(getattr(error, "stderr", None) or "").strip().splitlines()
    said = [line for line in said if not line.startswith("make")]
    return said[-1] if said else str(error)


def steps() -> list[list[tuple]]:
    """(name, function, arguments) of each client; lists whose steps need each other's results."""
    programs = tomllib.loads((PINS / "programs.toml").read_text())
    return [
        [
            ("python", install_python, ()),
            ("npm", install_npm, ()),
            *((each[0], install_go, each) for each in programs["go"].items()),
            ("go2", install_go_sdk, ()),
        ],
        [
            *((each[0], install_debian, each) for each in programs["debian"].items()),
            ("java", install_java, ()),
        ],
        [("airflow", run, ("make", "-C", REPOSITORY, "build/airflow-venv/.done"))],
    ]


def failures(wanted: list[tuple]) -> dict[str, str]:
    """Installs these, one after the other. Returns the reason for each one that is unavailable."""
    missing = {}
    for name, function, arguments in wanted:
        try:
            function(*arguments)
        except (subprocess.SubprocessError, OSError) as error:
            missing[name] = reason_of(error)
            sys.stdout.write(f"clients: no {name}: {missing[name]}\n")
    return missing


def install() -> None:
    (BUILD / "bin").mkdir(parents=True, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor() as pool:  # Most of it waits for registries.
        found = list(pool.map(failures, steps()))
    missing = {name: why for each in found for name, why in each.items()}
    (BUILD / "missing.json").write_text(json.dumps(missing))


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


def airflow() -> pathlib.Path:
    """The interpreter that has Airflow."""
    _need("airflow")
    return REPOSITORY / "build/airflow-venv/bin/python"


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
