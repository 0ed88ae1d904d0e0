"""Attacks from the network: by strangers who reach the port of the server, or of a job's roll call,
without a key. Each attack must end the attacker's connection and affect no other client."""

import contextlib
import json
import re
import resource
import socket
import subprocess

import pytest

from lab import SM, VENV
from process import wait_until
from raw_http import ANSWER_SECONDS, Keys, Request, Scope, head_of, read_answer, signed
from sm_server import SmServer
from test_server_jobs import BUCKET, Job
from training import GUARD_SECONDS

OPEN_FILES = 1024  # The server's, as most systems have it; hard, so that it cannot raise it.
CROWD = 1500
UNKNOWN = Keys("AKIAUNKNOWNUNKNOWN00", "no-secret-of-anybody")
FOREVER = "import signal; print('it runs', flush=True); signal.pause()"
TRAIN = """
import os
with open(os.path.join(os.environ["SM_CHANNEL_TRAIN"], "a.txt")) as file:
    print("it read", file.read(), flush=True)
with open(os.path.join(os.environ["SM_MODEL_DIR"], "weights"), "w") as file:
    file.write("w")
"""


@pytest.fixture(scope="module", autouse=True)
def many_sockets():
    """A stranger's own machine has no small limits."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    config = {"python": str(VENV / "bin" / "python")}
    limits = (OPEN_FILES, OPEN_FILES)
    with SmServer(tmp_path_factory.mktemp("server"), jobs=config, open_files=limits) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a.txt")
        yield server


def host_of(server: SmServer) -> str:
    return f"127.0.0.1:{server.port}"


def keys_of(server: SmServer) -> Keys:
    return Keys(server.keys["AWS_ACCESS_KEY_ID"], server.keys["AWS_SECRET_ACCESS_KEY"])


def new_key(server: SmServer) -> Keys:
    made = subprocess.run([SM, "key", "create", "--json", "--data", server.data], check=True,
                          capture_output=True, env=server.env(), timeout=GUARD_SECONDS)  # fmt: skip
    key = json.loads(made.stdout)
    return Keys(key["AccessKeyId"], key["SecretAccessKey"])


class Crowd:
    """Connections of strangers, each with `opening` sent, from `addresses` of 127.0.0.0/8."""

    def __init__(self, port: int, opening: bytes, addresses: int = 1):
        self.port = port
        self.opening = opening
        self.addresses = addresses
        self.sockets: list[socket.socket] = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in self.sockets:
            each.close()

    def grow(self, count: int):
        for number in range(count):
            source = number % self.addresses
            address = "127.0.0.1" if self.addresses == 1 else f"127.7.{source >> 8}.{source & 255}"
            one = socket.create_connection(("127.0.0.1", self.port), ANSWER_SECONDS, (address, 0))
            self.sockets.append(one)
            with contextlib.suppress(ConnectionError):
                one.sendall(self.opening)
        return self


def works(server: SmServer, text: str) -> None:
    """What a client does, by fresh connections of one of its own, without any patience."""
    s3 = server.client("s3", connect_timeout=10, read_timeout=10)
    s3.put_object(Bucket=BUCKET, Key="mine", Body=text.encode())
    assert s3.get_object(Bucket=BUCKET, Key="mine")["Body"].read() == text.encode()
    jobs = server.client("sagemaker", connect_timeout=10, read_timeout=10).list_training_jobs()
    assert jobs["ResponseMetadata"]["HTTPStatusCode"] == 200


def body_of(server: SmServer, keys: Keys, time: str = "") -> bytes:
    """A PUT's head, and the first byte of a body that does not come."""
    request = Request("PUT", f"/{BUCKET}/never", {"Content-Length": "100000"})
    scope = Scope("s3", time=time)
    return head_of(signed(request, keys, scope, host_of(server), "UNSIGNED-PAYLOAD")) + b"x"


TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + b"\x5a" * 64
CROWDS = {
    "saying nothing": b"",
    "with half a request line": b"GET /jobs/tr",
    "with a head that has no end": b"GET / HTTP/1.1\r\nHost: a\r\nX-More: ",
    "with an unsigned body that does not come": (
        b"POST / HTTP/1.1\r\nHost: a\r\nX-Amz-Target: SageMaker.ListTrainingJobs\r\n"
        b"Content-Type: application/x-amz-json-1.1\r\nContent-Length: 4000000\r\n\r\n{"
    ),
    "that were answered no and stay": b"GET /jobs HTTP/1.1\r\nHost: a\r\n\r\n",
    "with a TLS hello to a port without TLS": TLS_HELLO,
}


