"""Hostile bytes where a host talks to its steward and its `train`, and on the disk.

A host is believed about itself, and about nothing else.
"""

import json
import os
import pathlib
import re
import struct
import subprocess

import pytest

from fit import Machine, in_host
from lab import SM
from process import wait_until
from sm_server import SmServer

GUARD_SECONDS = 120

LINES, OUTCOME, VERDICT, LOG, PHASE, SIGNAL, RANK_HELLO, RANK_STARTED, AGENT, CALL = (
    10, 11, 42, 41, 40, 9, 20, 22, 25, 28,
)


def frame(kind: int, payload: bytes | dict, length: int | None = None) -> bytes:
    if isinstance(payload, dict):
        payload = json.dumps(payload).encode()
    return struct.pack("<IB", len(payload) if length is None else length, kind) + payload


def lines(text: bytes, rank: int = 0, stream: int = 1, flags: int = 0) -> bytes:
    return frame(LINES, struct.pack("<iBB", rank, stream, flags) + text)


def verdict(host: str, process: str, kind: str = "exited", **more) -> dict:
    return {"outcome": {"kind": kind, "number": 9, "text": "FORGED"}, "host": host,
            "process": process, **more}


# One job's host algo-2 writes all of these to its steward's stream. None may be believed.
FORGED = {
    "the host's own end": frame(OUTCOME, verdict("algo-2", "host", stopped=True)),
    "another host's end": frame(OUTCOME, verdict("algo-1", "host", stopped=True)),
    "another host is out of memory": frame(
        OUTCOME, verdict("algo-1", "host", stopped=False, out_of_memory=True)),
    "another host's rank": frame(OUTCOME, verdict("algo-1", "rank 0")),
    "a verdict about a host that is none": frame(VERDICT, verdict("algo-9", "rank 0")),
    "a verdict about the machine": frame(VERDICT, verdict("localhost", "steward")),
    "a verdict of an unknown kind": frame(VERDICT, verdict("algo-2", "x", kind="FORGED")),
    "a verdict that is no object": frame(VERDICT, b'["FORGED"]'),
    "a verdict that is no JSON": frame(VERDICT, b"FORGED"),
    "a verdict that is no UTF-8": frame(VERDICT, b'{"host": "\xff FORGED"}'),
    "a verdict nested deep": frame(VERDICT, b"[" * 500_000 + b"FORGED"),
    "a verdict with a number beyond all": frame(
        VERDICT, b'{"outcome":{"kind":"exited","number":1e999},"host":"FORGED"}'),
    "a verdict with a text for a number": frame(
        VERDICT, b'{"outcome":{"kind":"exited","number":"FORGED"}}'),
    "an end of the job": frame(PHASE, {"phase": "Completed", "message": "FORGED"}),
    "a failure of the job": frame(PHASE, {"phase": "Failed", "message": "FORGED"}),
    "an upload": frame(PHASE, {"phase": "Uploading", "message": "FORGED"}),
    "an unknown phase": frame(PHASE, {"phase": "FORGED", "message": ""}),
    "muster's own error": frame(LOG, {"level": "error", "text": "FORGED"}),
    "muster's own warning": frame(LOG, {"level": "warning", "text": "FORGED\nalgo-1 muster: x"}),
    "a rank's start with the pid of any process": frame(
        RANK_STARTED, {"rank": 0, "pid": 1, "FORGED": 1}),
    "a rank's start without a rank and a pid": frame(RANK_STARTED, b'["FORGED"]'),
    "a signal": frame(SIGNAL, {"signal": 9, "grace_ms": 0, "FORGED": 1}),
    "an unknown type": frame(255, b"FORGED"),
    "an empty payload": frame(OUTCOME, b""),
    "lines of a negative rank": lines(b"FORGED\n", rank=-2),
    "lines of the lowest rank": lines(b"FORGED\n", rank=-2**31),
    "lines from a rank above the limit of any job's": lines(b"FORGED\n", rank=2**31 - 1),
    "lines: unknown stream": lines(b"FORGED\n", stream=7),
    "lines: unknown flags": lines(b"FORGED\n", flags=0x40),
    "a piece that hides a line's end": lines(b"x\nalgo-1 rank 0 | FORGED", flags=1),
    "lines without an end": lines(b"FORGED"),
    "lines shorter than their head": frame(LINES, b"\1\0"),
    "lines longer than they may be": lines(b"FORGED\n" * 149_797),
}
# What ends the stream: nothing behind it is believed.
BROKEN = {
    "a length of 4 GiB": frame(VERDICT, b"FORGED", length=0xFFFFFFFF),
    "a length beyond the limit": frame(LINES, b"FORGED", length=(1 << 20) + 4097),
    "garbage": b"GET /FORGED HTTP/1.1\r\n\r\n" * 100,
}
# What stays unfinished at the host's end.
CUT = {
    "a frame cut in its head": b"\x10\0",
    "a frame cut in its payload": frame(VERDICT, b"FORGED", length=100_000),
}

