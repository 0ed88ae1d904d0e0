"""Hostile results in /opt/ml: collecting them grants no rights and leaves out special files."""

import json
import os
import pathlib
import re
import shutil
import stat

import pytest

from conftest import leftovers, machine_state
from fit import GUARD_SECONDS, Machine
from lab import REPOSITORY
from process import wait_until

OWNER = (12345, 23456)

# Tries everything that a host could leave; prints the refused attempts in one line.
HOSTILE = r"""
import ctypes, errno, json, os, socket, stat, struct
libc = ctypes.CDLL(None, use_errno=True)
model, data = "/opt/ml/model", "/opt/ml/output/data"
told = {}

def attempt(name, call):
    try:
        call()
        told[name] = "done"
    except OSError as error:
        told[name] = errno.errorcode[error.errno]

def put(path, mode=0o644, text="x"):
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, mode)

with open("/bin/true", "rb") as program:
    content = program.read()
for name, mode in (("setuid", 0o4755), ("setgid", 0o2755), ("all", 0o7777), ("plain", 0o750)):
    with open(f"{model}/{name}", "wb") as file:
        file.write(content)
    os.chmod(f"{model}/{name}", mode)
for name, mode in (("sticky", 0o1777), ("setgid-folder", 0o2775)):
    os.mkdir(f"{model}/{name}")
    put(f"{model}/{name}/setuid", 0o6755)
    os.chmod(f"{model}/{name}", mode)
put(f"{model}/nobody-reads", 0)
os.mkdir(f"{model}/nobody-enters")
put(f"{model}/nobody-enters/file", 0)
os.chmod(f"{model}/nobody-enters", 0)
put(f"{model}/foreign", 0o4755)
attempt("chown", lambda: os.chown(f"{model}/foreign", 65534, 65534))
attempt("chown-setuid", lambda: os.chmod(f"{model}/foreign", 0o4755))
put(f"{model}/twice", 0o4755)
attempt("hard link to its own", lambda: os.link(f"{model}/twice", f"{data}/twice"))

capability = struct.pack("<5I", 0x02000001, 0xffffffff, 0, 0xffffffff, 0)
put(f"{model}/capability", 0o755)
attempt("capability", lambda: os.setxattr(
    f"{model}/capability", "security.capability", capability))
rules = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", tag, bits, who) for tag, bits, who in (
    (1, 6, 0xffffffff), (2, 6, 65534), (4, 4, 0xffffffff), (16, 6, 0xffffffff),
    (32, 4, 0xffffffff)))
put(f"{model}/listed")
attempt("list", lambda: os.setxattr(f"{model}/listed", "system.posix_acl_access", rules))
os.mkdir(f"{model}/listed-folder")
attempt("default", lambda: os.setxattr(
    f"{model}/listed-folder", "system.posix_acl_default", rules))
attempt("note", lambda: os.setxattr(f"{model}/listed", "user.note", b"kept"))
attempt("trusted", lambda: os.setxattr(f"{model}/listed", "trusted.overlay.opaque", b"y"))

for name, kind, major, minor in (
    ("null", stat.S_IFCHR, 1, 3), ("mem", stat.S_IFCHR, 1, 1),
    ("disk", stat.S_IFBLK, 254, 0), ("kmsg", stat.S_IFCHR, 1, 11)):
    number = os.makedev(major, minor)
    attempt("device " + name, lambda: os.mknod(f"{model}/{name}", kind | 0o666, number))
attempt("whiteout", lambda: os.mknod(f"{model}/whiteout", stat.S_IFCHR | 0o666, 0))
attempt("whiteout below", lambda: os.mknod(f"{data}/whiteout", stat.S_IFCHR, 0))
os.mkfifo(f"{model}/pipe")
os.mkfifo(f"{data}/pipe")
socket.socket(socket.AF_UNIX).bind(f"{model}/socket")

for name, target in (
    ("link-shadow", "/etc/shadow"), ("link-etc", "/etc"), ("link-nowhere", "/no/such"),
    ("link-self", "link-self"), ("link-up", "../../../../../../../../etc/passwd"),
    ("link-proc", "/proc/self/fd/0"), ("link-long", "x" * 4000)):
    os.symlink(target, f"{model}/{name}")
for name in (
    "/etc/hostname", "/etc/passwd", "/usr/local/bin/sm", "/bin/true", "/run/muster/job.key",
    "/proc/1/exe", "/etc/hosts", "/opt/ml/input/data/train/file", "/opt/ml/code/script.py"):
    attempt("hard link to " + name, lambda: os.link(name, f"{model}/stolen"))
def link_open():
    file = os.open("/etc/passwd", os.O_RDONLY)
    path = f"/proc/self/fd/{file}".encode()
    if libc.linkat(-100, path, -100, f"{model}/stolen".encode(), 0x400) != 0:
        raise OSError(ctypes.get_errno(), "linkat")
attempt("hard link to an open file", link_open)
def link_empty_path():
    file = os.open("/etc/passwd", os.O_RDONLY)
    if libc.linkat(file, b"", -100, f"{model}/stolen".encode(), 0x1000) != 0:
        raise OSError(ctypes.get_errno(), "linkat")
attempt("hard link by descriptor", link_empty_path)
attempt("rename of the machine's", lambda: os.rename("/usr/local/bin/sm", f"{model}/stolen"))

def dig(start, name, depth):
    os.makedirs(start, exist_ok=True)
    os.chdir(start)
    for _ in range(depth):
        os.mkdir(name)
        os.chdir(name)
    put("bottom")
    os.chdir("/")
dig(f"{data}/levels-100", "d", 100)
dig(f"{data}/levels-600", "d", 600)
dig(f"{model}/levels-30000", "d", 30000)
dig(f"{model}/long", "n" * 255, 30)
odd = ["-rf", "a b", "quote'\"", "new\nline", "\x1b[31mred", "back\\slash", "*", "%s", "..."]
for name in odd:
    put(f"{model}/{name}")
put(os.fsencode(f"{model}/bad") + b"\xff\xfe")
for i in range(2000):
    put(f"{data}/many-{i}")
print("TOLD", json.dumps(told), flush=True)
"""


