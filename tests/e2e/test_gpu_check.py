"""tools/gpu-check with stand-ins for a card and its driver: no test has a GPU."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from fit import GUARD_SECONDS
from lab import REPOSITORY, SM, VENV
from test_gpus import StandIns, mounted

sys.path.insert(0, str(REPOSITORY / "tools/gpu_check"))

import pack  # noqa: E402

pytestmark = pytest.mark.gpu

# One card, whose memory is what living processes hold: they lock the files of the folder `state`.
NVIDIA_SMI = f"""#!{sys.executable}
import fcntl, pathlib, sys, time
def used():
    held = 0
    for path in pathlib.Path("FOLDER/state").iterdir():
        with path.open() as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                held += int(path.read_text() or 0)
    return held
if sys.argv[1] == "--list-gpus":
    print("GPU 0: STAND-IN (UUID: GPU-0)")
    sys.exit()
def holders():
    # The machine's numbers of processes with locks, and what they hold.
    locks = [line.split() for line in pathlib.Path("/proc/locks").read_text().splitlines()]
    pids = {{words[5].split(":")[2]: words[4] for words in locks if words[1] == "FLOCK"}}
    for path in pathlib.Path("FOLDER/state").iterdir():
        if pid := pids.get(str(path.stat().st_ino)):
            yield f"00000000:00:06.0, {{pid}}, {{int(path.read_text() or 0)}}"
if sys.argv[1] == "-q":
    sys.stdout.write(pathlib.Path("FOLDER/health").read_text())
    sys.exit()
while sys.argv[1].startswith("--query-compute-apps="):
    print("\\n".join(holders()), flush=True)
    time.sleep(1)
query = [word.split("=")[1].split(",") for word in sys.argv if word.startswith("--query-gpu=")]
if not query:
    sys.exit(1)
while True:
    has = {{"index": 0, "pci.bus_id": "00000000:00:06.0", "name": "STAND-IN", "memory.total": 8192,
            "driver_version": "1.2", "memory.used": used(), "power.draw": "86.82",
            "temperature.gpu": 32, "clocks.sm": 375, "clocks.mem": 2619,
            "clocks_throttle_reasons.active": "0x0000000000000001"}}
    has["utilization.gpu"] = 100 if has["memory.used"] else 0
    print(", ".join(str(has[field]) for field in query[0]), flush=True)
    if "-l" not in sys.argv and "--loop=1" not in sys.argv:
        break
    time.sleep(0.2)
