"""A machine with an outside, of namespaces only: jobs run in the one, and the test's index of
packages, name server and strangers are in the other. Nothing shows on the machine itself.

    inside                                       outside
    up0 192.0.2.2/24 ── default route ────────── 192.0.2.1  :80 a web server, pypi.lab.example
    lan0 198.51.100.1, another interface         203.0.113.9, behind it
    br0 172.30.0.1 ── 172.30.0.2, a container    169.254.169.254, as a cloud's
    127.0.0.53, its resolver
Both speak IPv6 at the same places: 2001:db8:1::2 and ::1, 2001:db8:2::1 and ::2, fd00:ec2::254.
"""

import base64
import hashlib
import os
import pathlib
import subprocess
import sys
import zipfile

from process import Process, die_with_parent, in_network_of, wait_until

UPLINK = "192.0.2.2"
OUTSIDE = "192.0.2.1"
BEYOND = "203.0.113.9"
LAN = "198.51.100.1"
BRIDGE = "172.30.0.1"
CONTAINER = "172.30.0.2"
CLOUD = "169.254.169.254"
UPLINK6 = "2001:db8:1::2"
OUTSIDE6 = "2001:db8:1::1"
BRIDGE6 = "2001:db8:2::1"
CONTAINER6 = "2001:db8:2::2"
CLOUD6 = "fd00:ec2::254"
SERVICE_PORT = 7777  # Everybody listens there: whom a job may reach and whom it may not.
NAME = "pypi.lab.example"

HOLDER = ["sh", "-c", "echo ready; exec sleep infinity"]

# TCP on all addresses, says "here" to who connects; UDP the same to who sends.
SERVICE = """
import os, socket, sys, threading
port = int(sys.argv[1])
def say(line):  # A line at once: two threads write.
    os.write(1, (line + "\\n").encode())
tcp = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)
udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
udp.bind(("::", port))
def name(where):
    return where[0].removeprefix("::ffff:")
def datagrams():
    while True:
        came = udp.recvfrom(100)
        say("got " + came[0].decode() + " from " + name(came[1]))
        udp.sendto(b"here", came[1])
threading.Thread(target=datagrams, daemon=True).start()
print("ready", flush=True)
while True:
    peer, where = tcp.accept()
    say("met " + name(where))
    peer.sendall(b"here")
    peer.close()
"""

# Knows pypi.lab.example and, by TCP only, long.lab.example: both are 192.0.2.1.
NAME_SERVER = """
import socket, struct, sys, threading
where = (sys.argv[1], 53)
def answer(question, by_tcp):
    end = question.index(b"\\0", 12) + 5
    name, kind = question[12:end - 4], question[end - 4:end - 2]
    ours = name in (b"\\4pypi\\3lab\\7example\\0", b"\\4long\\3lab\\7example\\0")
    short = ours and name.startswith(b"\\4long") and not by_tcp
    known = kind == b"\\0\\1" and ours and not short
    flags = 0x8180 | (0x0200 if short else 0) | (0 if ours else 3)
    head = question[:2] + struct.pack(">HHHHH", flags, 1, int(known), 0, 0)
    record = b"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\1\\0\\4" + socket.inet_aton("192.0.2.1")
    return head + question[12:end] + (record if known else b"")
def streams():
    while True:
        peer, _ = tcp.accept()
        size, = struct.unpack(">H", peer.recv(2, socket.MSG_WAITALL))
        said = answer(peer.recv(size, socket.MSG_WAITALL), True)
        peer.sendall(struct.pack(">H", len(said)) + said)
        peer.close()
tcp = socket.create_server(where)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(where)
threading.Thread(target=streams, daemon=True).start()
print("ready", flush=True)
while True:
    question, asker = udp.recvfrom(4096)
    udp.sendto(answer(question, False), asker)
"""

WEB = """
import functools, http.server, sys
handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])
server = http.server.ThreadingHTTPServer(("", 80), handler)
print("ready", flush=True)
server.serve_forever()
"""