class SudoMachine(Machine):
    """Where `sm fit` is run through sudo by the user OWNER."""

    def environment(self) -> dict[str, str]:
        user, group = map(str, OWNER)
        return {**super().environment(), "SUDO_UID": user, "SUDO_GID": group}


class Left:
    """One hostile job, and what was there when it had ended."""

    def __init__(self, machine, process):
        self.machine = machine
        self.text = process.text
        self.model = machine.output / "model"
        self.data = machine.output / "output" / "data"
        self.told = json.loads(re.search(r"TOLD (\{.*\})", process.out.decode()).group(1))

    def files(self):
        for top, folders, names in os.walk(self.machine.output):
            for name in [*folders, *names]:
                yield pathlib.Path(top) / name


@pytest.fixture(scope="module")
def left():
    folder = REPOSITORY / "build" / "e2e" / "attacks-results"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    before = machine_state()
    machine = SudoMachine(folder)
    channel = folder / "channel"
    channel.mkdir()
    (channel / "file").write_text("the submitter's")
    os.mknod(channel / "whiteout", stat.S_IFCHR | 0o666, 0)
    os.mknod(machine.source / "whiteout", stat.S_IFCHR | 0o666, 0)
    process = machine.fit(HOSTILE, "--input", f"train={channel}")
    assert process.wait(GUARD_SECONDS) == 0, process.text
    yield Left(machine, process)
    machine.close()
    shutil.rmtree(folder, ignore_errors=True)
    wait_until("the machine to be as before", lambda: not leftovers(before), 10)


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("setuid", 0o755),
        ("setgid", 0o755),
        ("all", 0o777),
        ("plain", 0o750),
        ("sticky", 0o777),
        ("sticky/setuid", 0o755),
        ("setgid-folder", 0o775),
        ("setgid-folder/setuid", 0o755),
        ("foreign", 0o755),
        ("twice", 0o755),
        ("nobody-reads", 0),
        ("nobody-enters", 0),
        ("nobody-enters/file", 0),
    ],
)
def test_no_bit_that_lends_rights_is_left(left, name, mode):
    status = os.lstat(left.model / name)
    assert stat.S_IMODE(status.st_mode) == mode, oct(status.st_mode)


