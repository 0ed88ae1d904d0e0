"""`sm top`: what running jobs use, with a stand-in for the driver's tool: no test has a GPU."""

import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import urllib.request

import pytest
from fit import GUARD_SECONDS
from lab import SM, VENV
from process import die_with_parent, wait_until
from sm_server import SmServer
from test_gpus import HOLDS, StandIns
from test_watching import basic

MIB = 1 << 20
FRAME = b"\x1b[H"
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
# As an H100's driver (580.159.04) writes it.
TOOL = f"""#!{sys.executable}
import os, sys, time
query = [word for word in sys.argv if word.startswith("--query-gpu=")]
if sys.argv[1] == "dmon":
    links = "--gpm-metrics" in sys.argv
    if links and os.environ.get("OLD_DRIVER"):
        sys.exit(2)
    with open(os.path.dirname(__file__) + "/looks", "a") as file:
        print(os.getpid(), file=file)
    print("# gpu  rxpci  txpci" + "  nvlrx  nvltx" * links, flush=True)
    while True:
        print("    0     12      3" + "  250.5      -" * links, flush=True)
        print("    1      1      0" + "      0      -" * links, flush=True)
        time.sleep(0.05)
if not query:
    sys.exit(1)
assert query[0].endswith(",clocks.mem,clocks_throttle_reasons.active"), query
while True:
    for card in range(2):
        print(f"{{card}}, 00000000:0{{card}}:00.0, 97, {{2566 + card}}, 81559, 86.82, 32, 375, "
              "2619, 0x0000000000000044", flush=True)
    time.sleep(0.05)
"""


