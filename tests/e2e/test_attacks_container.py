"""Attacks by root inside a host against the machine: all are refused, and nothing changes.

One job makes all attempts of hostile.py; each test checks one.
"""

import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import textwrap

import pytest

import hostile
from conftest import leftovers, machine_state
from fit import GUARD_SECONDS, Machine
from lab import REPOSITORY, SM
from process import wait_until

ATTEMPTS = {name: refusals for name, (refusals, _) in hostile.attempts().items()}
# CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID, NET_BIND_SERVICE.
CAPABILITIES = sum(1 << number for number in (0, 1, 3, 4, 5, 6, 7, 10))


def read(path: str) -> str:
    try:
        return pathlib.Path(path).read_text()
    except OSError as error:
        return str(error.errno)


def what_must_not_change() -> dict[str, str]:
    settings = (
        "/proc/sys/kernel/core_pattern",
        "/proc/sys/kernel/modprobe",
        "/proc/sys/kernel/hostname",
        "/proc/sys/kernel/sysrq",
        "/proc/sys/kernel/randomize_va_space",
        "/proc/sys/fs/file-max",
        "/proc/irq/default_smp_affinity",
        "/proc/swaps",
        "/sys/kernel/mm/transparent_hugepage/enabled",
    )
    # The folder of test_attacks_files.py may come and go meanwhile.
    local = [name for name in os.listdir("/usr/local") if not name.startswith("muster-attack-")]
    modules = [line.split()[0] for line in read("/proc/modules").splitlines()]
    return {
        **{path: read(path) for path in settings},
        "/proc/modules": ",".join(sorted(modules)),
        "sm": hashlib.sha256(SM.read_bytes()).hexdigest() + oct(SM.stat().st_mode),
        "host": platform.node(),
        "/etc": ",".join(sorted(os.listdir("/etc"))),
        "/usr/local": ",".join(sorted(local)),
        "/dev": ",".join(sorted(name for name in os.listdir("/dev") if name != "pts")),
    }


@pytest.fixture(scope="module")
def told():
    """What the hostile job saw, with the machine's settings before and after it."""
    folder = REPOSITORY / "build" / "e2e" / "attacks-container"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    state = machine_state()
    before = what_must_not_change()
    machine = Machine(folder)
    process = machine.fit(pathlib.Path(hostile.__file__).read_text())
    assert process.wait(GUARD_SECONDS) == 0, process.text
    seen = json.loads(re.search(r"TOLD (\{.*\})", process.out.decode()).group(1))
    seen["before"], seen["after"] = before, what_must_not_change()
    yield seen
    machine.close()
    shutil.rmtree(folder, ignore_errors=True)
    wait_until("the machine to be as before", lambda: not leftovers(state), 10)


@pytest.mark.parametrize("name", ATTEMPTS)
def test_refused(told, name):
    assert told["attempts"][name] in ATTEMPTS[name]


def test_nothing_of_the_machine_changed(told):
    assert told["after"] == told["before"]


@pytest.mark.parametrize("kind", ["CapEff", "CapPrm", "CapBnd"])
def test_capabilities_are_these_and_no_others(told, kind):
    assert int(told["status"][kind], 16) == CAPABILITIES


@pytest.mark.parametrize(
    ("name", "value"),
    [("CapInh", "0" * 16), ("CapAmb", "0" * 16), ("NoNewPrivs", "1"), ("Seccomp", "2")],
)
def test_no_right_is_inherited_or_gained(told, name, value):
    assert told["status"][name] == value


@pytest.mark.parametrize("path", hostile.HIDDEN)
def test_hidden(told, path):
    """Hidden is an empty file or folder; a kernel may lack it."""
    assert told["hidden"][path] in (0, "ENOENT", "EACCES", "EPERM")


@pytest.mark.parametrize(
    ("path", "flags"),
    [
        ("/opt/ml", {"nosuid", "nodev"}),
        ("/tmp", {"nosuid", "nodev"}),
        ("/run", {"nosuid", "nodev"}),
        ("/dev/shm", {"nosuid", "nodev", "noexec"}),
        ("/proc", {"nosuid", "nodev", "noexec"}),
        ("/sys", {"nosuid", "nodev", "noexec", "ro"}),
        ("/proc/sys", {"ro"}),
        ("/usr/local/bin/sm", {"ro", "nosuid", "nodev"}),
        ("/run/muster/job.key", {"ro", "nosuid", "nodev"}),
    ],
)
def test_mounts_lend_no_rights(told, path, flags):
    assert flags <= set(told["mounts"][path].split(","))