def test_a_setuid_program_runs_as_who_starts_it(left):
    with open(left.model / "setuid", "rb") as file, open("/bin/true", "rb") as true:
        assert file.read() == true.read(), "the job's own bytes"
    assert os.lstat(left.model / "setuid").st_uid == OWNER[0], "a setuid bit would be no root's"


def test_everything_is_the_submitters_and_nothing_roots(left):
    wrong = {
        str(path): (status.st_uid, status.st_gid)
        for path in [left.machine.output, *left.files()]
        if ((status := os.lstat(path)).st_uid, status.st_gid) != OWNER
    }
    assert not wrong


def test_a_hard_link_among_the_jobs_own_files_has_no_rights_either(left):
    assert left.told["hard link to its own"] == "done"
    assert stat.S_IMODE(os.lstat(left.data / "twice").st_mode) == 0o755


@pytest.mark.parametrize("name", ["capability", "listed", "listed-folder"])
def test_no_attribute_that_lends_rights_is_left(left, name):
    kept = [each for each in os.listxattr(left.model / name) if not each.startswith("user.")]
    assert kept == []


def test_a_note_of_the_jobs_own_is_kept(left):
    if left.told["note"] != "done":
        pytest.skip("this file system keeps no such attributes")
    assert os.getxattr(left.model / "listed", "user.note") == b"kept"


@pytest.mark.parametrize("name", ["null", "mem", "disk", "kmsg"])
def test_no_device_is_made(left, name):
    assert left.told["device " + name] == "EPERM"
    assert not os.path.lexists(left.model / name)


@pytest.mark.parametrize(
    "path", ["model/pipe", "model/socket", "model/whiteout", "output/data/pipe"]
)
def test_entries_other_than_files_are_left_out_and_named(left, path):
    assert not os.path.lexists(left.machine.output / path)
    assert f"left out: /opt/ml/{path}: neither a file nor a folder nor a link" in left.text


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("link-shadow", "/etc/shadow"),
        ("link-etc", "/etc"),
        ("link-nowhere", "/no/such"),
        ("link-self", "link-self"),
        ("link-up", "../../../../../../../../etc/passwd"),
        ("link-proc", "/proc/self/fd/0"),
        ("link-long", "x" * 4000),
    ],
)
def test_a_link_stays_a_link_and_is_never_followed(left, name, target):
    assert os.readlink(left.model / name) == target
    for path in ("/etc", "/etc/shadow", "/etc/passwd"):
        assert os.stat(path).st_uid == 0, f"{path} was given away"


@pytest.mark.parametrize(
    "what",
    [
        *(
            f"hard link to {path}"
            for path in (
                "/etc/hostname",
                "/etc/hosts",
                "/etc/passwd",
                "/usr/local/bin/sm",
                "/bin/true",
                "/run/muster/job.key",
                "/opt/ml/input/data/train/file",
                "/opt/ml/code/script.py",
            )
        ),
        "hard link to /proc/1/exe",
        "hard link to an open file",
        "hard link by descriptor",
        "rename of the machine's",
    ],
)
def test_no_file_of_another_place_gets_a_name_among_the_results(left, what):
    """Else collecting would give it to the submitter."""
    assert left.told[what] in ("EXDEV", "EPERM", "EACCES", "ENOENT", "EBUSY", "EROFS"), what
    assert not os.path.lexists(left.model / "stolen")


@pytest.mark.parametrize(
    ("start", "levels", "kept"),
    [
        ("output/data/levels-100", 100, 100),
        ("output/data/levels-600", 600, 126),
        ("model/levels-30000", 30000, 127),
    ],
)
def test_deep_folders_are_cut_and_named(left, start, levels, kept):
    at = left.machine.output / start
    depth = 0
    while (at / "d").is_dir():
        at, depth = at / "d", depth + 1
    assert depth == kept
    assert (at / "bottom").exists() == (kept == levels)
    deep = rf"left out: /opt/ml/{start}/d/\S*: it is more than 128 folders deep"
    named = re.search(deep, left.text)
    assert bool(named) == (kept < levels), left.text