@pytest.fixture
def gpus(tmp_path, monkeypatch):
    """A machine with two GPUs, as `sm` finds them."""
    made = StandIns(tmp_path / "gpus", 2)
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "nvidia-smi").write_text(TOOL)
    (tools / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("MUSTER_CDI_FOLDERS", str(made.cdi))
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")


@pytest.fixture
def gate(machine) -> pathlib.Path:
    """Jobs of HOLDS run until it has a file `open`."""
    gate = machine.folder / "gate"
    gate.mkdir()
    return gate


def start(machine, gate: pathlib.Path, *words, hosts: int = 1):
    fit = machine.fit(HOLDS, "--name", "busy", "--bind", f"{gate}:/gate", *words, hosts=hosts)
    wait_until("the job", lambda: fit.text.count("holds\n") == hosts, GUARD_SECONDS)
    return fit


def told(machine, *words, code: int = 0) -> str:
    top = machine.sm("top", *words)
    assert top.wait(GUARD_SECONDS) == code, top.text
    return top.text


def test_hosts_and_cards_of_a_job_of_this_machine(machine, gpus, gate):
    assert told(machine) == "no running jobs\n"
    assert json.loads(told(machine, "--json"))["jobs"] == []
    fit = start(machine, gate, "--gpus", "1", hosts=2)
    [job] = json.loads(told(machine, "busy", "--json"))["jobs"]
    assert (job["job"], job["local"]) == ("busy", True)
    assert [host["host"] for host in job["hosts"]] == ["algo-1", "algo-2"]
    for card, host in enumerate(job["hosts"]):
        assert host["cpus"] is not None and host["memory_bytes"] > MIB and host["processes"] > 0
        assert host["network_in_bytes_per_second"] >= 0
        assert host["gpus"] == [{
            "gpu": card, "utilization_percent": 97, "memory_bytes": (2566 + card) * MIB,
            "memory_total_bytes": 81559 * MIB, "power_watts": 86, "temperature_celsius": 32,
            "sm_clock_mhz": 375, "memory_clock_mhz": 2619,
            "throttle_reasons": ["sw_power_cap", "hw_thermal_slowdown"],
            "pcie_in_bytes_per_second": (12, 1)[card] * 10**6,
            "pcie_out_bytes_per_second": (3, 0)[card] * 10**6,
            "nvlink_in_bytes_per_second": (250, 0)[card] * MIB,
            "nvlink_out_bytes_per_second": None,
        }]  # fmt: skip
    text = told(machine)  # Not a terminal: one table.
    assert re.search(r"^busy  algo-2  1    97%  2.5 GiB / 79.6 GiB  86 W ", text, re.M), text
    assert "\x1b" not in text
    (gate / "open").touch()
    assert fit.wait(GUARD_SECONDS) == 0, fit.text
    assert "busy has ended" in told(machine, "busy", code=2)
    assert "there is no job other" in told(machine, "other", code=2)


def test_traffic_is_measured_only_while_somebody_looks(machine, gpus, gate, tmp_path, monkeypatch):
    monkeypatch.setenv("OLD_DRIVER", "1")
    fit = start(machine, gate, "--gpus", "1")
    looks = tmp_path / "tools/looks"
    assert not looks.exists()
    text = told(machine)
    assert "PCIE IN" in text and "11.4 MiB/s" in text and "NVLINK" not in text, text
    [pid] = looks.read_text().split()
    wait_until("the tool to end", lambda: not os.path.exists(f"/proc/{pid}"), GUARD_SECONDS)
    told(machine)
    assert len(looks.read_text().split()) == 2
    (gate / "open").touch()
    assert fit.wait(GUARD_SECONDS) == 0, fit.text


class Terminal:
    """`sm top` on a terminal of its own, with its keys."""

    def __init__(self, machine, *words, columns: int = 100):
        self.ours, theirs = pty.openpty()
        self.before = termios.tcgetattr(theirs)
        termios.tcsetwinsize(theirs, (30, columns))
        self.theirs = theirs
        self.process = subprocess.Popen(
            [SM, "top", *words], env={**machine.environment(), "TERM": "xterm", "TZ": "CET-1"},
            stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=die_with_parent)  # fmt: skip
        self.output = b""

    def until(self, wanted: bytes, count: int = 1) -> None:
        deadline = time.monotonic() + GUARD_SECONDS
        while self.output.count(wanted) < count:
            assert time.monotonic() < deadline, self.output
            if select.select([self.ours], [], [], 0.1)[0]:
                self.output += os.read(self.ours, 65536)

    def end(self, last: bytes = LEAVE) -> int:
        """`last`: what the process writes last. Its end doesn't mean that all can be read yet."""
        code = self.process.wait(GUARD_SECONDS)
        self.until(last)
        assert termios.tcgetattr(self.theirs) == self.before
        assert self.output.count(ENTER) == self.output.count(LEAVE) == 1
        assert b"\x1b[2J" not in self.output  # Nothing flickers.
        os.close(self.ours)
        os.close(self.theirs)
        return code


def test_the_view_on_a_terminal_is_refreshed_and_left_as_it_was(machine, gpus, gate):
    fit = start(machine, gate, "--gpus", "1")
    for leave, code in ((b"q", 0), (b"\x03", 0), (signal.SIGTERM, 128 + signal.SIGTERM)):
        words, columns = (["--utc"], 100) if leave == b"q" else ([], 40)
        view = Terminal(machine, *words, columns=columns)
        view.until(ENTER)
        view.until(b"97%")
        view.until(FRAME, view.output.count(FRAME) + 1)
        assert (b" +00:00  q quits" if words else b" +01:00  q quits") in view.output, view.output
        if leave == b"q":
            assert b"THROTTLED" in view.output and b"PROCESSES" in view.output, view.output
        else:
            assert b"THROTTLED" not in view.output and b"USE" in view.output, view.output
        if isinstance(leave, bytes):
            os.write(view.ours, leave)
        else:
            view.process.send_signal(leave)
        assert view.end() == code
    view = Terminal(machine, "busy")
    view.until(b"97%")
    (gate / "open").touch()
    assert view.end(last=b"busy has ended") == 0
    assert b"busy has ended" in view.output.split(LEAVE)[1]
    assert fit.wait(GUARD_SECONDS) == 0, fit.text


def test_a_servers_jobs_and_its_metrics(machine, tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(HOLDS.replace("/gate/open", "/tmp/never"))
    with SmServer(tmp_path, jobs={"python": str(VENV / "bin" / "python")}) as server:

        def sm(*words, code: int = 0) -> str:
            run = machine.sm(*words, environment=server.env())
            assert run.wait(GUARD_SECONDS) == code, run.text
            return run.text

        sm("submit", "train.py", "--name", "served", "--source-dir", tmp_path / "code")

        def hosts() -> list[dict]:
            [job] = json.loads(sm("top", "served", "--json"))["jobs"]
            return job["hosts"]

        def metrics() -> str:
            request = urllib.request.Request(f"{server.url}/metrics")
            request.add_header("Authorization", basic(server))
            with urllib.request.urlopen(request, timeout=GUARD_SECONDS) as answer:
                return answer.read().decode()

        [host] = wait_until("a host", hosts, GUARD_SECONDS)
        assert host["memory_bytes"] > MIB and host["gpus"] == []
        assert re.search(r"^served  algo-1 ", sm("top"), re.M)
        line = 'muster_host_memory_bytes{job="served",host="algo-1"} '
        wait_until("metrics", lambda: line in metrics(), GUARD_SECONDS)
        sm("stop", "--wait", "served")
        assert "served has ended" in sm("top", "served", code=2)
        assert "there is no job other" in sm("top", "other", code=2)
