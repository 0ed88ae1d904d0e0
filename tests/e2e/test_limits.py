"""A job over one of its limits fails by name, with the figures, and what it wrote is kept."""

import os
import pathlib
import shutil
import signal

import pytest
from fit import GUARD_SECONDS, wait_for_jobs_to_go
from process import wait_until

DISK_FULL = "algo-1: disk: 1 GiB of VolumeSizeInGB=1 full"

needs_volumes = pytest.mark.skipif(
    not pathlib.Path("/dev/loop-control").exists() or not shutil.which("mke2fs", path="/sbin"),
    reason="needs loop devices and mke2fs",
)

FILL = """\
with open("/opt/ml/model/first", "w") as file:
    file.write("kept")
block = bytes(1 << 20)
with open("%s/large", "wb", buffering=0) as file:
    while True:
        file.write(block)
"""

# The file has no name, so a check of names finds nothing.
FILL_UNNAMED = """\
import os, sys, time
block = bytes(1 << 20)
with open("/opt/ml/output/large", "wb", buffering=0) as file:
    os.unlink("/opt/ml/output/large")
    try:
        while True:
            file.write(block)
    except OSError as error:
        print(error, flush=True)
        time.sleep(1)
        sys.exit(1)
"""

FILL_WITH_NAMES = """\
for number in range(1 << 20):
    open("/opt/ml/output/%d" % number, "w").close()
"""


CPUS = """\
import os, time
print("cpus", sorted(os.sched_getaffinity(0)), os.environ["SM_NUM_CPUS"], flush=True)
if os.environ.get("STAY"):
    time.sleep(600)
"""

SHARED_MEMORY_FULL = """\
import mmap, os
fd = os.open("/dev/shm/tensor", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 64 << 20)
memory = mmap.mmap(fd, 64 << 20)
for page in range(0, 64 << 20, 4096):
    memory[page] = 1
"""


def cpus_told(process) -> tuple[str, str]:
    process.wait_for_output(b"cpus [", GUARD_SECONDS)
    line = next(line for line in process.text.splitlines() if "cpus [" in line)
    cpus, count = line.split("cpus [")[1].split("] ")
    return cpus, count.split()[0]


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
def test_hosts_of_whole_processors_have_their_own_while_there_are_some(machine):
    every = ", ".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0)))
    first = machine.fit(CPUS, "--cpus", 1, "--env", "STAY=1")
    mine, count = cpus_told(first)
    assert count == "1" and "," not in mine
    second = machine.fit(CPUS, "--cpus", 1, "--env", "STAY=1", output=machine.folder / "second")
    other, count = cpus_told(second)
    assert count == "1" and "," not in other and other != mine
    if every.count(",") == 1:  # None is left: time is allotted.
        third = machine.fit(CPUS, "--cpus", 1, output=machine.folder / "third")
        assert cpus_told(third) == (every, "1")
        assert third.wait(GUARD_SECONDS) == 0
    for process in (first, second):
        process.signal(signal.SIGINT)
        process.wait(GUARD_SECONDS)


def test_a_bus_error_for_want_of_shared_memory_is_named(machine):
    process = machine.fit(SHARED_MEMORY_FULL, "--shm-size", "32m")
    assert process.wait(GUARD_SECONDS) == 1, process.text
    assert "killed by SIGBUS" in process.text
    assert "algo-1: /dev/shm: 32 MiB full" in process.text


def loops_of(machine) -> list[str]:
    """Files of this test's jobs that back a loop device."""
    backing = pathlib.Path("/sys/block").glob("loop*/loop/backing_file")
    found = []
    for path in backing:
        try:
            found.append(path.read_text().strip())
        except OSError:  # Gone meanwhile.
            continue
    return [name for name in found if name.startswith(str(machine.state))]


@needs_volumes
@pytest.mark.parametrize("place", ["/opt/ml/model", "/usr/local/share"])
def test_a_disk_that_is_full_is_named_and_what_was_written_is_kept(machine, place):
    process = machine.fit(FILL % place, "--volume-size", 1)
    assert process.wait(GUARD_SECONDS) == 1, process.text
    assert "No space left on device" in process.text
    assert DISK_FULL in process.text
    assert (machine.output / "model/first").read_text() == "kept"
    wait_for_jobs_to_go(machine)
    assert not loops_of(machine)


@needs_volumes
def test_what_has_no_name_any_more_counts_too(machine):
    process = machine.fit(FILL_UNNAMED, "--volume-size", 1)
    assert process.wait(GUARD_SECONDS) == 1, process.text
    assert DISK_FULL in process.text


@pytest.mark.deep
@needs_volumes
def test_files_without_bytes_have_a_limit_too(machine):
    process = machine.fit(FILL_WITH_NAMES, "--volume-size", 1)
    assert process.wait(GUARD_SECONDS) == 1, process.text
    assert f"{DISK_FULL} (no inodes left)" in process.text


@needs_volumes
def test_a_killed_job_leaves_no_loop_device(machine):
    wait = "import time\nprint('runs', flush=True)\ntime.sleep(600)\n"
    process = machine.fit(wait, "--volume-size", 1)
    process.wait_for_output(b"runs", GUARD_SECONDS)
    assert len(loops_of(machine)) == 1
    process.signal(signal.SIGKILL)
    wait_until("the loop device to go", lambda: not loops_of(machine), GUARD_SECONDS)