class Space:
    """Namespaces that one process holds, and what the test runs in them."""

    def __init__(self, *flags: str, within: "Space | None" = None):
        argv = ["unshare", "--net", *flags, *HOLDER]
        if within:
            argv = within.enter(argv)
        self.holder = subprocess.Popen(argv, stdout=subprocess.PIPE, preexec_fn=die_with_parent)
        assert self.holder.stdout.readline() == b"ready\n"
        self.pid = self.holder.pid
        self.mounts = "--mount" in flags or within is not None
        self.programs: list[Process] = []
        self.run("ip", "link", "set", "lo", "up")

    def enter(self, argv) -> list[str]:
        spaces = ["--net", "--mount"] if self.mounts else ["--net"]
        return [str(word) for word in ["nsenter", "-t", self.pid, *spaces, *argv]]

    def run(self, *argv) -> str:
        done = subprocess.run(self.enter(argv), capture_output=True, text=True, timeout=60,
                              check=False)  # fmt: skip
        assert done.returncode == 0, f"{argv}: {done.stdout}{done.stderr}"
        return done.stdout

    def serve(self, program: str, *words) -> Process:
        process = Process(self.enter([sys.executable, "-c", program, *words]))
        process.wait_for_output(b"ready")
        self.programs.append(process)
        return process

    def reaches(self, address: str, source: str = "") -> bool:
        """By TCP, from the address `source`."""
        code = "import socket, sys; s = socket.create_connection((sys.argv[1], int(sys.argv[2])),"
        code += " 3, (sys.argv[3], 0)); assert s.recv(9) == b'here'"
        argv = self.enter([sys.executable, "-c", code, address, SERVICE_PORT, source])
        return subprocess.run(argv, capture_output=True, timeout=60, check=False).returncode == 0

    def visited(self):
        """The calling thread's sockets are of this network meanwhile."""
        return in_network_of(self.pid)

    def close(self) -> None:
        for process in self.programs:
            process.end()
        self.holder.kill()
        self.holder.wait()
        self.holder.stdout.close()


