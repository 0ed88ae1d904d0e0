"""`sm fit --bind PATH[:PATH][:ro|rw]`: paths of the machine, as they are, in every host."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

from fit import GUARD_SECONDS
from lab import SM
from process import Process

SUDO = {"SUDO_UID": "4321", "SUDO_GID": "8765"}


@pytest.fixture(name="place")
def _place():
    """A folder that the submitter owns, on a file system that translates owners."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mu-bind-", dir="/var/tmp"))
    (folder / "data").mkdir()
    (folder / "data" / "file").write_text("as it is")
    for path in (folder, folder / "data", folder / "data/file"):
        os.chown(path, 4321, 8765)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(name="memory")
def _memory(place):
    """A disk of its own inside of the folder."""
    inner = place / "data" / "disk"
    inner.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "muster-test", inner], check=True)
    (inner / "deep").write_text("on another disk")
    os.chown(inner, 4321, 8765)
    yield inner
    subprocess.run(["umount", inner], check=True)


def fit(machine, script: str, *words, **options) -> Process:
    (machine.source / "script.py").write_text(script)
    return machine.sm("fit", machine.source / "script.py", *words, **options)


READ = """
import os
def attempt(what, *words):
    try:
        what(*words)
        return "done"
    except OSError as error:
        return error.strerror
print(open("/data/file").read(), open("/data/disk/deep").read(), os.path.getsize("/one"))
print("write", [attempt(open, path, "w") for path in ("/data/new", "/data/disk/new", "/one")])
print("chmod", attempt(os.chmod, "/data/file", 0o777), attempt(os.unlink, "/data/file"))
print("remount", os.system("mount -o remount,rw /data 2>/dev/null") != 0, flush=True)
for line in open("/proc/self/mountinfo"):
    words = line.split()
    if words[4] in ("/data", "/data/disk", "/one"):
        print("options", words[4], sorted(set(words[5].split(",")) & {"ro", "nosuid", "nodev"}))
"""


def test_a_folder_with_a_disk_inside_is_there_read_only_in_every_host(machine, place, memory):
    words = ("--bind", f"{place}/data:/data", "--bind", f"{place}/data/file:/one:ro")
    process = fit(machine, READ, *words, "--hosts", 2)
    assert process.wait(GUARD_SECONDS) == 0, process.text
    text = process.out.decode()
    assert text.count("as it is on another disk 8") == 2, process.text
    refused = "Read-only file system"
    assert text.count(f"write {[refused] * 3}") == 2, process.text
    assert text.count(f"chmod {refused} {refused}") == 2, process.text
    assert text.count("remount True") == 2, process.text
    for path in ("/data", "/data/disk", "/one"):
        assert text.count(f"options {path} ['nodev', 'nosuid', 'ro']") == 2, process.text
    assert sorted(os.listdir(place / "data")) == ["disk", "file"]
    assert os.listdir(memory) == ["deep"]
    assert not machine.jobs()


def test_the_path_in_hosts_is_the_same_if_none_is_named(machine, place):
    link = place / "link"
    link.symlink_to(place / "data")
    process = fit(machine, f"print(open('{link}/file').read())", "--bind", link)
    assert process.wait(GUARD_SECONDS) == 0, process.text
    assert "as it is" in process.out.decode(), process.text


WRITE = """
import os, stat
os.makedirs("/data/new/inner")
open("/data/new/inner/file", "w").write(os.environ["SM_CURRENT_HOST"])
open("/data/disk/file", "w").write("x")
open("/data/file", "a").write(", and more")
os.rename("/data/new/inner/file", "/data/moved")
print("owner", os.stat("/data/moved").st_uid, os.stat("/data/file").st_gid, flush=True)
"""


def writing(machine, place, script: str) -> Process:
    """A job that may write to the folder, ended."""
    process = fit(machine, script, "--bind", f"{place}/data:/data:rw", environment=SUDO)
    process.wait(GUARD_SECONDS)
    if "rw needs hosts with user namespaces" in process.text:
        pytest.skip("needs hosts with user namespaces: Linux 5.19, a file system that translates")
    return process