FIND_STREAM = """
import glob, os, time
def stream():
    for path in glob.glob("/proc/[0-9]*/fd/3"):
        try:
            words = open(path.rsplit("/", 2)[0] + "/cmdline", "rb").read().split(b"\\0")
            if words[0].endswith(b"train") and os.readlink(path).startswith("pipe:"):
                return os.open(path, os.O_WRONLY)
        except OSError:
            pass
    raise SystemExit("no steward stream here")
"""


def attack(attacks: dict[str, bytes]) -> str:
    return FIND_STREAM + f"""
from mpi4py import MPI
host = os.environ["SM_CURRENT_HOST"]
if host == "algo-2":
    fd = stream()
    for name, attack in {attacks!r}.items():
        while attack:
            attack = attack[os.write(fd, attack):]
MPI.COMM_WORLD.Barrier()
print("alive on", host, flush=True)
"""


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    machine = Machine(tmp_path_factory.mktemp("frames"))
    yield machine
    machine.close()


class Told:
    """A job's objects of `sm fit --json`."""

    def __init__(self, process):
        self.code = process.wait(GUARD_SECONDS)
        self.story = process.text[-4000:]
        self.all = [json.loads(line) for line in process.out.splitlines()]

    def of(self, kind: str) -> list[dict]:
        return [each for each in self.all if each["type"] == kind]

    def statuses(self) -> list[str]:
        """Each once, though it may have several messages."""
        return list(dict.fromkeys(each["status"] for each in self.of("status")))


@pytest.fixture(scope="module")
def forged(machine):
    return Told(machine.fit(attack(FORGED), "--json", hosts=2, output=machine.folder / "forged"))


WHOLE = ["Starting", "Downloading", "Training", "Uploading", "Completed"]


def test_a_job_whose_host_forges_all_it_can_ends_as_it_did(forged):
    assert forged.code == 0, forged.story
    assert forged.statuses() == WHOLE
    end = forged.of("end")[0]
    assert end["status"] == "Completed" and end["reason"] == "success", end
    warnings = [each for each in forged.of("log") if each["level"] == "warning"]
    assert [each["host"] for each in warnings] == ["algo-2"], "told once, of the host itself"
    alive = {each["host"] for each in forged.of("line") if each["text"].startswith("alive")}
    assert alive == {"algo-1", "algo-2"}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_frame_is_believed_nowhere(forged, name):
    assert FORGED[name], name
    assert [each for each in forged.all if "FORGED" in json.dumps(each)] == []
    ranks = [each for each in forged.of("line") if each["rank"] is not None]
    assert {(each["host"], each["rank"], each["text"].split()[0]) for each in ranks} == {
        ("algo-1", 0, "alive"), ("algo-2", 1, "alive")}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_stream_is_reported_in_a_line_and_ends_no_other_process(machine, name):
    output = machine.folder / re.sub(r"\W+", "-", name)
    then = {name: BROKEN[name], "then": frame(VERDICT, verdict("algo-1", "rank 0"))}
    told = Told(machine.fit(attack(then), "--json", hosts=2, output=output))
    errors = [each for each in told.of("log") if each["level"] == "error"]
    assert [each["host"] for each in errors] == ["algo-2"], told.story
    assert errors[0]["text"].startswith("the stream from train: frame of "), errors
    assert "FORGED" not in json.dumps(told.all)
    assert told.statuses()[:3] == WHOLE[:3] and told.of("end"), told.story


@pytest.mark.parametrize("name", CUT)
def test_a_truncated_frame_is_rejected(machine, name):
    output = machine.folder / re.sub(r"\W+", "-", name)
    script = FIND_STREAM + f"os.write(stream(), {CUT[name]!r})\nprint('alive', flush=True)\n"
    told = Told(machine.fit(script, "--json", "--mpi", output=output))
    assert told.of("end") and "FORGED" not in json.dumps(told.all), told.story


