"""The Debian package and the tar archive, installed in a bare Debian where each runs a job."""

import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import pytest

from lab import REPOSITORY, SM
from test_static import debian11  # noqa: F401
from training import GUARD_SECONDS, host_environment, write_job

SCRIPT = "echo \"hello from $SM_CURRENT_HOST with lr $SM_HP_LR\"\n"

ENTER = """
set -e
mkdir -p /run/lab/root /run/lab/upper /run/lab/work
mount -t overlay -o lowerdir="$1",upperdir=/run/lab/upper,workdir=/run/lab/work overlay \\
  /run/lab/root
mount -t proc proc /run/lab/root/proc
mount --rbind /dev /run/lab/root/dev
mkdir -p /run/lab/root/opt/ml
mount --bind /opt/ml /run/lab/root/opt/ml
shift
cp "$@" /run/lab/root/tmp/
"""


@pytest.fixture(scope="module")
def packed():
    """A folder with what `make packages` writes; not below /tmp, which hosts have of their own."""
    if b"/lib64/ld-linux" in SM.read_bytes()[:4096]:
        pytest.skip(f"{SM} is a dev build: packages are made of the release")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="packed-", dir=REPOSITORY / "build"))
    done = subprocess.run(
        [REPOSITORY / "tools/packages.py", SM, folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def root(lab, debian11, packed):  # noqa: F811
    """Runs a command in a bare Debian 11 that has got some of the files."""
    host = lab.hosts(1)[0]

    def enter(*files: pathlib.Path):
        host.check("sh", "-c", ENTER, "enter", debian11, *files)

        def run(*words) -> str:
            path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
            environment = {**host_environment("0" * 64), "PATH": path, "HOME": "/root"}
            chroot = ["/usr/sbin/chroot", "/run/lab/root", *words]
            process = host.start(chroot, env=environment)
            assert process.wait(GUARD_SECONDS) == 0, process.text
            return process.text

        return run

    enter.host = host
    return enter


def run_job(host, run, *train) -> None:
    parameters = {"sagemaker_program": json.dumps("script.sh"), "lr": "0.1"}
    write_job(host, [host.name], "", parameters, {"script.sh": SCRIPT})
    assert f"hello from {host.name} with lr 0.1" in run(*train)


@pytest.mark.roots
def test_the_debian_package_installs_runs_a_job_and_goes(root, packed):
    (package,) = packed.glob("*.deb")
    run = root(package)
    # Without runc, which `train` does not need.
    run("dpkg", "--force-depends", "-i", f"/tmp/{package.name}")
    assert run("sm", "--version").startswith("muster ")
    run_job(root.host, run, "sm", "train")
    files = run("dpkg", "-L", "muster").splitlines()
    for path in (
        "/lib/systemd/system/muster-server.service",
        "/usr/share/man/man1/sm-fit.1.gz",
        "/usr/share/bash-completion/completions/sm",
        "/usr/share/zsh/vendor-completions/_sm",
        "/usr/share/fish/vendor_completions.d/sm.fish",
    ):
        assert path in files, files
    assert "ExecStart=/usr/bin/sm server" in run("cat", "/lib/systemd/system/muster-server.service")
    run("dpkg", "--purge", "muster")
    run("sh", "-c", "! command -v sm && ! ls /usr/share/doc/muster")


@pytest.mark.roots
def test_the_tar_archive_runs_a_job_where_it_was_unpacked(root, packed):
    (archive,) = packed.glob("*.tar.gz")
    run = root(archive)
    run("tar", "-xzf", f"/tmp/{archive.name}", "-C", "/opt")
    (folder,) = [name for name in run("ls", "/opt").split() if name.startswith("muster-")]
    run_job(root.host, run, f"/opt/{folder}/bin/train")
    with tarfile.open(archive) as entries:
        assert all(entry.isfile() and entry.uid == 0 for entry in entries)


@pytest.mark.roots
def test_the_archive_is_installed_by_the_lines_of_the_page(root, packed):
    page = (REPOSITORY / "docs/users/install.md").read_text()
    (block,) = re.findall(r'^```sh title="needs the packages"\n(.*?)^```$', page, re.M | re.S)
    (archive,) = packed.glob("*.tar.gz")
    said = root(archive, packed / "SHA256SUMS")("bash", "-ec", f"cd /tmp\n{block}")
    assert f"{archive.name}: OK" in said and "\nmuster " in said


def test_the_package_is_clean_to_debians_own_checker(packed):
    if shutil.which("lintian") is None:
        pytest.skip("lintian is not installed: tools/install-packages test")
    (package,) = packed.glob("*.deb")
    done = subprocess.run(
        ["lintian", "--allow-root", "--fail-on", "error,warning", package],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and not done.stdout, done.stdout + done.stderr


@pytest.mark.deep
def test_checksums_and_parts_are_listed_and_packing_is_reproducible(packed, tmp_path):
    sums = (packed / "SHA256SUMS").read_text().splitlines()
    assert len(sums) == 3
    for line in sums:
        digest, name = line.split("  ")
        assert hashlib.sha256((packed / name).read_bytes()).hexdigest() == digest
    (bill,) = packed.glob("*.spdx.json")
    parts = {part["name"]: part for part in json.loads(bill.read_text())["packages"]}
    for name in ("muster", "libssl-dev", "libboost1.81-dev", "libc6-dev", "libre2-dev"):
        assert parts[name]["versionInfo"], parts
    subprocess.run([REPOSITORY / "tools/packages.py", SM, tmp_path], check=True)
    assert (tmp_path / "SHA256SUMS").read_text() == (packed / "SHA256SUMS").read_text()
