"""Errors that a GPU's driver reports in the kernel's log (Xid), with a fake log and driver.

The tests' namespace has a pipe for /dev/kmsg, to which only the test writes, and a folder for
/proc/driver, which says that GPU 0 lies at 0000:0a:00.0 and GPU 1 at 0000:0b:00.0.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import stat
import subprocess

import pytest
from fit import GUARD_SECONDS, in_host
from page import Served
from process import wait_until
from sm_server import SmServer
from test_gpus import StandIns, driver_tool, mounted

FAILS = """
import os, select, sys
print("runs", flush=True)
while not os.path.exists("/gate/open"):
    select.select([], [], [], 0.05)
sys.exit("CUDA error: unspecified launch failure")
"""
# A rank with its launcher's variable, whose machine's pid a test finds by its last argument.
LACKS = """
import os, select, sys
if "RANK" not in os.environ:
    os.execve(sys.executable, [sys.executable, __file__, "as-rank-3"], {**os.environ, "RANK": "3"})
print("runs", flush=True)
while not os.path.exists("/gate/open"):
    select.select([], [], [], 0.05)
sys.exit("torch.OutOfMemoryError: CUDA out of memory")
"""
LOST = "3,7,8,-;NVRM: Xid (PCI:0000:0b:00): 79, GPU has fallen off the bus.\n"
# As an H100's driver (580.159.04) wrote it.
ILLEGAL = (
    "4,8,9,-;NVRM: Xid (PCI:0000:0b:00): 31, pid=596, name=python3, channel 0x0000001e, "
    "intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_8 faulted @ 0x836f_43e00000. "
    "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_WRITE\n"
)
# The name in a line is the job's own; a line of another program has another facility.
FORGED = (
    "4,8,9,-;NVRM: Xid (PCI:0000:0c:00): 13, pid=5, name=x): 79, GPU has fallen off the bus\n",
    "12,8,9,-;NVRM: Xid (PCI:0000:0b:00): 79, GPU has fallen off the bus.\n",
)


# Each rank has its number as its last argument; rank 1 fails.
RANKS = """
import os, select, sys
rank = os.environ["OMPI_COMM_WORLD_RANK"]
if len(sys.argv) == 1:
    os.execv(sys.executable, [sys.executable, __file__, f"as-rank-{rank}"])
print("runs", flush=True)
while rank == "0" or not os.path.exists("/gate/open"):
    select.select([], [], [], 0.05)
sys.exit("CUDA error: unspecified launch failure")
"""
LISTS = """#!/bin/sh
case "$1" in --query-compute-apps=gpu_bus_id,pid,used_gpu_memory) ;; *) exit 1 ;; esac
while read -r line; do echo "$line"; done <{said}
: >{listed}
read -r forever <{said}
"""


@pytest.fixture
def gpus(tmp_path, monkeypatch):
    """A machine with two GPUs."""
    made = StandIns(tmp_path / "gpus", 2)
    monkeypatch.setenv("MUSTER_CDI_FOLDERS", str(made.cdi))


@pytest.fixture
def kernel_log(tmp_path, gpus):
    """What is written to it the machine's kernel says."""
    driver = tmp_path / "driver"
    for number, bus in enumerate(("0000:0a:00.0", "0000:0b:00.0")):
        place = driver / "nvidia" / "gpus" / bus
        place.mkdir(parents=True)
        (place / "information").write_text(f"Bus Location: \t {bus}\nDevice Minor: \t {number}\n")
    pipe = tmp_path / "kmsg"
    os.mkfifo(pipe, 0o600)
    # While something covers a part of /proc, the kernel lets user namespaces mount one only if
    # another proc file system is completely visible.
    whole = tmp_path / "proc"
    whole.mkdir()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mounted("proc", whole, "-t", "proc"))
        stack.enter_context(mounted(driver, "/proc/driver"))
        stack.enter_context(mounted(pipe, "/dev/kmsg"))
        yield stack.enter_context(open(pipe, "r+b", buffering=0))


