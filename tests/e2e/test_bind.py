"""`sm fit --bind PATH[:PATH][:ro|rw]`: paths of the machine, as they are, in every host."""

import os
import re
import socket
import subprocess

import pytest

from bound import fit, submitters_folder, writing
from fit import GUARD_SECONDS


@pytest.fixture(name="place")
def _place():
    with submitters_folder() as folder:
        yield folder


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
        f"{pipe}": "not sockets, devices or pipes",
        "/dev/null:/null": "not sockets, devices or pipes",
        "/var/run:/data": "the machine's own files cannot be bound",
        f"{machine.state}:/data": "is inside muster's folder",
        f"{place}:/opt/ml/model": "hosts have their own /opt/ml",
        f"{place}:/a:/b:ro": "PATH[:PATH][:ro|rw]",
    }
    fit(machine, "pass").wait(GUARD_SECONDS)  # So that its state folder is noted.
    for given, wanted in cases.items():
        said = refusal(machine, "--bind", given)
        assert said.count("\n") <= 2 and "--bind: " in said and wanted in said, (given, said)
    with socket.socket(socket.AF_UNIX) as service:
        service.bind(str(listening))
        said = refusal(machine, "--bind", place)
        assert f"the program that listens on {listening}" in said
    other = {"SUDO_UID": "4322", "SUDO_GID": "8765"}
    said = refusal(machine, "--bind", f"{place}:/data:rw", environment=other)
    want = "rw requires that you (user 4322) own this path, but the owner is user 4321"
    assert want in said, said


def test_a_proc_that_is_mounted_inside_is_not_shown(machine, place):
    (place / "proc").mkdir()
    subprocess.run(["mount", "-t", "proc", "proc", place / "proc"], check=True)
    try:
        said = refusal(machine, "--bind", place)
        assert f"because kernel files (proc) are mounted at {place}/proc" in said, said
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
        if "cannot translate owners; hosts can read only its world-readable files" in process.text:
            assert "secret Permission denied" in process.text, process.text
            said = refusal(machine, "--bind", f"{merged}:/data:rw", code=1)
            assert re.search("rw is not possible, because .*; bind the path as :ro", said), said
        else:  # A later kernel's.
            assert "secret root's" in process.text, process.text
    finally:
        subprocess.run(["umount", merged], check=True)
