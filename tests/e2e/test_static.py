"""The binary in a Debian 11 where nothing of ours is installed, and awkward name services are."""

import json
import pathlib
import re
import subprocess

import pytest

from debian_root import make_root
from lab import SM
from training import GUARD_SECONDS, host_environment, write_job

NSSWITCH = (
    "passwd: files\ngroup: files\nhosts: files mdns4_minimal [NOTFOUND=return] myhostname dns\n"
)


@pytest.fixture(scope="session")
def debian11() -> pathlib.Path:
    """A Debian 11 root folder, made once and kept outside the tree; never written to by tests."""
    return make_root("bullseye", "bullseye", "libnss-mdns,libnss-myhostname")


ENTER = """
set -e
mkdir -p /run/lab/d11 /run/lab/upper /run/lab/work
mount -t overlay -o lowerdir="$1",upperdir=/run/lab/upper,workdir=/run/lab/work overlay /run/lab/d11
mount -t proc proc /run/lab/d11/proc
mount --rbind /dev /run/lab/d11/dev
mkdir -p /run/lab/d11/opt/ml
mount --bind /opt/ml /run/lab/d11/opt/ml
cp "$2" /run/lab/d11/usr/local/bin/sm
ln -s sm /run/lab/d11/usr/local/bin/train
cp "$3" /run/lab/d11/etc/nsswitch.conf
cp /etc/hosts /run/lab/d11/etc/hosts
echo "nameserver 127.0.0.1" > /run/lab/d11/etc/resolv.conf
"""


class Old:
    """A lab's host seen from inside its Debian 11."""

    def __init__(self, host, root: pathlib.Path):
        self.host = host
        nsswitch = host.folder / "nsswitch.conf"
        nsswitch.write_text(NSSWITCH)
        host.check("sh", "-c", ENTER, "enter", root, SM, nsswitch)

    def start(self, *words, key: str = "0" * 64, **env):
        environment = {**host_environment(key), "PATH": "/usr/local/bin:/usr/bin:/bin", **env}
        return self.host.start(["/usr/sbin/chroot", "/run/lab/d11", *words], env=environment)


@pytest.fixture
def old(lab, debian11):
    return lambda index: Old(lab.hosts(index)[index - 1], debian11)


def give_job(host, hosts: list[str], script: str) -> None:
    write_job(host, hosts, "", {"sagemaker_program": json.dumps("run.sh")}, {"run.sh": script})


def test_it_is_a_static_program():
    data = SM.read_bytes()
    assert data[:4] == b"\x7fELF"
    assert b"/lib64/ld-linux" not in data[:4096], "it asks for a dynamic loader"


def readelf(*words) -> str:
    argv = ["readelf", "-W", *map(str, words)]
    return subprocess.run(argv, capture_output=True, text=True, errors="replace",
                          check=True).stdout


@pytest.fixture(scope="module")
def release() -> pathlib.Path:
    """The hardened program: a quick build for daily work is dynamic and has none of this."""
    if b"/lib64/ld-linux" in SM.read_bytes()[:4096]:
        pytest.skip(f"{SM} is a dev build, which is not hardened")
    return SM


def test_it_lies_at_a_random_address(release):
    assert re.search(r"Type:\s+DYN", readelf("-h", release))
    assert re.search(r"FLAGS_1\).*\bPIE\b", readelf("-d", release))


def test_what_it_relocates_is_read_only_then_and_bound_at_once(release):
    assert re.search(r"^\s+GNU_RELRO\s", readelf("-l", release), re.M)
    dynamic = readelf("-d", release)
    assert "BIND_NOW" in dynamic and re.search(r"FLAGS_1\).*\bNOW\b", dynamic)


def test_no_memory_of_it_is_writable_and_executable(release):
    segments = re.findall(r"^\s+(LOAD|GNU_STACK)\s+(?:0x\w+\s+){5}([R ][W ][E ])",
                          readelf("-l", release), re.M)
    assert {name for name, _ in segments} == {"LOAD", "GNU_STACK"}
    assert not [flags for _, flags in segments if "W" in flags and "E" in flags]


def test_stacks_are_guarded_and_copies_are_checked(release):
    """In muster's own functions, not only in the C library, which has both of its own."""
    names = readelf("-s", release)
    assert re.search(r" (__GI_)?__stack_chk_fail(_local)?$", names, re.M)
    assert re.search(r" __\w+_chk$", names, re.M)
    main = re.search(r"(\w{16})\s+(\d+) FUNC .* main$", names, re.M)
    start, size = int(main[1], 16), int(main[2])
    range_of = [f"--start-address={start}", f"--stop-address={start + size}"]
    code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", *range_of, release],
                          capture_output=True, text=True, check=True).stdout
    assert "%fs:0x28" in code, "main's stack has no canary"


def test_its_symbols_lie_beside_it(release):
    debug = release.with_name("sm.debug")
    assert "sm.debug" in readelf("--string-dump=.gnu_debuglink", release)
    identity = re.search(r"Build ID: (\w{40})", readelf("-n", release))[1]
    assert re.search(r"Build ID: (\w{40})", readelf("-n", debug))[1] == identity
    sections = readelf("-S", release)
    assert ".debug_info" not in sections and ".debug_info" in readelf("-S", debug)
    (address,) = re.findall(r"(\w{16})\s+\d+ FUNC .* main$", readelf("-s", debug), re.M)
    line = subprocess.run(["addr2line", "-e", debug, f"0x{address}"], capture_output=True,
                          text=True, check=True).stdout
    assert "src/main.cc:" in line, line


@pytest.mark.roots
def test_it_runs_where_nothing_is_installed(old):
    process = old(1).start("sm", "--version")
    assert process.wait(GUARD_SECONDS) == 0 and process.out.startswith(b"muster "), process.text


@pytest.mark.roots
def test_a_job_of_one_host_succeeds_there(old):
    inside = old(1)
    give_job(inside.host, ["algo-1"], "#!/bin/sh\necho hello from $(cat /etc/debian_version)\n")
    process = inside.start("train")
    assert process.wait(GUARD_SECONDS) == 0, process.text
    assert b"hello from 11" in process.out, process.text


@pytest.mark.roots
def test_hosts_gather_by_name_there(old):
    both = [old(1), old(2)]
    for inside in both:
        give_job(inside.host, ["algo-1", "algo-2"], "#!/bin/sh\necho hello from $SM_CURRENT_HOST\n")
    processes = [inside.start("train") for inside in both]
    for process in processes:
        assert process.wait(GUARD_SECONDS) == 0, process.text
    said = b"".join(process.out for process in processes)
    assert b"hello from algo-1" in said and b"hello from algo-2" in said


@pytest.mark.roots
def test_a_name_that_is_nowhere_is_an_error_not_a_crash(old):
    inside = old(1)
    give_job(inside.host, ["a-lost-leader", "algo-1"], "#!/bin/sh\necho must not run\n")
    process = inside.start("train", MUSTER_JOIN_DEADLINE="3")
    code = process.wait(GUARD_SECONDS)
    assert code > 0 and code not in (134, 139), f"{code}: {process.text}"
    assert "a-lost-leader" in process.text, process.text