def test_a_flood_of_outcomes_does_not_fill_the_disk(machine):
    script = FIND_STREAM + f"""
fd = stream()
for i in range(200):
    attack = {frame(OUTCOME, verdict("algo-1", "rank 0", last_lines="x" * 900_000))!r}
    while attack:
        attack = attack[os.write(fd, attack):]
"""
    words = ["--json", "--mpi", "--keep", "--name", "flood"]
    told = Told(machine.fit(script, *words, output=machine.folder / "flood"))
    assert told.code == 0, told.story
    journal = machine.state / "jobs/flood/algo-1/journal"
    assert journal.stat().st_size < 24 << 20


# The host socket.

SOCKET_ATTACKS = {
    "garbage": b"\xff" * 4096,
    "a length of 4 GiB": frame(RANK_HELLO, b"{}", length=0xFFFFFFFF),
    "cut in the middle": frame(RANK_HELLO, b"{}", length=1000),
    "no frame at all": b"",
    "an unknown type": frame(200, {}),
    "a frame of train's own": frame(21, b"3\x000\x00\x00sh\x00-c\x00touch /tmp/FORGED\x00"),
    "an end of a rank that did not begin": frame(23, {"outcome": {"kind": "exited"}}),
    "a rank that is an array": frame(RANK_HELLO, b"[0]"),
    "a rank below 0": frame(RANK_HELLO, {"rank": -1, "local_rank": 0, "pid": 1}),
    "a rank of 2^32": frame(RANK_HELLO, {"rank": 2**32, "local_rank": 0, "pid": 1}),
    "a rank beyond 64 bits": frame(RANK_HELLO, b'{"rank": 99999999999999999999}'),
    "a rank that is already running": frame(RANK_HELLO, {"rank": 0, "local_rank": 0, "pid": 1}),
    "JSON nested deep": frame(RANK_HELLO, b'{"rank":' * 100_000),
    "JSON that is no UTF-8": frame(RANK_HELLO, b'{"rank": "\xff\xfe"}'),
    "an agent without descriptors": frame(AGENT, {"host": "algo-2", "text": "orted"}),
    "an agent whose host is a number": frame(AGENT, {"host": 2, "text": []}),
    "a call while a launch runs": frame(CALL, b"x\0y\x001\0algo-1\x000\0"),
    "a call of no kind": frame(CALL, b"\0\0\0\0\0\0"),
    "a call with a list of 2^63": frame(CALL, b"x\0y\x009223372036854775807\0"),
}


@pytest.fixture(scope="module")
def knocked(machine):
    """A rank that knocks at its host's socket with all of them; then the job ends well."""
    script = f"""
import os, socket, subprocess
from mpi4py import MPI
rank = MPI.COMM_WORLD.Get_rank()
if rank == 1:
    for name, attack in {SOCKET_ATTACKS!r}.items():
        with socket.socket(socket.AF_UNIX) as peer:
            peer.settimeout(20)
            peer.connect(os.environ["MUSTER_SOCKET"])
            got = b""
            try:
                peer.sendall(attack)
                peer.shutdown(socket.SHUT_WR)
                while piece := peer.recv(65536):
                    got += piece
            except (BrokenPipeError, ConnectionResetError):
                pass
            print("KNOCKED", [name, got.decode(errors="replace")], flush=True)
    for i in range(300):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(os.environ["MUSTER_SOCKET"])
            peer.send(b"\\xff" * 64)
if rank == 1:
    call = subprocess.run(["sm", "run", "--", "touch", "/tmp/FORGED"], capture_output=True)
    print("CALLED", call.returncode, call.stderr.decode(), flush=True)
assert not os.path.exists("/tmp/FORGED")
MPI.COMM_WORLD.Barrier()
print("alive", rank, flush=True)
"""
    words = ["--json", "--mpi"]
    return Told(machine.fit(script, *words, per_host=2, output=machine.folder / "knocked"))


def test_a_job_whose_rank_attacks_the_host_socket_goes_on(knocked):
    assert knocked.code == 0 and knocked.statuses() == WHOLE, knocked.story
    texts = {each["text"] for each in knocked.of("line")}
    assert {"alive 0", "alive 1"} <= texts


@pytest.mark.parametrize("name", SOCKET_ATTACKS)
def test_an_invalid_frame_at_the_host_socket_is_refused(knocked, name):
    answers = dict(
        eval(each["text"].removeprefix("KNOCKED "))  # noqa: S307: our own script's list.
        for each in knocked.of("line") if each["text"].startswith("KNOCKED ")
    )
    answer = answers[name]
    assert not answer or answer[4] == "\x1b", answer  # 27: failed, with its reason.
    assert "\x15" not in answer[4:5], "no command is handed out"


