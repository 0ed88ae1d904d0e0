"""The wheel installs offline in old distributions, with their own Python and pip, and runs a job.

debootstrap creates the roots once, outside the tree. An unavailable suite is skipped with its
reason. The roots have no network except the lab's, and no compiler.
"""

import hashlib
import json
import pathlib
import shutil
import subprocess
import urllib.request

import pytest

from debian_root import CACHE, DEBIAN, make_root
from image import build_wheel
from process import Process
from training import GUARD_SECONDS, host_environment, write_job

UBUNTU = "http://archive.ubuntu.com/ubuntu"
KEYRING_PACKAGE = f"{UBUNTU}/pool/main/u/ubuntu-keyring/ubuntu-keyring_2021.03.26_all.deb"
KEYRING_SHA256 = "0d0e7ed6b112f5d03eabf3c7eb01ebdacf9c57714b279e90495cfc58c8c4520f"
pytestmark = pytest.mark.roots
# name -> (suite, mirror, components)
ROOTS = {
    "debian-11": ("bullseye", DEBIAN, "main"),
    "debian-12": ("bookworm", DEBIAN, "main"),
    "ubuntu-20.04": ("focal", UBUNTU, "main,universe"),
    "ubuntu-22.04": ("jammy", UBUNTU, "main,universe"),
}

ENTER = """
set -e
mkdir -p /run/lab/root /run/lab/upper /run/lab/work
mount -t overlay -o lowerdir="$1",upperdir=/run/lab/upper,workdir=/run/lab/work overlay \
  /run/lab/root
mount -t proc proc /run/lab/root/proc
mount --rbind /dev /run/lab/root/dev
mkdir -p /run/lab/root/opt/ml
mount --bind /opt/ml /run/lab/root/opt/ml
cp /etc/hosts /run/lab/root/etc/hosts
echo "nameserver 127.0.0.1" > /run/lab/root/etc/resolv.conf
cp "$2" "/run/lab/root/tmp/"
"""

SCRIPT = """
import json, os, socket, sys
from sagemaker_training import environment
env = environment.Environment()
assert env.hyperparameters == {"lr": 0.1} and env.current_host == os.environ["SM_CURRENT_HOST"]
print("hello from", env.current_host, "of", env.hosts, sys.argv[1:], flush=True)
"""

FRAMEWORK = """
from sagemaker_training import entry_point, environment, runner

def main():
    env = environment.Environment()
    entry_point.run(uri=env.module_dir, user_entry_point=env.user_entry_point,
                    args=env.to_cmd_args(), env_vars=env.to_env_vars(), capture_error=True)
"""


def ubuntu_keyring() -> pathlib.Path:
    """The keys of Ubuntu's archive, which Debian has no package of."""
    keyring = CACHE / "ubuntu-archive-keyring.gpg"
    if keyring.exists():
        return keyring
    try:
        with urllib.request.urlopen(KEYRING_PACKAGE, timeout=60) as answer:
            data = answer.read()
    except OSError as error:
        pytest.skip(f"Ubuntu's keys cannot be had: {error}")
    assert hashlib.sha256(data).hexdigest() == KEYRING_SHA256, "not the package that was pinned"
    package = CACHE / "ubuntu-keyring.deb"
    package.write_bytes(data)
    subprocess.run(["dpkg-deb", "-x", package, CACHE / "ubuntu-keyring"], check=True)
    shutil.copy(CACHE / "ubuntu-keyring/usr/share/keyrings/ubuntu-archive-keyring.gpg", keyring)
    return keyring


def python_root(name: str) -> pathlib.Path:
    """With Python and pip; never written to by tests."""
    suite, mirror, components = ROOTS[name]
    options = [f"--components={components}"]
    if mirror == UBUNTU:
        options.append(f"--keyring={ubuntu_keyring()}")
    packages = "python3,python3-pip"
    return make_root(f"{suite}-python", suite, packages, *options, mirror=mirror)


@pytest.fixture(scope="session")
def wheel():
    return build_wheel()


class Root:
    """A lab's host, seen from inside another distribution where the wheel is installed."""

    def __init__(self, host, root: pathlib.Path, wheel: pathlib.Path):
        self.host = host
        host.check("sh", "-c", ENTER, "enter", root, wheel)
        words = ["python3", "-m", "pip", "install", "--no-index", "--no-deps", "--no-compile"]
        if list((root / "usr/lib").glob("python3*/EXTERNALLY-MANAGED")):
            words += ["--break-system-packages"]
        pip = self.start(*words, f"/tmp/{wheel.name}")
        assert pip.wait(5 * GUARD_SECONDS) == 0, pip.text

    def start(self, *words, key: str = "0" * 64, **env) -> Process:
        path = "/usr/local/bin:/usr/bin:/bin"
        environment = {**host_environment(key), "PATH": path, "HOME": "/root", **env}
        return self.host.start(["/usr/sbin/chroot", "/run/lab/root", *words], env=environment)


def give_job(host, hosts: list[str]) -> None:
    parameters = {"sagemaker_program": json.dumps("script.py"), "lr": "0.1"}
    write_job(host, hosts, SCRIPT, parameters, {"framework.py": FRAMEWORK})


@pytest.mark.parametrize("name", ROOTS)
def test_the_wheel_installs_and_runs_jobs(lab, wheel, name):
    made = python_root(name)
    both = [Root(host, made, wheel) for host in lab.hosts(2)]

    for program in ("sm", "train"):
        for words in ((program, "--version"), ("bash", program, "--version")):
            process = both[0].start(*words)
            assert process.wait(GUARD_SECONDS) == 0, f"{words}: {process.text}"
            assert process.out.startswith(b"muster "), f"{words}: {process.text}"

    give_job(both[0].host, ["algo-1"])
    alone = both[0].start("train")
    assert alone.wait(GUARD_SECONDS) == 0, alone.text
    assert b"hello from algo-1 of ['algo-1'] ['--lr', '0.1']" in alone.out, alone.text

    for root in both:
        give_job(root.host, ["algo-1", "algo-2"])
    variables = {"SAGEMAKER_TRAINING_MODULE": "framework:main", "PYTHONPATH": "/opt/ml/code"}
    for env in ({}, variables):
        trains = [root.start("train", **env) for root in both]
        for train in trains:
            assert train.wait(GUARD_SECONDS) == 0, train.text
        said = b"".join(train.out for train in trains)
        for host in ("algo-1", "algo-2"):
            assert f"hello from {host} of ['algo-1', 'algo-2']".encode() in said, trains[0].text

    (both[0].host.base / "code" / "script.py").write_text("raise ValueError('old')")
    trains = [root.start("train", **variables) for root in both]
    assert [train.wait(GUARD_SECONDS) for train in trains] == [1, 1], trains[0].text
    failure = (both[0].host.base / "output" / "failure").read_text()
    assert "ValueError: old" in failure, failure
