"""What a host of a job tries on its network: IPv6, multicast and broadcast, forged frames. Nothing
of it may reach the machine, another job or what is behind the machine (outside.py)."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest

from fit import GUARD_SECONDS, in_host
from outside import (
    BRIDGE6,
    CLOUD6,
    CONTAINER6,
    OUTSIDE,
    OUTSIDE6,
    SERVICE_PORT,
    UPLINK,
    UPLINK6,
)
from process import Process

# Listens on all that its host has, by both versions of IP; says whom it met.
WAITING = """
import socket, signal, threading
tcp = socket.create_server(("::", 7777), family=socket.AF_INET6, dualstack_ipv6=True)
udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
udp.bind(("::", 7777))
def serve():
    while True:
        print("met", tcp.accept()[1][0], flush=True)
def hear():
    while True:
        print("heard", udp.recvfrom(99), flush=True)
for each in (serve, hear):
    threading.Thread(target=each, daemon=True).start()
print("it waits", flush=True)
signal.pause()
"""

SIXTH = """
import json, os, socket, struct, threading
def tell(*words):
    os.write(1, (" ".join(words) + "\\n").encode())
for line in open("/proc/net/if_inet6"):
    tell("has", line.split()[0], "on", line.split()[5])
def knock(address, kind):
    scope = socket.if_nametoindex("eth0") if address.startswith(("fe80", "ff02")) else 0
    with socket.socket(socket.AF_INET6, kind) as own:
        own.settimeout(4)
        try:
            own.connect((address, 7777, 0, scope))
            own.send(b"x")
            if own.recv(9) == b"here":
                tell("reached", address)
        except OSError:
            pass
threads = [threading.Thread(target=knock, args=(address, kind))
           for address in json.loads(os.environ["TARGETS"])
           for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
def switch_on():
    open("/proc/sys/net/ipv6/conf/eth0/disable_ipv6", "w").write("0")
def set_address():
    import fcntl
    request = socket.inet_pton(socket.AF_INET6, "fe80::2") + struct.pack("Ii", 64, 2)
    fcntl.ioctl(socket.socket(socket.AF_INET6, socket.SOCK_DGRAM), 0x8916, request)
def forge():
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300)
for attempt in (switch_on, set_address, forge):
    try:
        attempt()
        tell("managed to", attempt.__name__)
    except OSError:
        pass
with socket.create_server(("::1", 0), family=socket.AF_INET6) as server:
    socket.create_connection(server.getsockname()[:2], 4)
    tell("its own ::1 works")
"""

# Counts the frames with the mark at all interfaces of its network until it is asked to end.
LISTEN = """
import select, socket, sys
ears = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300)
print("ready", flush=True)
count = 0
while True:
    ready = select.select([ears, 0], [], [])[0]
    if ears in ready:
        frame, (_, _, way, _, _) = ears.recvfrom(65536)
        if b"mu-forged" in frame and way != 4:  # Not what is sent from here.
            count += 1
            if b"mu-forged-last" in frame:
                print("the last one", flush=True)
    elif 0 in ready:
        print("heard", count, flush=True)
        break
"""

# All that root of a host could send if it had raw sockets, in the names of `others`.
FORGE = """
import socket, struct, sys
line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
line.bind(("eth0", 0))
own = line.getsockname()[4]
everybody = b"\\xff" * 6
for address in sys.argv[1:]:
    said = socket.inet_aton(address)
    for operation in (1, 2):
        head = struct.pack(">HHBBH", 1, 0x0800, 6, 4, operation)
        line.send(everybody + own + b"\\x08\\x06" + head + own + said + everybody + said
                  + b"mu-forged")
sixth = socket.inet_pton(socket.AF_INET6, "fe80::1")
nodes = socket.inet_pton(socket.AF_INET6, "ff02::1")
advert = struct.pack(">BBHI", 136, 0, 0, 0x20000000) + sixth + b"\\x02\\x01" + own + b"mu-forged"
head = struct.pack(">IHBB", 6 << 28, len(advert), 58, 255)
line.send(b"\\x33\\x33\\0\\0\\0\\1" + own + b"\\x86\\xdd" + head + sixth + nodes + advert)
line.send(everybody + own + b"\\x81\\0\\0\\1\\x88\\xb5mu-forged")  # With a VLAN's tag.
line.send(b"\\1\\x80\\xc2\\0\\0\\0" + own + b"\\0\\x26\\x42\\x42\\3mu-forged")  # To bridges alone.
said = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
said.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
said.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 9)
for address in ("255.255.255.255", "10.177.0.255", "224.0.0.1", "239.1.1.1"):
    try:
        said.sendto(b"mu-forged", (address, 7777))
    except OSError:
        pass  # There is no way to some of them.
said.sendto(b"routed", ("10.177.1.255", 7777))  # To all of another job: the machine drops that.
line.send(everybody + own + b"\\x88\\xb5mu-forged-last")
"""

KNOCK = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2])), 4) as peer:
    assert peer.recv(9) == b"here"
"""