@pytest.mark.parametrize(
    ("says", "cause"),
    [
        ((LOST,), "; algo-1: GPU 1 fell off the bus (Xid 79): not your code"),
        ((ILLEGAL,), "; algo-1: GPU 1: illegal memory access by the program (Xid 31)"),
        (FORGED, ""),
    ],
)
def test_a_failure_names_the_card(machine, kernel_log, says, cause):
    gate = machine.folder / "gate"
    gate.mkdir()
    job = machine.fit(FAILS, "--gpus", "2", "--bind", f"{gate}:/gate")
    wait_until("the job to run", lambda: "runs" in job.text or job.ended_at)
    for line in says:
        kernel_log.write(line.encode())
    (gate / "open").touch()
    assert job.wait(GUARD_SECONDS) == 1, job.text
    failure = "exit code 1: CUDA error: unspecified launch failure"
    assert f"Training job failed: script.py on algo-1: {failure}{cause}\n" in job.text, job.text


def processes_of(word: str) -> list[int]:
    """The processes with this word among their arguments, as this machine counts."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if word.encode() in (folder / "cmdline").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


@pytest.fixture
def process_list(tmp_path, monkeypatch):
    """Says which processes hold memory of cards; a stand-in for the driver's tool lists them."""
    tools = tmp_path / "tools"
    tools.mkdir()
    said = tools / "said"
    os.mkfifo(said)
    program = tools / "nvidia-smi"
    program.write_text(LISTS.format(said=said, listed=tools / "listed"))
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")

    def says(text: str) -> None:
        with said.open("w") as lines:
            lines.write(text)
        wait_until("the list to be read", (tools / "listed").exists)

    return says


@pytest.mark.parametrize(
    ("bus", "cause"),
    [("0a", ""), ("0b", "; algo-1: GPU 1 fell off the bus (Xid 79): not your code")],
)
def test_a_card_explains_only_ranks_that_used_it(machine, kernel_log, process_list, bus, cause):
    gate = machine.folder / "gate"
    gate.mkdir()
    job = machine.fit(RANKS, "--gpus", "2", "--bind", f"{gate}:/gate", per_host=2)
    wait_until("the ranks to run", lambda: job.text.count("runs") == 2 or job.ended_at)
    (first,), (second,) = processes_of("as-rank-0"), processes_of("as-rank-1")
    process_list(f"00000000:0A:00.0, {first}, 512\n00000000:0B:00.0, {second}, 512\n")
    kernel_log.write(LOST.replace("0b:00", f"{bus}:00").encode())
    (gate / "open").touch()
    assert job.wait(GUARD_SECONDS) == 1, job.text
    failure = "rank 1 on algo-1: exit code 1: CUDA error: unspecified launch failure"
    assert f"Training job failed: {failure}{cause}\n" in job.text, job.text


def test_out_of_memory_names_the_holders(machine, kernel_log, process_list):
    gate = machine.folder / "gate"
    gate.mkdir()
    job = machine.fit(LACKS, "--gpus", "2", "--bind", f"{gate}:/gate")
    wait_until("the job to run", lambda: "runs" in job.text or job.ended_at)
    (rank,) = processes_of("as-rank-3")
    other = subprocess.Popen(["cat"], stdin=subprocess.PIPE, user=65534)
    try:
        process_list(f"00000000:0B:00.0, {other.pid}, 512\n00000000:0B:00.0, {rank}, 61440\n")
        (gate / "open").touch()
        assert job.wait(GUARD_SECONDS) == 1, job.text
    finally:
        other.communicate()
    want = r"; algo-1: memory of GPU 1, \d+ s before: 60 GiB by rank 3, 512 MiB by another user's"
    assert re.search(rf"CUDA out of memory{want} process\n", job.text), job.text