@pytest.mark.parametrize("addresses", [1, 250], ids=["one address", "250 addresses"])
@pytest.mark.parametrize("opening", CROWDS.values(), ids=CROWDS.keys())
def test_a_crowd_keeps_no_client_out(server, opening, addresses):
    with Crowd(server.port, opening, addresses) as crowd:
        crowd.grow(CROWD)
        works(server, "while they are there")
        crowd.grow(100)
        works(server, "and more come")


@pytest.mark.parametrize("key", ["an unknown key", "an old date"])
def test_a_crowd_with_bodies_under_bad_signatures_keeps_no_client_out(server, key):
    opening = body_of(server, UNKNOWN) if key == "an unknown key" else body_of(
        server, keys_of(server), "20150830T123600Z"
    )  # fmt: skip
    with Crowd(server.port, opening) as crowd:
        crowd.grow(CROWD)
        works(server, "while they are there")
    names = server.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"]
    assert "never" not in {each["Key"] for each in names}


def test_a_crowd_fails_no_job(server):
    """A job starts, reads its channel, ends and leaves its model, all while they sit there."""
    with Crowd(server.port, b"", addresses=250) as crowd:
        crowd.grow(CROWD)
        job = Job(server, TRAIN)
        crowd.grow(CROWD)
        told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    assert told["ModelArtifacts"]["S3ModelArtifacts"].endswith("model.tar.gz")
    assert "it read a.txt" in str(job.log())


CROWD_INSIDE = """
import os, signal, socket, urllib.parse
url = urllib.parse.urlsplit(os.environ["AWS_ENDPOINT_URL"])
held = [socket.create_connection((url.hostname, url.port)) for _ in range(250)]
print("it holds", len(held), flush=True)
signal.pause()
"""


def test_a_job_that_holds_connections_without_a_word_fails_no_other(server):
    """By the relay of its host, which the server knows from others by its address."""
    hostile = Job(server, CROWD_INSIDE, hosts=2)
    try:
        wait_until("its connections", lambda: str(hostile.log()).count("it holds 250") == 2)
        works(server, "while they are there")
        assert Job(server, TRAIN).at_end()["TrainingJobStatus"] == "Completed"
    finally:
        hostile.api.stop_training_job(TrainingJobName=hostile.name)
    assert hostile.at_end()["TrainingJobStatus"] == "Stopped"


def test_a_client_keeps_its_connection_while_a_crowd_comes_and_goes(server):
    """A connection that was authenticated once is kept while it is idle."""
    request = signed(Request("GET", f"/{BUCKET}/train/a.txt"), keys_of(server), "s3",
                     host_of(server))  # fmt: skip
    with socket.create_connection(("127.0.0.1", server.port), ANSWER_SECONDS) as own:
        own.sendall(head_of(request))
        assert read_answer(own, "GET").body == b"a.txt"
        with Crowd(server.port, b"") as crowd:
            crowd.grow(CROWD)
            own.sendall(head_of(request))
            assert read_answer(own, "GET").body == b"a.txt"


def test_the_server_opens_as_many_files_as_it_may_and_its_children_as_before(tmp_path):
    limits = (512, 4096)
    config = {"python": str(VENV / "bin" / "python")}
    with SmServer(tmp_path, jobs=config, open_files=limits) as server:
        assert resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE) == (4096, 4096)
        server.client("s3").create_bucket(Bucket=BUCKET)
        server.client("s3").put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        job = Job(server, FOREVER)
        job.in_status("Training")
        (pid_file,) = server.data.glob("machine/jobs/*/algo-1/steward.pid")
        steward = int(pid_file.read_text().split()[0])
        assert resource.prlimit(steward, resource.RLIMIT_NOFILE) == limits
        job.api.stop_training_job(TrainingJobName=job.name)
        assert job.at_end()["TrainingJobStatus"] == "Stopped"


# --- unsigned bodies ---

BODY = 3_900_000
LISTING = {"X-Amz-Target": "SageMaker.ListTrainingJobs",
           "Content-Type": "application/x-amz-json-1.1"}  # fmt: skip
HELD_KIB = 192 << 10  # The server's 64 MiB, twice for a text that grows, and what is in buffers.


def listing_of(server: SmServer, keys: Keys, time: str = "") -> bytes:
    """A head whose signature, if its key is known, only the body can belie."""
    request = Request("POST", "/", {**LISTING, "Content-Length": str(BODY + 1)})
    return head_of(signed(request, keys, Scope("sagemaker", time=time), host_of(server)))