def test_a_rank_makes_no_call_of_its_own_while_a_launch_runs(knocked):
    (called,) = [each["text"] for each in knocked.of("line") if each["text"].startswith("CALLED")]
    assert not called.startswith("CALLED 0"), called


# The machine's side.

WAITS = "import signal\nprint('waits', flush=True)\nsignal.pause()\n"
SECRETS = ("key", "MUSTER_JOB_KEY")


@pytest.fixture
def waiting(machine):
    """A job that runs until the test ends."""
    made = []

    def start(name: str, script: str = WAITS, *words):
        process = machine.fit(script, "--name", name, *words, output=machine.folder / name)
        made.append(process)
        process.wait_for_output(b"waits", GUARD_SECONDS)
        return process

    yield start
    for process in made:
        process.signal(2)
        process.wait(GUARD_SECONDS)


def test_no_socket_of_a_steward_is_within_a_hosts_reach(machine, waiting):
    look = """
import os, stat
found = []
for top, folders, files in os.walk("/", followlinks=False):
    if top.startswith(("/proc", "/sys")):
        folders[:] = []
        continue
    for name in files:
        path = os.path.join(top, name)
        try:
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                found.append(path)
        except OSError:
            pass
print("SOCKETS", [path for path in found if "control" in path or "MUSTERSTATE" in path])
""".replace("MUSTERSTATE", str(machine.state))
    process = waiting("sockets", look + WAITS)
    assert (machine.state / "jobs/sockets/algo-1/control.sock").is_socket()
    assert b"SOCKETS []" in process.out, process.text


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
def test_no_file_of_a_job_is_anybodys_under_any_umask(tmp_path, mask):
    machine = Machine(tmp_path)
    before = os.umask(mask)
    try:
        process = machine.fit(WAITS, "--name", "masked")
    finally:
        os.umask(before)
    try:
        process.wait_for_output(b"waits", GUARD_SECONDS)
        job = machine.state / "jobs/masked"
        assert (job / "key").stat().st_mode & 0o177 == 0
        folders = [machine.state / "jobs", job, job / "algo-1"]  # No other user can enter these.
        files = [path for path in [*job.iterdir(), *(job / "algo-1").iterdir()]
                 if not path.is_dir()]
        assert {"key", "journal", "spec.json", "control.sock"} <= {path.name for path in files}
        for path in [*folders, *files]:
            assert path.lstat().st_mode & 0o077 == 0, f"{path}: {path.lstat().st_mode:o}"
    finally:
        process.signal(2)
        process.wait(GUARD_SECONDS)
        machine.close()


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
def test_no_file_of_a_server_is_anybodys_under_any_umask(tmp_path, mask):
    server = SmServer(tmp_path)
    before = os.umask(mask)
    try:
        server.start()
    finally:
        os.umask(before)
    try:
        assert server.data.stat().st_mode & 0o077 == 0
        for path in server.data.iterdir():
            assert path.lstat().st_mode & 0o077 == 0, f"{path}: {path.lstat().st_mode:o}"
    finally:
        server.kill()


def journal_of(records: list[tuple[int, dict]]) -> bytes:
    """A journal with these records, its checksums right."""
    out = b""
    for number, (kind, payload) in enumerate(records, 1):
        body = struct.pack("<QqB", number, 1_700_000_000_000, kind) + json.dumps(payload).encode()
        out += struct.pack("<II", len(body), crc32c(body)) + body
    return out


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 if crc & 1 else crc >> 1
    return crc ^ 0xFFFFFFFF


