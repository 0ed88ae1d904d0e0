"""Root folders of Debian and Ubuntu, made by debootstrap once and kept outside of the tree."""

import os
import pathlib
import shutil
import subprocess

import pytest

CACHE = pathlib.Path(
    os.environ.get("MUSTER_CACHE", pathlib.Path.home() / ".cache" / "muster-tests")
)
DEBIAN = "http://deb.debian.org/debian"


def make_root(name: str, suite: str, packages: str, *options: str, mirror: str = DEBIAN):
    """A root folder with `packages` (names with commas), for tests that do not write to it."""
    root = CACHE / name
    if root.exists():
        return root
    part = CACHE / f"{name}.{os.getpid()}"
    CACHE.mkdir(parents=True, exist_ok=True)
    if not pathlib.Path(f"/usr/share/debootstrap/scripts/{suite}").exists():
        pytest.skip(f"this debootstrap does not know {suite}")
    words = ["debootstrap", "--variant=minbase", f"--include={packages}", "--force-check-gpg"]
    done = subprocess.run(
        [*words, *options, suite, part, mirror], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        shutil.rmtree(part, ignore_errors=True)
        pytest.skip(f"debootstrap cannot make {name}: {done.stdout.strip().splitlines()[-1:]}")
    shutil.rmtree(part / "var/cache/apt", ignore_errors=True)
    part.rename(root)
    return root


def mpi4py_root():
    packages = "python3-mpi4py,openmpi-bin,openssh-server,openssh-client"
    return make_root("bookworm-mpi4py", "bookworm", packages)


if __name__ == "__main__":
    mpi4py_root()  # For tests in a sandbox, which has no network to download it.