def unsigned(method: str, more: str) -> bytes:
    return f"{method} /{BUCKET}/never HTTP/1.1\r\nHost: localhost\r\n{more}\r\n".encode()


@pytest.mark.parametrize("who", ["an unknown key", "an old date", "a known key"])
def test_bodies_of_strangers_take_no_more_than_their_share_of_memory(server, who):
    """No body ends, so no signature can be verified; a key's id is not secret."""
    keys = UNKNOWN if who == "an unknown key" else Keys(keys_of(server).identity, "guessed")
    opening = listing_of(server, keys, "20150830T123600Z" if who == "an old date" else "")
    before = server.resident_kib()
    with Crowd(server.port, opening + b"x" * BODY, addresses=100) as crowd:
        crowd.grow(100)
        works(server, "while they are there")
        grown = server.resident_kib() - before
    assert grown < HELD_KIB, grown


REFUSED_EARLY = {
    "without a key": unsigned("PUT", "Content-Length: 1099511627776\r\n"),
    "waiting for leave": unsigned(
        "PUT", "Content-Length: 1099511627776\r\nExpect: 100-continue\r\n"
    ),
    "in chunks": unsigned("PUT", "Transfer-Encoding: chunked\r\n"),
    "to become another protocol": unsigned(
        "PUT", "Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"
        "Content-Length: 1000000\r\n"
    ),
}  # fmt: skip


def files_of(server: SmServer) -> int:
    """Blocks of all files in the server's buckets: room that is kept counts, too."""
    return sum(path.stat().st_blocks for path in (server.data / "s3").rglob("*") if path.is_file())


def answered(server: SmServer, head: bytes) -> bytes:
    """All that comes: the body is not sent, but what looks like a request of its own."""
    with socket.create_connection(("127.0.0.1", server.port), ANSWER_SECONDS) as connection:
        connection.sendall(head)
        if b"Expect" not in head:
            connection.sendall(f"GET /{BUCKET}/train/a.txt HTTP/1.1\r\nHost: a\r\n\r\n".encode())
        connection.shutdown(socket.SHUT_WR)
        came = b""
        while piece := connection.recv(65536):
            came += piece
        return came