DAMAGE = {
    "a length of 4 GiB": struct.pack("<II", 0xFFFFFFFF, 0),
    "a length of 0": struct.pack("<II", 0, 0) + b"\0" * 64,
    "a length below a record's head": struct.pack("<II", 16, 0) + b"\0" * 64,
    "a wrong checksum": struct.pack("<II", 20, 7) + b"x" * 20,
    "a gap in the numbers": journal_of([(LOG, {"level": "info", "text": "x"})] * 3)[-60:],
    "text": b"not a journal at all, but somebody's letter\n" * 10,
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_journal_ends_its_job_in_one_clear_line(machine, name):
    job_name = "damaged-" + re.sub(r"\W+", "-", name)
    process = machine.fit(WAITS, "--name", job_name, output=machine.folder / job_name)
    process.wait_for_output(b"waits", GUARD_SECONDS)
    with open(machine.state / "jobs" / job_name / "algo-1/journal", "ab") as journal:
        journal.write(DAMAGE[name])
    assert process.wait(GUARD_SECONDS) == 1, process.text
    said = [line for line in process.err.decode().splitlines() if line.startswith("Failed: ")]
    assert len(said) == 1 and "journal at byte " in said[0], process.text


# Secrets.

def processes_that_show(secrets: list[bytes]) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = pathlib.Path("/proc", pid, "cmdline").read_bytes()
        except OSError:
            continue
        if any(secret in words for secret in secrets):
            found.append(words.decode(errors="replace"))
    return found


def data_of(path: pathlib.Path) -> bytes:
    """Without holes: a host's disk is a sparse file of many GiB."""
    with open(path, "rb", buffering=0) as file:
        end = os.fstat(file.fileno()).st_size
        parts, at = [], 0
        while at < end:
            try:
                at = os.lseek(file.fileno(), at, os.SEEK_DATA)
            except OSError:  # A hole up to the end.
                break
            hole = os.lseek(file.fileno(), at, os.SEEK_HOLE)
            parts.append(os.pread(file.fileno(), hole - at, at))
            at = hole
        return b"".join(parts)


def files_that_show(folder: pathlib.Path, secrets: list[bytes], private: tuple[str, ...]):
    """Files below, but those made to hold a secret, with one in them: their paths and modes."""
    found = []
    for top, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in ("root", "layers")]
        for name in files:
            path = pathlib.Path(top, name)
            if not path.is_file() or path.is_symlink() or name in private:
                continue
            data = data_of(path)
            if any(secret in data for secret in secrets):
                found.append(f"{path} {path.stat().st_mode:o}")
    return found


def test_a_jobs_key_shows_nowhere_while_it_runs(machine, waiting):
    process = waiting("secret", "import os\nprint(sorted(os.environ))\n" + WAITS, "--verbose")
    key = (machine.state / "jobs/secret/key").read_text().strip().encode()
    assert re.fullmatch(rb"[0-9a-f]{64}", key)
    secrets = [key, bytes.fromhex(key.decode())]
    assert processes_that_show(secrets) == []
    assert files_that_show(machine.state, secrets, ("key", "job.key")) == []
    assert key not in process.out + process.err and b"MUSTER_JOB_KEY" not in process.out
    (pid,) = in_host("algo-1", lambda words: "python" in words[0] and "script.py" in words[1])
    assert key not in pathlib.Path(f"/proc/{pid}/environ").read_bytes()


def test_an_access_keys_secret_shows_nowhere_while_a_job_runs(tmp_path):
    with SmServer(tmp_path) as server:
        (tmp_path / "wait.py").write_text(WAITS)
        words = [SM, "submit", "wait.py", "--name", "secret"]
        subprocess.run(words, env=server.env(), cwd=tmp_path, check=True, timeout=GUARD_SECONDS)
        journal = server.data / "machine/jobs/secret/algo-1/journal"
        wait_until("the job", lambda: journal.exists() and b"waits" in journal.read_bytes(),
                   GUARD_SECONDS)
        own = server.keys["AWS_SECRET_ACCESS_KEY"].encode()
        jobs = [re.search(r"aws_secret_access_key *= *(\S+)", path.read_text())[1].encode()
                for path in server.data.rglob("*")
                if path.is_file() and path.stat().st_size < 4096
                and "aws_secret_access_key" in path.read_text(errors="replace")]
        assert jobs and own not in jobs, "jobs have keys of their own"
        secrets = [own, *jobs]
        assert processes_that_show(secrets) == []
        shown = files_that_show(server.data, secrets, ())
        assert all(line.endswith(" 100600") for line in shown), shown
        assert not [line for line in shown if "journal" in line or ".log" in line], shown
        server.client("sagemaker").stop_training_job(TrainingJobName="secret")


def test_a_first_start_prints_lines_that_a_shell_reads(tmp_path):
    """An interface: people and scripts copy these lines as they are."""
    with SmServer(tmp_path) as server:
        exports = [line for line in server.output.splitlines() if line.startswith("export ")]
        forms = [
            r"export AWS_ACCESS_KEY_ID=[A-Z0-9]{20}",
            r"export AWS_SECRET_ACCESS_KEY=[A-Za-z0-9+/]{40}",
            rf"export AWS_ENDPOINT_URL={re.escape(server.url)}",
            r"export AWS_DEFAULT_REGION=[a-z]+-[a-z]+-[0-9]",
        ]
        for form in forms:
            assert len([line for line in exports if re.fullmatch(form, line)]) == 1, server.output
        server.stop()
        server.start()
        assert "export " not in server.output, "a secret is shown once"