def test_long_names_are_cut_and_named(left):
    long = [path.relative_to(left.model) for path in left.files() if "nnnn" in path.name]
    assert 2600 < max(len(os.fsencode(path)) for path in long) <= 3072
    assert "its path is longer than 3072 bytes" in left.text


def test_odd_names_arrive_and_reach_no_terminal(left):
    names = set(os.listdir(os.fsencode(left.model)))
    odd = {b"-rf", b"a b", b"quote'\"", b"new\nline", b"\x1b[31mred", b"*", b"%s", b"..."}
    assert odd | {b"bad\xff\xfe"} <= names
    assert "\x1b[31mred" not in left.text


def test_many_files_all_arrive(left):
    assert len(list(left.data.glob("many-*"))) == 2000


def test_whiteouts_of_the_submitters_hide_nothing_and_stay(left):
    for folder in (left.machine.folder / "channel", left.machine.source):
        assert stat.S_ISCHR(os.lstat(folder / "whiteout").st_mode)
    assert (left.machine.folder / "channel" / "file").read_text() == "the submitter's"


def test_nothing_of_the_job_is_left(left):
    assert not left.machine.jobs()
    assert list((left.machine.state / "jobs").iterdir()) == []


# Each in a job of its own: they take the place of what collecting itself looks for.

OWN_JOBS = {
    "failure is a link": "os.symlink('/etc/passwd', f'{output}/failure')",
    "failure is a folder": "os.makedirs(f'{output}/failure/inside')",
    "failure is a pipe": "os.mkfifo(f'{output}/failure')",
    "failure is a link to a pipe": "os.mkfifo('/opt/ml/p');"
    " os.symlink('/opt/ml/p', f'{output}/failure')",
    "failure is huge": "open(f'{output}/failure', 'w').truncate(1 << 30)",
    "model is a link": "os.rmdir(model); os.symlink('/etc', model)",
    "model is a pipe": "os.rmdir(model); os.mkfifo(model)",
    "model is a file": "os.rmdir(model); open(model, 'w').close()",
    "output is a link": "os.rename(output, '/opt/ml/o'); os.symlink('/etc', output)",
    "data is a link": "os.rmdir(f'{output}/data'); os.symlink('/etc', f'{output}/data')",
    "input is a link": "os.rename('/opt/ml/input', '/opt/ml/i'); os.symlink('/', '/opt/ml/input')",
    "a mount in model": "os.rename('/opt/ml/input', f'{model}/input')",
    "a mount in deep folders": "os.makedirs('/opt/ml' + '/d' * 200);"
    " os.rename('/opt/ml/input', '/opt/ml' + '/d' * 200 + '/input')",
}


@pytest.mark.parametrize("what", OWN_JOBS)
def test_what_stands_in_place_of_results_leads_nowhere(machine, what):
    channel = machine.folder / "channel"
    channel.mkdir()
    (channel / "file").write_text("the submitter's")
    etc = {path: os.lstat(path) for path in ("/etc", "/etc/passwd", "/etc/hosts")}
    lines = "import os, sys\nmodel, output = '/opt/ml/model', '/opt/ml/output'\n"
    process = machine.fit(lines + OWN_JOBS[what] + "\nsys.exit(3)\n", "--input", f"train={channel}")
    assert process.wait(GUARD_SECONDS) not in (0, None), process.text
    assert not machine.jobs(), process.text
    assert (channel / "file").read_text() == "the submitter's"
    for path, before in etc.items():
        assert os.lstat(path).st_ctime_ns == before.st_ctime_ns, f"{path} was changed"
    for top, _, names in os.walk(machine.output):
        for name in names:
            path = pathlib.Path(top) / name
            if not path.is_symlink() and path.is_file():
                assert "root:" not in path.read_text(errors="replace")[:4096], path
