"""Images as people have them, on two hosts under MPI: one with muster's wheel, and one with the
original sagemaker-training, which starts an sshd of its own in each host.

`make test-frameworks` runs them: a Debian is made once by debootstrap.
"""

import os
import pathlib
import subprocess
import tarfile

import pytest

from debian_root import mpi4py_root
from fit import GUARD_SECONDS
from image import build_wheel
from lab import REPOSITORY
from oci_image import layer, special, tree, write_layout

pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(os.geteuid() != 0, reason="images need root"),
]

PACKAGES = "usr/local/lib/python3.11/dist-packages/"
# What images of the original bring: keys of their own, and the folder that Debian's sshd wants.
SSH_CONFIG = b"Host *\n  StrictHostKeyChecking no\n"
TRAIN = b"""#!/usr/bin/python3
import sys
from sagemaker_training.cli.train import main
sys.exit(main())
"""
# The original's members look for their MPI daemon once a second, and wait 20 minutes for one that
# they missed: no job of theirs may be quicker.
SCRIPT = """
import os, shutil, socket, time
import sagemaker_training
time.sleep(3)
print("rank", os.environ["OMPI_COMM_WORLD_RANK"], "of", os.environ["OMPI_COMM_WORLD_SIZE"],
      "on", socket.gethostname(), "by", shutil.which("train"),
      "of", os.path.dirname(sagemaker_training.__file__), flush=True)
"""
# The classic escape from a chroot, for a process that can create another one.
ESCAPE = """
import os, sys
top = os.open("/", os.O_RDONLY)
os.mkdir("/inner")
os.chroot("/inner")
os.fchdir(top)
for _ in range(64):
    os.chdir("..")
os.chroot(".")
print("escapes to", "the machine" if os.path.exists(sys.argv[1]) else sorted(os.listdir("/")))
"""
REFERENCE_SECONDS = 3 * GUARD_SECONDS  # The original waits 30 s at the end alone.


@pytest.fixture(scope="session")
def debian() -> bytes:
    return tree(mpi4py_root(), "", "--exclude=./dev/*")


def wheel_layer(folder: pathlib.Path) -> bytes:
    """What pip makes of muster's wheel in an image."""
    pip = [REPOSITORY / "build/venv/bin/python", "-m", "pip", "install", "-q", "--no-compile"]
    options = ["--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, *options, "--target", folder / "site", build_wheel()], check=True)
    (folder / "root/usr/local/bin").mkdir(parents=True)
    (folder / "site/bin").rename(folder / "bin")
    for path in (folder / "bin").iterdir():
        path.rename(folder / "root/usr/local/bin" / path.name)
    (folder / "root" / PACKAGES).parent.mkdir(parents=True)
    (folder / "site").rename(folder / "root" / PACKAGES)
    return tree(folder / "root")


def reference_layers(folder: pathlib.Path) -> list[bytes]:
    """The original sagemaker-training, its `train`, and keys by which hosts reach each other."""
    venv = REPOSITORY / "build/reference-venv"
    if not (venv / "lib/python3.11").exists():
        pytest.skip("the original is built for this machine's Python, not for Debian 12's 3.11")
    keygen = ["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", folder / "key"]
    subprocess.run(keygen, check=True)
    secret, public = ((folder / name).read_bytes() for name in ("key", "key.pub"))
    members = {
        "usr/local/bin/train": TRAIN,
        "run/sshd": special("run/sshd", tarfile.DIRTYPE, mode=0o755),
        "root/.ssh": special("root/.ssh", tarfile.DIRTYPE, mode=0o700),
        "root/.ssh/config": SSH_CONFIG,
        "root/.ssh/authorized_keys": public,
        "root/.ssh/id_rsa": secret,
    }
    packages = tree(venv / "lib/python3.11/site-packages", PACKAGES)
    return [packages, layer(members, {"root/.ssh/id_rsa": 0o600})]


def fit(machine, layers: list[bytes], script: str, *words, seconds: int = GUARD_SECONDS) -> str:
    """What a script says in hosts of these layers."""
    process = {"Env": ["PATH=/usr/local/bin:/usr/bin:/usr/sbin"]}
    write_layout(machine.folder / "layout", layers, process=process, packed=False)
    imported = machine.sm("image", "import", f"oci:{machine.folder}/layout:v1", "--name", "box")
    assert imported.wait(GUARD_SECONDS) == 0, imported.text
    (machine.source / "job.py").write_text(script)
    options = ["--image", "box", "--output", machine.output]
    job = machine.sm("fit", machine.source / "job.py", *options, *words)
    assert job.wait(seconds) == 0, job.text
    return job.text


def ranks(machine, layers: list[bytes], seconds: int) -> list[str]:
    """What the four ranks of two hosts said."""
    words = ["--mpi", "--hosts", 2, "--processes-per-host", 2]
    text = fit(machine, layers, SCRIPT, *words, seconds=seconds)
    return sorted(line[line.rindex("rank ") :] for line in text.splitlines() if " by /" in line)


def wanted() -> list[str]:
    by = f"by /usr/local/bin/train of /{PACKAGES}sagemaker_training"
    return [f"rank {rank} of 4 on algo-{1 + rank // 2} {by}" for rank in range(4)]


def test_an_image_with_musters_wheel(machine, debian, folder):
    assert ranks(machine, [debian, wheel_layer(folder)], GUARD_SECONDS) == wanted()


def test_an_image_with_the_original_and_its_sshd(machine, debian, folder):
    layers = [debian, *reference_layers(folder)]
    assert ranks(machine, layers, REFERENCE_SECONDS) == wanted()


def test_a_root_that_may_chroot_stays_in_its_image(machine, debian):
    text = fit(machine, [debian], ESCAPE, "--", machine.output)
    assert "escapes to ['bin', 'boot', 'dev', 'etc', 'home', 'inner'," in text, text