def test_control_groups_are_seen_from_the_hosts_own(told):
    """Neither the job's name nor where the machine keeps it."""
    assert "muster" not in told["cgroup"]
    paths = {line.split(":", 2)[2] for line in told["cgroup"].splitlines()}
    assert paths <= {"/"}


def test_devices_are_those_that_every_program_needs(told):
    harmless = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "mqueue"}
    assert set(told["dev"]) <= harmless | {"fd", "stdin", "stdout", "stderr", "core", "console"}


def test_no_terminal_is_open_to_type_into(told):
    assert told["terminals"] == []


def test_only_the_hosts_own_processes_are_seen(told):
    assert told["pids"][0] == 1 and told["own"] in told["pids"]
    assert len(told["pids"]) < 10


def test_inits_root_is_the_hosts_own(told):
    assert len(set(told["root"])) == 1


# Each runs in a separate job, as it may not survive. {what: its lines}
RAGES = {
    "removes all that it sees": """
        import shutil
        for folder in ("/etc", "/usr/local/bin", "/opt/ml", "/proc", "/sys", "/run"):
            shutil.rmtree(folder, ignore_errors=True)
    """,
    "takes all rights from all that it sees": """
        for start in ("/etc", "/opt/ml", "/run", "/dev"):
            for top, folders, names in os.walk(start):
                for name in [*folders, *names]:
                    try:
                        os.chmod(os.path.join(top, name), 0)
                    except OSError:
                        pass
        for folder in ("/", "/usr", "/usr/bin", "/opt"):
            os.chmod(folder, 0)
    """,
    "kills all that it sees": "os.kill(-1, signal.SIGKILL)",
    "kills init": "[os.kill(1, number) for number in range(1, 65) if number != signal.SIGTERM]",
    "writes noise to the steward's stream": """
        for fd in range(3, 10):
            try:
                stream = os.open(f"/proc/1/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
                os.write(stream, os.urandom(60000))
            except OSError:
                pass
    """,
    "forges its host's end": """
        payload = json.dumps({"outcome": {"kind": "exited", "number": 0}}).encode()
        for kind in range(256):
            try:
                stream = os.open("/proc/1/fd/3", os.O_WRONLY | os.O_NONBLOCK)
                os.write(stream, struct.pack("<IB", len(payload) + 1, kind) + payload)
            except OSError:
                pass
    """,
    "traces init into its program": """
        libc = ctypes.CDLL(None)
        if libc.ptrace(16, 1, 0, 0) == 0:
            os.waitpid(1, 0x40000000)
        libc.ptrace(7, 1, 0, 0)
    """,
    "opens descriptors and processes without end": """
        held = []
        try:
            while len(held) < 200000:
                held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        for _ in range(300):
            if os.fork() == 0:
                signal.pause()
    """,
    "hides in sessions that ignore every signal": """
        for _ in range(20):
            if os.fork() == 0:
                os.setsid()
                for number in set(range(1, 65)) - {9, 19, 32, 33}:
                    signal.signal(number, signal.SIG_IGN)
                for fd in range(64):
                    try:
                        os.close(fd)
                    except OSError:
                        pass
                while True:
                    signal.pause()
    """,
    "makes folders where the steward looks": """
        for name in ("/opt/ml/input", "/opt/ml/code", "/opt/ml/model", "/opt/ml/output"):
            os.rename(name, name + "-was")
            os.symlink("/", name)
    """,
}


@pytest.mark.parametrize("what", RAGES)
def test_a_hostile_host_ends_and_harms_no_other(machine, what):
    head = "import ctypes, json, os, signal, struct, sys\n"
    before = what_must_not_change()
    process = machine.fit(head + textwrap.dedent(RAGES[what]) + "\nsys.stdout.flush()\n")
    assert process.wait(GUARD_SECONDS) is not None, process.text
    assert what_must_not_change() == before
    assert not machine.jobs(), process.text
    for path in ("/etc/passwd", "/usr/bin/env", "/opt", "/root"):
        assert os.path.exists(path)


def test_a_job_that_stalls_its_own_train_ends_by_a_stop(machine):
    script = """
import os
for pid in filter(str.isdigit, os.listdir("/proc")):
    for fd in range(3, 10):
        try:
            stream = os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY | os.O_NONBLOCK)
            os.write(stream, b"\\xff\\xff\\xff\\x7f\\x01" * 10000)
        except OSError:
            pass
"""
    process = machine.fit(script)
    process.wait_for_output(b"the stream from train: ", GUARD_SECONDS)
    process.signal(signal.SIGINT)
    process.signal(signal.SIGINT)
    assert process.wait(GUARD_SECONDS) == 128 + signal.SIGINT, process.text
    assert not machine.jobs(), process.text