"""


@pytest.fixture
def standins(tmp_path) -> pathlib.Path:
    folder = tmp_path / "standins"
    (folder / "state").mkdir(parents=True)
    (folder / "bin").mkdir()
    tool = folder / "bin/nvidia-smi"
    tool.write_text(NVIDIA_SMI.replace("FOLDER", str(folder)))
    tool.chmod(0o755)
    pack.image(folder)
    source = REPOSITORY / "tests/data/standin_cuda.c"
    subprocess.run(["cc", "-g", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror",
                    f'-DSTATE="{folder}/state"', "-o", folder / "libcuda.so.1", source],
                   check=True)  # fmt: skip
    return folder


def check(machine, standins: pathlib.Path, *words) -> tuple[int, dict[str, dict], str]:
    """The exit code, the parts by name and the table."""
    gpus = StandIns(standins.parent / "gpus", 1)
    (standins.parent / "path").mkdir()
    (standins.parent / "path/sm").symlink_to(SM)
    path = f"{standins.parent}/path:{machine.environment()['PATH']}"
    report = standins.parent / "report.json"
    done = subprocess.run(
        [sys.executable, REPOSITORY / "tools/gpu-check", "--standins", standins, "--json", report,
         "--python", VENV / "bin/python", *words],
        env={**machine.environment(), **gpus.environment, "PATH": path},
        capture_output=True, text=True, timeout=3 * GUARD_SECONDS, check=False)  # fmt: skip
    assert report.exists(), done
    told = json.loads(report.read_text())
    assert told["cards"] == ["STAND-IN, 1.2"]
    return done.returncode, {each["part"]: each for each in told["parts"]}, done.stdout


def test_every_part_passes_or_says_why_it_cannot_run(machine, standins):
    code, parts, table = check(machine, standins)
    results = {name: each["result"] for name, each in parts.items()}
    skipped = {"devices", "torch", "nccl", "compile", "cdi", "xid", "memory", "ras", "hang",
               "health"}  # fmt: skip
    assert code == 0 and "FAILED" not in results.values(), table
    assert {name for name, result in results.items() if result == "skipped"} <= skipped, table
    assert all(parts[name]["text"] for name in skipped), table
    assert parts["cuda"]["text"] == "STAND-IN"
    assert parts["image"]["text"].startswith("a program that opens libcuda.so.1")
    assert parts["figures"]["text"] == "100%, 2048 MiB; nvidia-smi: 100%, 2048 MiB"
    assert parts["kill"]["text"].startswith("4096 MiB are free ")
    assert table.count("\n") == 1 + len(parts), table


def test_verdicts_name_the_error_and_the_holder(machine, standins, tmp_path):
    """With a stand-in for the kernel's log, and one for the driver's folder in /proc."""
    driver = standins / "driver"
    place = driver / "nvidia/gpus/0000:00:06.0"
    place.mkdir(parents=True)
    (place / "information").write_text("Bus Location: \t 0000:00:06.0\nDevice Minor: \t 0\n")
    shutil.copy(REPOSITORY / "tests/data/nvidia_smi_h100.txt", standins / "health")
    os.mkfifo(standins / "kmsg", 0o600)
    whole = tmp_path / "proc"
    whole.mkdir()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mounted("proc", whole, "-t", "proc"))
        stack.enter_context(mounted(driver, "/proc/driver"))
        stack.enter_context(mounted(standins / "kmsg", "/dev/kmsg"))
        log = stack.enter_context(open(standins / "kmsg", "r+b", buffering=0))
        log.write(b"4,8,9,-;NVRM: Xid (PCI:0000:00:06): 31, pid=596, name=python3, MMU Fault\n")
        code, parts, table = check(machine, standins, "xid", "memory", "health")
    assert code == 0, table
    assert "illegal memory access by the program (Xid 31)" in parts["xid"]["text"], table
    found = r"memory of GPU 0, \d+ s before: .*5\.3 GiB by process \d+ outside the job"
    assert re.search(found, parts["memory"]["text"]), table
    assert parts["health"]["text"].startswith("sm doctor: healthy"), table


def test_a_part_runs_alone_and_a_failure_is_one(machine, standins):
    library = standins / "libcuda.so.1"
    library.rename(standins / "aside")
    (standins / "image.tar").unlink()
    code, parts, table = check(machine, standins, "cuda", "nvidia-smi", "image")
    assert code == 1, table
    assert {name: each["result"] for name, each in parts.items()} == {
        "nvidia-smi": "ok", "cuda": "FAILED", "image": "skipped",
    }  # fmt: skip
    assert parts["image"]["text"] == "no image.tar: make gpu-check builds it"
    assert "libcuda.so.1: cannot open shared object file" in table, table


def test_an_unknown_part_and_a_machine_without_a_card():
    def run(*words) -> subprocess.CompletedProcess:
        env = {**os.environ, "PATH": f"{SM.parent}:{os.environ['PATH']}"}
        return subprocess.run([sys.executable, REPOSITORY / "tools/gpu-check", *words], env=env,
                              capture_output=True, text=True, timeout=GUARD_SECONDS,
                              check=False)  # fmt: skip

    assert "unknown part: nothing" in run("nothing").stderr
    listed = run("--list").stdout.splitlines()
    assert len(listed) == 20 and listed[0].startswith("devices ")
    none = run("devices", "cuda")
    assert none.returncode == 2
    assert none.stdout.count("skipped") == 2 and "nvidia-smi names no card" in none.stdout