@pytest.mark.parametrize("head", REFUSED_EARLY.values(), ids=REFUSED_EARLY.keys())
def test_a_body_is_refused_by_its_head(server, head):
    """One answer, no; nothing asks for the body, takes it for a request or keeps room for it."""
    before = files_of(server)
    came = answered(server, head)
    assert re.findall(rb"HTTP/1\.1 (\d+)", came) == [b"403"], came
    assert files_of(server) == before
    assert "never" not in str(server.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"])


@pytest.mark.parametrize("lie", ["unknown key", "wrong secret", "old date", "other region's day"])
def test_a_tebibyte_under_a_bad_signature_keeps_no_room(server, lie):
    known = keys_of(server)
    keys = {"unknown key": UNKNOWN, "wrong secret": Keys(known.identity, "guessed")}.get(lie, known)
    scope = Scope("s3", time="20150830T123600Z" if lie == "old date" else "",
                  day="20150830" if lie == "other region's day" else "")  # fmt: skip
    request = Request("PUT", f"/{BUCKET}/never",
                      {"Content-Length": str(1 << 40), "Expect": "100-continue"})  # fmt: skip
    before = files_of(server)
    request = signed(request, keys, scope, host_of(server), "UNSIGNED-PAYLOAD")
    came = answered(server, head_of(request))
    assert re.findall(rb"HTTP/1\.1 (\d+)", came) in ([b"403"], [b"400"]), came
    assert files_of(server) == before


def test_bodies_that_are_announced_and_do_not_come_keep_no_room(server):
    """By a known key: 40 PUTs of 256 MiB, of which the first byte came."""
    request = Request("PUT", f"/{BUCKET}/never", {"Content-Length": str(256 << 20)})
    head = head_of(signed(request, keys_of(server), "s3", host_of(server), "UNSIGNED-PAYLOAD"))
    before = files_of(server)
    with Crowd(server.port, head + b"x") as crowd:
        crowd.grow(40)
        works(server, "while they are there")
        assert files_of(server) - before < (64 << 20) // 512
    assert "never" not in str(server.client("s3").list_objects_v2(Bucket=BUCKET)["Contents"])


def test_readers_that_do_not_read_block_no_other_client(server):
    server.client("s3").put_object(Bucket=BUCKET, Key="large", Body=b"x" * (32 << 20))
    request = signed(Request("GET", f"/{BUCKET}/large"), new_key(server), "s3", host_of(server))
    before = server.resident_kib()
    with Crowd(server.port, head_of(request)) as crowd:
        crowd.grow(100)
        works(server, "while they are there")
        assert server.resident_kib() - before < HELD_KIB


# --- what a job's log makes of the server ---

LONG_LINES = """
import os, random
line = "".join(random.Random(1).choice("ab01 .=") for _ in range(60000))
for number in range({rounds}):
    print(line)
    print("loss: %d" % number)
    print("x" * (1 << 20), flush=True)
open(os.path.join(os.environ["SM_MODEL_DIR"], "weights"), "w").close()
"""
LOSSES = {"Name": "loss", "Regex": "loss: ([0-9.]+)"}
SLOW = {"Name": "slow", "Regex": "((a|b)*[ab .=01]{900})q"}  # Seconds for a line, each.


def job_of_long_lines(server: SmServer, rounds: int) -> Job:
    """As many expressions as a job may have, each as slow as can be, and lines to try them on."""
    algorithm = {"TrainingImage": "host", "TrainingInputMode": "File",
                 "MetricDefinitions": [LOSSES] + [SLOW] * 39}  # fmt: skip
    return Job(server, LONG_LINES.format(rounds=rounds), AlgorithmSpecification=algorithm)


HONEST = """
for number in range(500):
    print("loss: %d" % number, flush=True)
"""


def test_slow_expressions_over_long_lines_block_no_other_client(server):
    """Others' metrics are whole meanwhile; how many lines of the hostile job's were left out, the
    server says once."""
    job = job_of_long_lines(server, rounds=30)
    algorithm = {"TrainingImage": "host", "TrainingInputMode": "File",
                 "MetricDefinitions": [LOSSES] * 40}  # fmt: skip
    honest = Job(server, HONEST, AlgorithmSpecification=algorithm)
    while job.describe()["TrainingJobStatus"] == "InProgress":
        works(server, "while its log is read")
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    told = honest.at_end()
    assert told["FinalMetricDataList"][0]["Value"] == 499
    points = honest.points(told, ["SampleCount", "Sum"])
    assert sum(each["SampleCount"] for each in points) == 40 * 500
    assert sum(each["Sum"] for each in points) == 40 * sum(range(500))
    said = server.said(f"{job.name}: ", "lines of its log were not searched for metrics")
    assert len(said.splitlines()) == 1, said


# --- the roll call's port ---

HELLO = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); print('together', flush=True)"
STRANGERS = """
import os, socket
opening = OPENING
held = []
for n in range(600):
    s = socket.create_connection(("algo-1", 9730), 10)
    held.append(s)
    try:
        s.sendall(opening)
    except OSError:
        pass
print("held", flush=True)
try:
    while held[-1].recv(65536):  # Until the leader has had enough of the last one, too.
        pass
except OSError:
    pass
"""
WRONG_KEYS = """
import subprocess
line = ["openssl", "s_client", "-connect", "algo-1:9730", "-tls1_3", "-psk", "00" * 32,
        "-psk_identity", "JOB/algo-2", "-ciphersuites", "TLS_AES_128_GCM_SHA256"]
runs = [subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL) for _ in range(60)]
print("held", flush=True)
for run in runs:
    run.communicate()
"""
ROLL_CALL = {
    "who say nothing": STRANGERS.replace("OPENING", "b''"),
    "who speak HTTP": STRANGERS.replace("OPENING", "b'GET / HTTP/1.0'"),
    "who send half a TLS record": STRANGERS.replace("OPENING", repr(TLS_HELLO)),
    "who send random bytes": STRANGERS.replace("OPENING", "os.urandom(4096)"),
    "who send a frame without a session": STRANGERS.replace(
        "OPENING", "b'\\x02\\0\\0\\0\\x01{}'"
    ),
    "who have another key": WRONG_KEYS,
}


@pytest.mark.parametrize("script", ROLL_CALL.values(), ids=ROLL_CALL.keys())
def test_a_member_joins_beside_hundreds_of_strangers(lab, training, script):
    """From the very host on which a member then starts: its address is theirs."""
    job = training(2, 1, HELLO)
    job.start(job.hosts[0])
    wait_until("the leader's port", lambda: b":9730 " in job.hosts[0].check("ss", "-Hltn"))
    strangers = job.hosts[1].start(["python3", "-c", script])
    strangers.wait_for_output(b"held")
    job.start(job.hosts[1])
    job.succeed()
    assert strangers.wait(GUARD_SECONDS) == 0, strangers.text
    assert [line for lines in job.rank_lines().values() for line in lines].count("together") == 2
