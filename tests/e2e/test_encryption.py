"""What a job's hosts send each other, seen by whoever stands between them: on the router or bridge
of the job every frame is read while hosts send a pattern by TCP, UDP and MPI."""

import base64
import copy
import hashlib
import hmac
import json
import os
import pathlib
import signal
import sys

import pytest
from botocore.exceptions import ClientError

from fit import GUARD_SECONDS
from lab import VENV
from outside import Outside
from process import Process, wait_until
from sm_server import SmServer
from test_server_jobs import BUCKET, Job
from test_vpc import HOST, NETWORKS, Placed, rule

PATTERN = "a-pattern-that-nobody-else-may-read"
CLEAR = "a-pattern-sent-beside-the-tunnel"

# Reads all frames of a network namespace: how many hold each pattern, and what passed to hosts.
SNIFFER = """
import collections, json, select, signal, socket, struct, sys
patterns = [each.encode() for each in sys.argv[1:]]
tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
tap.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE
end, alarm = socket.socketpair()
end.setblocking(False)
alarm.setblocking(False)
signal.signal(signal.SIGTERM, lambda *_: None)
signal.set_wakeup_fd(end.fileno())
seen, passed = collections.Counter(), collections.Counter()
print("ready", flush=True)
while alarm not in select.select([tap, alarm], [], [])[0]:
    frame, (name, kind, way, *_) = tap.recvfrom(1 << 17)
    out = way == 4  # PACKET_OUTGOING
    for pattern in patterns:
        if pattern in frame:
            seen[pattern.decode() + (" out" if out else " in")] += 1
    if kind != 0x0800 or not out or not name.startswith("mu"):
        continue
    header = 14 + 4 * (frame[14] & 15)
    source, target = (socket.inet_ntoa(frame[at:at + 4]) for at in (26, 30))
    ports = struct.unpack(">HH", frame[header:header + 4])
    passed[f"{source} {target} {frame[23]} {ports[0]} {ports[1]}"] += 1
print("seen", json.dumps([seen, passed]), flush=True)
"""

# Each host sends the pattern to all others by TCP and UDP, then all by MPI; and, where there is a
# cable beside the tunnel, another one by that.
SENDER = """
import errno, os, socket, threading, time
from mpi4py import MPI
world = MPI.COMM_WORLD
pattern, clear = os.environ["PATTERN"].encode(), os.environ["CLEAR"].encode()
own = os.environ["SM_CURRENT_HOST"]
others = [name for name in eval(os.environ["SM_HOSTS"]) if name != own]
server = socket.create_server(("", 8000))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", 8001))
got = []
def take():
    while True:
        peer, _ = server.accept()
        got.append(peer.recv(1000))
def hear():
    while True:
        got.append(udp.recv(1000))
for each in (take, hear):
    threading.Thread(target=each, daemon=True).start()
print(own, "is", socket.gethostbyname(own), flush=True)
world.Barrier()
while not os.path.exists("/go/now"):
    time.sleep(0.05)
for name in others:
    with socket.create_connection((name, 8000)) as peer:
        peer.sendall(pattern)
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(pattern, (name, 8001))
assert world.bcast(pattern * 10 if world.rank == 0 else None) == pattern * 10
words = world.allgather(pattern)
assert words == [pattern] * world.size
while got.count(pattern) < 2 * len(others):
    time.sleep(0.01)
print(own, "got all, by eth0 as", os.environ["SM_NETWORK_INTERFACE_NAME"], flush=True)
def beside(kind, port, source=0):
    with socket.socket(socket.AF_INET, kind) as one:
        one.setsockopt(socket.SOL_SOCKET, 25, b"plain0")  # SO_BINDTODEVICE
        one.settimeout(2)
        one.bind(("", source))
        one.connect((others[0], port))
        one.send(clear)
def attempt(name, *words):
    try:
        beside(*words)
        print(own, name, "left", flush=True)
    except OSError as error:
        print(own, name, errno.errorcode.get(error.errno, type(error).__name__), flush=True)
if "plain0" in [name for _, name in socket.if_nameindex()]:
    attempt("TCP", socket.SOCK_STREAM, 8000)
    attempt("UDP", socket.SOCK_DGRAM, 8001)
    attempt("port", socket.SOCK_DGRAM, 500)
    attempt("tunnel", socket.SOCK_DGRAM, 500, 500)
world.Barrier()
time.sleep(0.2)
assert clear not in got
while not os.path.exists("/go/end"):
    time.sleep(0.05)
"""