def test_what_a_host_writes_belongs_to_the_submitter(machine, place, memory):
    process = writing(machine, place, WRITE)
    assert process.wait(GUARD_SECONDS) == 0, process.text
    assert "owner 0 0" in process.out.decode(), process.text
    data = place / "data"
    assert (data / "file").read_text() == "as it is, and more"
    for path in (data / "moved", data / "new/inner", memory / "file"):
        assert (path.stat().st_uid, path.stat().st_gid) == (4321, 8765), path


def refusal(machine, *words, code: int = 2, **options) -> str:
    process = fit(machine, "print('must not run')", *words, **options)
    assert process.wait(GUARD_SECONDS) == code, process.text
    assert "must not run" not in process.text
    return process.err.decode()


def test_what_is_not_shown_is_named_before_the_job_runs(machine, place):
    pipe, listening = place / "pipe", place / "data" / "socket"
    os.mkfifo(pipe)
    cases = {
        f"{place}/none": "No such file or directory",
        f"{pipe}": "no socket, device or pipe",
        "/dev/null:/null": "no socket, device or pipe",
        "/proc:/data": "the machine's own files are not shown",
        "/sys/kernel:/data": "the machine's own files are not shown",
        "/var/run:/data": "the machine's own files are not shown",
        "/:/data": "holds far more than a job needs",
        f"{machine.state}:/data": "lies in a folder of muster's",
        f"{place}:/opt/ml/model": "hosts have /opt/ml of their own",
        f"{place}:/opt": "hosts have /opt/ml of their own",
        f"{place}:/": "a host's root is its own",
        f"{place}:/run/x": "hosts have /run of their own",
        f"{place}:/usr/local/bin": "hosts have /usr/local/bin/sm of their own",
        f"{place}:data": "a path begins with /",
        f"{place}:/a/../b": "without //, . and ..",
        f"{place}:/a:/b:ro": "PATH[:PATH][:ro|rw]",
        "": "PATH[:PATH][:ro|rw]",
    }
    fit(machine, "pass").wait(GUARD_SECONDS)  # So that its state folder is noted.
    for given, wanted in cases.items():
        said = refusal(machine, "--bind", given)
        assert said.count("\n") <= 2 and "--bind: " in said and wanted in said, (given, said)
    said = refusal(machine, "--bind", f"{place}:/a", "--bind", f"{place}/data:/a/b")
    assert "stands in /a" in said, said
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(listening))
        assert f"listens there, at {listening}" in refusal(machine, "--bind", place)
    other = {"SUDO_UID": "4322", "SUDO_GID": "8765"}
    said = refusal(machine, "--bind", f"{place}:/data:rw", environment=other)
    assert "rw is for what is yours (user 4322), and this is user 4321's" in said, said


def test_a_proc_that_is_mounted_inside_is_not_shown(machine, place):
    (place / "proc").mkdir()
    subprocess.run(["mount", "-t", "proc", "proc", place / "proc"], check=True)
    try:
        said = refusal(machine, "--bind", place)
        assert f"the kernel's files (proc) are mounted at {place}/proc" in said, said
    finally:
        subprocess.run(["umount", place / "proc"], check=True)


def test_a_file_system_that_translates_no_owners_is_shown_and_not_written_to(machine, place):
    """An overlay is one."""
    for name in ("lower", "upper", "work", "merged"):
        (place / name).mkdir()
    (place / "lower" / "open").write_text("anybody's")
    (place / "lower" / "secret").write_text("root's")
    (place / "lower" / "secret").chmod(0o600)
    options = ",".join(f"{name}dir={place}/{name}" for name in ("lower", "upper", "work"))
    merged = place / "merged"
    words = ["mount", "-t", "overlay", "-o", options, "muster-test", merged]
    subprocess.run(words, check=True)
    try:
        script = (
            "print(open('/data/open').read())\n"
            "try: print('secret', open('/data/secret').read())\n"
            "except OSError as error: print('secret', error.strerror, flush=True)"
        )
        process = fit(machine, script, "--bind", f"{merged}:/data")
        assert process.wait(GUARD_SECONDS) == 0, process.text
        assert "anybody's" in process.text, process.text
        if "cannot translate owners; hosts see of it what anybody may read" in process.text:
            assert "secret Permission denied" in process.text, process.text
            said = refusal(machine, "--bind", f"{merged}:/data:rw", code=1)
            assert re.search("so rw is not possible; bind it :ro", said), said
        else:  # A later kernel's.
            assert "secret root's" in process.text, process.text
    finally:
        subprocess.run(["umount", merged], check=True)