WAITS = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print("runs", flush=True)
signal.sigwait({signal.SIGUSR1})
sys.exit("CUDA error: unspecified launch failure")
"""


def test_a_servers_queue_notices_a_card_that_falls_sick(kernel_log, tmp_path, monkeypatch):
    """The server counted the card when it started; the next job does not get it."""
    tools = driver_tool(tmp_path / "tools", 2)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    (tmp_path / "waits.py").write_text(WAITS)
    (tmp_path / "server").mkdir()
    jobs = {"instance_types": {"ml.p3.8xlarge": {"gpus": 2}}, "network": "none"}
    with SmServer(tmp_path / "server", jobs=jobs) as server:
        served = Served(server, tmp_path)
        for name in ("first", "second"):
            served.sm("submit", "waits.py", "--name", name, "--instance-type", "ml.p3.8xlarge")

        def runs() -> bool:
            return "runs" in served.sm("logs", "first", code=None)

        wait_until("the job to run", runs, GUARD_SECONDS)
        said = (tools / "said").read_text()
        sick = re.sub(r"(GPU Recovery Action +: )None", r"\1Reset", said, count=1)
        (tools / "said").write_text(sick)
        kernel_log.write(LOST.encode())
        (pid,) = in_host("algo-1", lambda words: "python" in words[0])
        os.kill(pid, signal.SIGUSR1)
        client = server.client("sagemaker")

        def describe(name: str) -> dict:
            return client.describe_training_job(TrainingJobName=name)

        reason = "gpus: 2 requested, 1 available (example.com/gpu=0 needs recovery: Reset)"
        wait_until("a reason", lambda: reason in str(describe("second")), GUARD_SECONDS)
        assert "GPU 1 fell off the bus (Xid 79)" in describe("first")["FailureReason"]
        assert describe("second")["SecondaryStatus"] == "Pending"
        served.sm("stop", "--wait", "second")


def test_a_log_that_cannot_be_read_is_said_once(machine, gpus, tmp_path):
    closed = tmp_path / "closed"
    os.mknod(closed, stat.S_IFSOCK | 0o600)  # open() of a socket fails.
    with mounted(closed, "/dev/kmsg"):
        job = machine.fit("print('runs')", "--gpus", "1")
        assert job.wait(GUARD_SECONDS) == 0, job.text
    once = "GPU errors (Xid) cannot be read here: cannot open /dev/kmsg: "
    assert job.text.count(once) == 1, job.text


def test_the_journal_is_read_where_the_log_cannot_be(machine, kernel_log, tmp_path, monkeypatch):
    """As for members of systemd-journal: the system's journal is readable, /dev/kmsg is not."""
    closed = tmp_path / "closed"
    os.mknod(closed, stat.S_IFSOCK | 0o600)
    journal = tmp_path / "journal"
    (journal / "0a1b").mkdir(parents=True)
    (journal / "0a1b" / "system.journal").touch()
    tools = tmp_path / "tools"
    tools.mkdir()
    said = tools / "said"
    os.mkfifo(said)
    program = tools / "journalctl"
    program.write_text(f"""#!/bin/sh
[ "$*" = "-k -f -n 0 -o json" ] || exit 1
while read -r line; do echo "$line"; done <{said}
: >{tools}/told
read -r forever <{said}
""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    gate = machine.folder / "gate"
    gate.mkdir()
    pathlib.Path("/run/log/journal").mkdir(parents=True, exist_ok=True)
    with mounted(closed, "/dev/kmsg"), mounted(journal, "/run/log/journal"):
        job = machine.fit(FAILS, "--gpus", "2", "--verbose", "--bind", f"{gate}:/gate")
        wait_until("the job to run", lambda: "runs" in job.text or job.ended_at)
        line = {"PRIORITY": "3", "SYSLOG_FACILITY": "0", "MESSAGE": LOST.partition(";")[2].strip()}
        with said.open("w") as lines:
            lines.write(json.dumps(line) + "\n")
        wait_until("the line to be read", (tools / "told").exists)
        (gate / "open").touch()
        assert job.wait(GUARD_SECONDS) == 1, job.text
    assert "algo-1: GPU 1 fell off the bus (Xid 79): not your code" in job.text, job.text
    assert "cannot be read here" not in job.text, job.text