class Watched:
    """A job that sends when it is told to, with a sniffer between its hosts."""

    def __init__(self, machine, hosts: int, *words):
        self.machine = machine
        self.go = machine.source.parent / "go"
        self.go.mkdir()
        self.process = machine.fit(
            SENDER, "--mpi", "--bind", f"{self.go}:/go", "--name", "job",
            "--env", f"PATTERN={PATTERN}", "--env", f"CLEAR={CLEAR}", *words, hosts=hosts,
        )  # fmt: skip
        self.hosts = hosts
        self.folder = machine.state / "jobs" / "job"
        self._wait(" is 10.")
        paths = (self.folder / "network").read_text().split()
        argv = ["nsenter", f"--net={paths[0]}", sys.executable, "-c", SNIFFER, PATTERN, CLEAR]
        self.sniffer = Process(argv)
        self.sniffer.wait_for_output(b"ready")

    def _wait(self, text: str) -> None:
        def said():
            assert self.process.ended_at is None, self.process.text
            return self.process.text.count(text) == self.hosts

        wait_until(f"{text!r} of all hosts", said, GUARD_SECONDS)

    def send(self) -> tuple[dict, dict]:
        """How often each pattern was seen, and what passed from host to host."""
        (self.go / "now").touch()
        self._wait("got all, by eth0 as eth0")

    def end(self) -> tuple[dict, dict]:
        (self.go / "end").touch()
        assert self.process.wait(GUARD_SECONDS) == 0, self.process.text
        self.sniffer.signal(signal.SIGTERM)
        assert self.sniffer.wait(GUARD_SECONDS) == 0, self.sniffer.text
        return json.loads(self.sniffer.text.split("seen ", 1)[1])


def between_hosts(passed: dict) -> set[tuple[str, ...]]:
    """Protocol and ports of what passed to and from hosts.

    The router's kernel says of each new interface which groups it is in: IGMP from no address.
    """
    flows = [flow.split() for flow in passed]
    reports = ["0.0.0.0", "224.0.0.22", "2"]
    return {tuple(flow[2:]) for flow in flows if flow[0] != flow[1] and flow[:3] != reports}


def tunnels() -> set[int]:
    """Processes of wireguard-go."""
    found = set()
    for path in pathlib.Path("/proc").glob("[0-9]*/comm"):
        try:
            if path.read_text() == "wireguard-go\n":
                found.add(int(path.parent.name))
        except OSError:
            continue
    return found


def state_of_machine() -> list:
    folders = ("/sys/class/net", "/run/wireguard", "/var/run/wireguard")
    return [sorted(os.listdir(each)) if os.path.isdir(each) else None for each in folders]


def private_keys(job_key: bytes, hosts: int) -> list[bytes]:
    """As the hosts derive them: RFC 5869 and 7748."""
    keys = []
    for number in range(1, hosts + 1):
        label = f"muster wireguard 1 private key of algo-{number}".encode()
        first = hmac.new(bytes(32), job_key, hashlib.sha256).digest()
        key = bytearray(hmac.new(first, label + b"\1", hashlib.sha256).digest())
        key[0] &= 248
        key[31] = (key[31] & 127) | 64
        keys.append(bytes(key))
    return keys


def secret_places(job_folder: pathlib.Path, keys: list[bytes]) -> list[str]:
    """Files and processes that show a private key in any form."""
    forms = [form for key in keys for form in (key, key.hex().encode(), base64.b64encode(key)[:40])]
    # Without the last bytes: clamped or not.
    paths = [path for path in job_folder.rglob("*") if path.is_file() and not path.is_symlink()]
    paths = [path for path in paths if "/disk/layers/root/top/" not in str(path)]
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        paths += [process / "cmdline", process / "environ"]
    found = []
    for path in paths:
        try:
            data = path.read_bytes() if path.stat().st_size < 1 << 20 else b""
        except OSError:
            continue
        found += [str(path) for form in forms if form in data]
    return found


def test_without_encryption_the_pattern_is_seen(machine):
    job = Watched(machine, 2)
    job.send()
    seen, passed = job.end()
    assert seen[f"{PATTERN} in"] > 4
    assert "encrypted" not in job.process.text


@pytest.mark.parametrize("hosts", [2, 3])
def test_with_encryption_only_the_tunnel_passes(machine, hosts):
    before, others = state_of_machine(), tunnels()
    job = Watched(machine, hosts, "--encrypt", "--verbose")
    text = "traffic between hosts: encrypted by WireGuard (wireguard-go)"
    assert job.process.text.count(text) == 1
    own = tunnels() - others
    assert len(own) == hosts
    job.send()
    key = bytes.fromhex((job.folder / "key").read_text())
    assert secret_places(job.folder, private_keys(key, hosts)) == []
    seen, passed = job.end()
    said = job.process.text
    for number in range(1, hosts + 1):
        for name in ("TCP", "port", "tunnel"):  # UDP leaves, and gets nowhere.
            assert f"algo-{number} {name} " in said, said
        assert f"algo-{number} TCP left" not in said
        assert f"algo-{number} tunnel EADDRINUSE" in said or f"algo-{number} tunnel EACCES" in said
    assert not [name for name in seen if name.startswith(PATTERN)], seen
    assert f"{CLEAR} out" not in seen, seen
    assert between_hosts(passed) == {("17", "500", "500")}, passed
    assert not own & tunnels()
    wait_until("the machine to be as before", lambda: state_of_machine() == before)