# A job tries to leave a program that lends the owner's rights in a folder that it may write to.
ATTACK = r"""
import ctypes, os, shutil
libc = ctypes.CDLL(None, use_errno=True)
os.umask(0)
shutil.copy("/bin/true", "/data/tool")
def call(number, *words):
    ctypes.set_errno(0)
    libc.syscall(number, *words)
    return os.strerror(ctypes.get_errno())
tool = b"/data/tool"
fd = os.open("/data", os.O_RDONLY)
own = os.open("/data/tool", os.O_RDWR)
mode, high = 0o6755, (1 << 40) | 0o4755
AT, CREATE, UNNAMED = -100, os.O_CREAT | os.O_WRONLY, os.O_TMPFILE | os.O_RDWR
how = (ctypes.c_uint64 * 3)(CREATE, 0o4755, 0)
said = {
    "chmod": call(90, tool, mode), "chmod, high half": call(90, tool, ctypes.c_uint64(high)),
    "setgid alone": call(90, tool, 0o2755), "fchmod": call(91, own, mode),
    "fchmodat": call(268, AT, tool, mode), "fchmodat2": call(452, AT, tool, mode, 0),
    "open": call(2, b"/data/a", CREATE, mode), "openat": call(257, fd, b"b", CREATE, mode),
    "openat2": call(437, fd, b"c", how, 24), "creat": call(85, b"/data/d", mode),
    "mknod": call(133, b"/data/e", 0o100000 | mode, 0),
    "mknodat": call(259, fd, b"f", 0o100000 | mode, 0),
    "unnamed": call(257, AT, b"/data", UNNAMED, mode),
    "capability": call(188, tool, b"security.capability",
                       b"\1\0\0\2\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0),
    "chown": call(92, tool, 1, 1),
    "device": call(133, b"/data/g", 0o020666, 0x103),
}
for name, text in said.items():
    print("attack", name, "->", text, flush=True)
os.chmod("/data/tool", 0o755)
print("plain", oct(os.stat("/data/tool").st_mode), flush=True)
try:
    open("/data/roots", "a").write("x")
except OSError as error:
    print("another's file ->", error.strerror, flush=True)
os.symlink("/etc/shadow", "/data/link")
"""


def test_no_program_that_lends_rights_is_left_in_a_folder(machine, place):
    """Files there are the submitter's at once: a set-id bit would be the submitter's rights."""
    (place / "data" / "roots").write_text("root's")
    (place / "data" / "roots").chmod(0o600)
    process = writing(machine, place, ATTACK)
    assert process.wait(GUARD_SECONDS) == 0, process.text
    said = dict(re.findall(r"attack (.*) -> (.*)", process.out.decode()))
    assert len(said) == 16, process.text
    allowed = ("Operation not permitted", "Function not implemented")
    assert said.pop("chown") == "Value too large for defined data type", said  # Nobody's there.
    for name, text in said.items():
        assert text in allowed, f"{name}: {text}"
    assert "plain 0o100755" in process.text, process.text
    assert "another's file -> Permission denied" in process.text, process.text
    assert (place / "data" / "roots").read_text() == "root's"
    for path in [place / "data", *(place / "data").iterdir()]:
        assert path.lstat().st_mode & 0o6000 == 0, path
        assert path.lstat().st_uid in (0, 4321) and not path.is_block_device(), path
        assert not path.is_char_device(), path
    assert (place / "data/link").is_symlink()
    assert SM.exists()
