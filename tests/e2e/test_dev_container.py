"""The image for developing muster, built of .devcontainer/Dockerfile on a debootstrapped Debian.

It needs neither Docker nor a registry of images. Most of the time goes into Debian's packages.
"""

import shutil
import subprocess
import tempfile

import pytest

from debian_root import make_root
from lab import REPOSITORY

pytestmark = pytest.mark.roots

DOCKERFILE = REPOSITORY / ".devcontainer" / "Dockerfile"
BUILD_SECONDS = 3600
# What `make test` needs is there, and CMake finds each library.
CHECKS = """
cd /muster
tools/install-packages --check python demo test
cmake -S . -B /tmp/build -G Ninja -DCMAKE_BUILD_TYPE=Release
"""


@pytest.fixture
def storage():
    for program in ("buildah", "podman"):
        if not shutil.which(program):
            pytest.skip(f"no {program}: apt-get install {program}")
    folder = tempfile.mkdtemp(prefix="mu-")  # podman wants a runroot of at most 50 characters.
    yield ["--storage-driver", "vfs", "--root", f"{folder}/root", "--runroot", f"{folder}/run"]
    shutil.rmtree(folder)


def run(*words, **options) -> None:
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, check=False,
                          timeout=BUILD_SECONDS, **options)  # fmt: skip
    assert done.returncode == 0, (words, done.stdout[-4000:], done.stderr[-4000:])


def test_it_is_built_and_has_what_the_tests_need(storage):
    root = make_root("debian12", "bookworm", "ca-certificates")
    with subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE) as tar:
        words = ["podman", *storage, "import", "-q", "-", "docker.io/library/debian:12"]
        run(*words, stdin=tar.stdout)
    buildah = ["buildah", *storage]
    run(*buildah, "build", "--isolation", "chroot", "--pull-never", "--network", "host", "-t",
        "muster-dev", "-f", DOCKERFILE, REPOSITORY)  # fmt: skip
    run(*buildah, "from", "--name", "dev", "localhost/muster-dev")
    run(*buildah, "run", "--isolation", "chroot", "-v", f"{REPOSITORY}:/muster:ro", "dev", "--",
        "bash", "-ec", CHECKS)  # fmt: skip