def test_one_host_has_nobody_to_send_to_and_says_so(machine):
    process = machine.fit("print('it ran')", "--encrypt", "--verbose")
    assert process.wait(GUARD_SECONDS) == 0, process.text
    assert "traffic between hosts: nothing to encrypt, the job has one host" in process.text


def test_a_tunnel_that_ends_ends_the_job_and_its_steward_s_end_ends_it(machine):
    before, others = state_of_machine(), tunnels()
    job = Watched(machine, 2, "--encrypt")
    first, second = sorted(tunnels() - others)
    os.kill(first, signal.SIGKILL)
    assert job.process.wait(GUARD_SECONDS) != 0
    assert "the tunnel between the hosts broke: wireguard-go" in job.process.text
    job.sniffer.end()
    assert not {first, second} & tunnels()
    machine.clean()
    wait_until("the machine to be as before", lambda: state_of_machine() == before)


def test_killed_stewards_take_their_tunnels_along(machine):
    others = tunnels()
    job = Watched(machine, 2, "--encrypt")
    own = tunnels() - others
    for path in job.folder.glob("algo-*/steward.pid"):
        os.kill(int(path.read_text().split()[0]), signal.SIGKILL)
    wait_until("the tunnels to end", lambda: not own & tunnels())
    assert job.process.wait(GUARD_SECONDS) != 0
    job.sniffer.end()
    machine.clean()


def test_without_a_cipher_the_job_is_refused_in_one_line(machine, folder):
    outside = Outside(folder)
    try:
        machine.within = outside.inside
        outside.inside.run("mount", "--bind", "/dev/null", "/usr/bin/wireguard-go")
        process = machine.fit("print('it ran')", "--encrypt", hosts=2)
        assert process.wait(GUARD_SECONDS) != 0
        assert "it ran" not in process.text
        assert "traffic between hosts cannot be encrypted here: " in process.text
        assert "wireguard-go is not installed (Debian: wireguard-go)" in process.text
    finally:
        outside.close()


class Encrypted(Placed):
    """A job in a VPC whose hosts' traffic is encrypted."""

    def __init__(self, server, hosts: int, subnets: list[str], group: str):
        where = {"Subnets": subnets, "SecurityGroupIds": [group]}
        Job.__init__(self, server, HOST, hosts, VpcConfig=where,
                     EnableInterContainerTrafficEncryption=True)  # fmt: skip
        self.hosts = hosts


def test_in_a_vpc_groups_hold_inside_of_the_tunnel(tmp_path):
    networks = copy.deepcopy(NETWORKS)
    narrow = next(each for each in networks["SecurityGroups"] if each["GroupId"] == "sg-narrow")
    cipher = {**copy.deepcopy(narrow), "GroupId": "sg-cipher"}
    for rules in (cipher["IpPermissions"], cipher["IpPermissionsEgress"]):
        for each in rules:
            for pair in each["UserIdGroupPairs"]:
                pair["GroupId"] = "sg-cipher"
        rules += [rule("udp", 500, 500, group="sg-cipher"), rule("50", group="sg-cipher")]
    networks["SecurityGroups"].append(cipher)
    config = {"python": str(VENV / "bin" / "python"), "capacity": {"hosts": 4}}
    with SmServer(tmp_path, jobs=config, config={"networks": networks}) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        subnets = ["subnet-1", "subnet-2"]
        with pytest.raises(ClientError, match="sg-narrow forbids udp 500 between its hosts, which"):
            Encrypted(server, 2, subnets, "sg-narrow")
        job = Encrypted(server, 2, subnets, "sg-cipher")
        job.wait("ready")
        job.do(1, flows=[("10.0.2.4", flow) for flow in ("tcp 8000", "tcp 8002", "udp 9001")])
        job.do(2, flows=[("10.0.1.4", flow) for flow in ("tcp 8001", "udp 9000", "tcp 7999")])
        job.wait("done")
        passes = {(each["host"], each["flow"]): each["passes"]
                  for each in job.told() if "flow" in each}  # fmt: skip
        assert passes == {
            ("algo-1", "tcp 8000"): True,
            ("algo-1", "tcp 8002"): False,
            ("algo-1", "udp 9001"): False,
            ("algo-2", "tcp 8001"): True,
            ("algo-2", "udp 9000"): False,  # By CIDR: from subnet-1 alone.
            ("algo-2", "tcp 7999"): False,
        }
        assert job.describe()["EnableInterContainerTrafficEncryption"] is True
        assert "traffic between hosts: encrypted by WireGuard (wireguard-go)" in job.text()
        job.stop()