def start(at, name: str, script: str = WAITING, hosts: int = 1):
    job = at.fit(script, "--name", name, hosts=hosts, output=at.folder / name)
    job.wait_for_output(b"it waits", GUARD_SECONDS)
    return job


def pid_of(job: str, host: str) -> int:
    """The script's process in a job's host."""
    def ours(pid):
        return f"TRAINING_JOB_NAME={job}\0" in pathlib.Path(f"/proc/{pid}/environ").read_text()

    pids = in_host(host, lambda words: "python" in words[0] and words[-1].endswith("script.py"))
    (pid,) = [pid for pid in pids if ours(pid)]
    return pid


def in_network(pid: int, program: str, *words) -> list[str]:
    """With the rights of the machine's root, which no program of a job has."""
    argv = ["nsenter", "-t", pid, "--net", sys.executable, "-c", program, *words]
    return [str(word) for word in argv]


def stop(job) -> None:
    job.signal(signal.SIGINT)
    assert job.wait(GUARD_SECONDS) != 0


class Ears:
    """Who listens to a network."""

    def __init__(self, pid: int):
        self.program = subprocess.Popen(in_network(pid, LISTEN), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)  # fmt: skip
        assert self.program.stdout.readline() == "ready\n"

    def wait_for_the_last(self) -> None:
        assert self.program.stdout.readline() == "the last one\n"

    def heard(self) -> int:
        said, _ = self.program.communicate("", GUARD_SECONDS)
        assert self.program.returncode == 0
        return int(said.split()[-1])


@pytest.mark.parametrize("network", ["nat", "none"])
def test_hosts_have_no_ipv6_but_their_own_loopback(outside, at, network):
    """Though the machine has, and all around it: link-local addresses of the machine, a gateway and
    another job's host, metadata services, IPv4 in IPv6's clothes."""
    for space, address in ((outside.inside, OUTSIDE6), (outside.inside, CLOUD6),
                           (outside.outside, UPLINK6), (outside.inside, CONTAINER6)):  # fmt: skip
        assert space.reaches(address)
    waits = start(at, "waits")
    links = outside.inside.run("ip", "-6", "-br", "addr")
    machine = [word.split("/")[0] for word in links.split() if word.startswith("fe80:")]
    assert machine
    gateway = [line for line in links.splitlines() if line.startswith("mu")]
    assert not gateway, "a gateway has no IPv6"
    targets = [UPLINK6, OUTSIDE6, CLOUD6, BRIDGE6, CONTAINER6, "::1", "ff02::1", "fe80::1",
               *machine, f"::ffff:{UPLINK}", "::ffff:127.0.0.53", "::ffff:10.177.0.1"]  # fmt: skip
    variable = "TARGETS=" + json.dumps(targets)
    scan = at.fit(SIXTH, "--name", "scans", "--network", network, "--env", variable,
                  output=at.folder / "scans")  # fmt: skip
    assert scan.wait(GUARD_SECONDS) == 0, scan.text
    assert "reached" not in scan.text and "managed" not in scan.text, scan.text
    assert re.findall(r"has ([0-9a-f]{32}) on (\w+)", scan.text) == [(f"{1:032x}", "lo")]
    assert "its own ::1 works" in scan.text
    assert "met" not in waits.text and "heard" not in waits.text
    stop(waits)


def test_forged_frames_of_a_host_stay_on_its_jobs_own_segment(outside, at):
    """ARP and NDP in others' names, broadcasts and multicasts: heard by the job's own hosts alone.
    Sent by the machine's root in the host's network: programs of a job have no raw sockets."""
    forger = at.fit(WAITING, "--name", "forger", hosts=2, output=at.folder / "forger")
    forger.wait_for_output(b"algo-1", GUARD_SECONDS)
    other = start(at, "other")
    while forger.text.count("it waits") < 2:
        forger.wait_for_output(b"it waits", GUARD_SECONDS)
    victim = pid_of("other", "algo-1")
    own = Ears(pid_of("forger", "algo-2"))
    others = [Ears(pid) for pid in (victim, outside.inside.pid, outside.container.pid,
                                    outside.outside.pid)]  # fmt: skip
    before = outside.inside.run("ip", "neigh")
    names = ["10.177.0.254", "10.177.0.253", "10.177.0.252", "10.177.1.1", "10.177.1.254", UPLINK,
             OUTSIDE]  # fmt: skip
    forge = in_network(pid_of("forger", "algo-1"), FORGE, *names)
    subprocess.run(forge, check=True, timeout=GUARD_SECONDS)
    own.wait_for_the_last()
    assert own.heard() > len(names)
    assert [ears.heard() for ears in others] == [0] * len(others)
    assert "mu" not in set(outside.inside.run("ip", "neigh").split()) - set(before.split())
    subprocess.run(in_network(victim, KNOCK, OUTSIDE, SERVICE_PORT), check=True, timeout=60)
    assert outside.inside.reaches(OUTSIDE)
    assert "met" not in other.text and "heard" not in other.text
    for job in (forger, other):
        stop(job)
    assert not os.path.exists(f"/proc/{victim}/root/etc/hostname")