class Outside:
    """Both, with their services."""

    def __init__(self, folder: pathlib.Path):
        self.site = folder / "site"
        self.site.mkdir()
        (self.site / "index.html").write_text("the outside")
        os.makedirs("/run/muster", exist_ok=True)  # Where the machine inside has its own.
        self.inside = Space("--mount")
        self.outside = Space()
        self.container = Space(within=self.inside)
        self._mounts(folder)
        self._links()
        self._sixth_links()
        self.outside.serve(WEB, self.site)
        self.inside.serve(NAME_SERVER, "127.0.0.53")
        self.stranger = self.outside.serve(SERVICE, SERVICE_PORT)
        self.service = self.inside.serve(SERVICE, SERVICE_PORT)
        self.container.serve(SERVICE, SERVICE_PORT)
        self.before = self.state()

    def _mounts(self, folder) -> None:
        (folder / "resolv.conf").write_text("nameserver 127.0.0.53\nsearch lab.example\n")
        self.inside.run("mount", "-t", "tmpfs", "muster", "/run/muster")
        self.inside.run("mount", "--bind", folder / "resolv.conf", "/etc/resolv.conf")

    def _links(self) -> None:
        inside, outside = self.inside, self.outside
        inside.run("ip", "link", "add", "up0", "type", "veth", "peer", "name", "down0",
                   "netns", outside.pid)  # fmt: skip
        inside.run("ip", "addr", "add", f"{UPLINK}/24", "dev", "up0")
        inside.run("ip", "link", "set", "up0", "up")
        inside.run("ip", "link", "add", "lan0", "type", "veth", "peer", "name", "lan1",
                   "netns", outside.pid)  # fmt: skip
        inside.run("ip", "addr", "add", f"{LAN}/24", "dev", "lan0")
        inside.run("ip", "link", "set", "lan0", "up")
        outside.run("ip", "link", "set", "lan1", "up")
        inside.run("ip", "link", "add", "br0", "type", "bridge")
        inside.run("ip", "addr", "add", f"{BRIDGE}/24", "dev", "br0")
        inside.run("ip", "link", "add", "port0", "type", "veth", "peer", "name", "eth0",
                   "netns", self.container.pid)  # fmt: skip
        inside.run("ip", "link", "set", "port0", "master", "br0", "up")
        inside.run("ip", "link", "set", "br0", "up")
        inside.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/conf/br0/forwarding")  # As Docker.
        self.container.run("ip", "addr", "add", f"{CONTAINER}/24", "dev", "eth0")
        self.container.run("ip", "link", "set", "eth0", "up")
        self.container.run("ip", "route", "add", "default", "via", BRIDGE)
        outside.run("ip", "addr", "add", f"{OUTSIDE}/24", "dev", "down0")
        for address in (BEYOND, CLOUD):
            outside.run("ip", "addr", "add", f"{address}/32", "dev", "lo")
        outside.run("ip", "link", "set", "down0", "up")
        inside.run("ip", "route", "add", "default", "via", OUTSIDE)
        # A stranger may try to use the machine as a router.
        for network in ("10.177.0.0/16", "172.30.0.0/24", "198.51.100.0/24"):
            outside.run("ip", "route", "add", network, "via", UPLINK)

    def _sixth_links(self) -> None:
        inside, outside, container = self.inside, self.outside, self.container
        for space, address, link in (
            (inside, UPLINK6, "up0"), (outside, OUTSIDE6, "down0"),
            (inside, BRIDGE6, "br0"), (container, CONTAINER6, "eth0"),
        ):  # fmt: skip
            space.run("ip", "-6", "addr", "add", f"{address}/64", "dev", link, "nodad")
        outside.run("ip", "-6", "addr", "add", f"{CLOUD6}/128", "dev", "lo", "nodad")
        inside.run("ip", "-6", "route", "add", "default", "via", OUTSIDE6)
        container.run("ip", "-6", "route", "add", "default", "via", BRIDGE6)

    def state(self) -> dict[str, str]:
        """What a job could leave in the machine's network."""
        settings = "grep -r . /proc/sys/net/ipv4/conf/*/forwarding /proc/sys/net/ipv4/ip_forward"
        notes = "ls /run/muster/gateways; cat /run/muster/forwarding"
        return {
            "tables": self.inside.run("nft", "list", "ruleset"),
            "links": self.inside.run("sh", "-c", "ip -br link | cut -d ' ' -f 1"),
            "addresses": self.inside.run("sh", "-c", "ip -4 -o addr | tr -s ' '"),
            "routes": self.inside.run("ip", "-4", "route", "show", "table", "all"),
            "settings": self.inside.run("sh", "-c", settings),
            "notes": self.inside.run("sh", "-c", f"({notes}) 2>/dev/null || true"),
        }

    def wait_for_nothing_left(self) -> None:
        """The kernel takes links away a moment after their last namespace."""
        def changed():
            now = self.state()
            return {key: now[key] for key in now if now[key] != self.before[key]}

        try:
            wait_until("the machine's network to be as before", lambda: not changed(), 10)
        except AssertionError:
            raise AssertionError(f"left in the machine's network: {changed()}") from None

    def close(self) -> None:
        for space in (self.container, self.outside, self.inside):
            space.close()


def make_index(site) -> None:
    """A package index with one wheel, far_away."""
    simple = site / "simple" / "far-away"
    simple.mkdir(parents=True)
    name = "far_away-1.0-py3-none-any.whl"
    info = "far_away-1.0.dist-info/"
    files = {
        "far_away.py": "WORD = 'hello'\n",
        info + "METADATA": "Metadata-Version: 2.1\nName: far-away\nVersion: 1.0\n",
        info + "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\n"
        "Tag: py3-none-any\n",
    }
    record = ""
    with zipfile.ZipFile(simple / name, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()
            record += f"{path},sha256={digest.rstrip('=')},{len(text)}\n"
        wheel.writestr(info + "RECORD", record + f"{info}RECORD,,\n")
    (simple / "index.html").write_text(f'<a href="{name}">{name}</a>')
