"""`sm fit --network host`: a job in the machine's own network."""

import json

from fit import GUARD_SECONDS
from outside import BRIDGE, CONTAINER, LAN, OUTSIDE, UPLINK
from test_network import SCAN, both_ways, end_of, reached, targets

# What a job may see of the machine's network, and what it may not change.
LOOK = """
import errno, fcntl, os, socket, struct
def attempt(name, action):
    try:
        action()
        print(name, "works", flush=True)
    except OSError as error:
        print(name, errno.errorcode[error.errno], flush=True)
def bind(port, kind=socket.SOCK_STREAM):
    with socket.socket(socket.AF_INET, kind) as own:
        own.bind(("0.0.0.0", port))
def address():
    request = struct.pack("16sH2s4s8x", b"up0", socket.AF_INET, b"", socket.inet_aton("192.0.2.9"))
    fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8916, request)
def setting():
    open("/proc/sys/net/ipv4/ip_forward", "w").write("1")
def link():
    open("/sys/class/net/lo/mtu", "w").write("1000")
attempt("a port of everybody's", lambda: bind(18080))
attempt("a port of root's", lambda: bind(80))
attempt("a raw socket", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("a packet socket", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300))
for each in (address, setting, link):
    attempt(each.__name__, each)
print("sees", *sorted(name for _, name in socket.if_nameindex()), flush=True)
print("processors", os.path.exists("/sys/devices/system/cpu/cpu0"), flush=True)
print("algo-1 is", socket.gethostbyname("algo-1"), "and", socket.gethostname(), flush=True)
print("interface", os.environ["SM_NETWORK_INTERFACE_NAME"], flush=True)
print("pypi is", socket.gethostbyname("pypi.lab.example"), flush=True)
"""

TOGETHER = """
from mpi4py import MPI
print("together", MPI.COMM_WORLD.allreduce(1), flush=True)
"""


def test_a_job_reaches_what_the_machine_does_and_says_so(outside, at):
    """By choice only: the same scan as nat's reaches the machine's own services, too."""
    everything = targets(OUTSIDE, UPLINK, LAN, BRIDGE, CONTAINER, "127.0.0.1")
    text = end_of(at.fit(SCAN, "--network", "host", "--name", "hosts", "--env", everything))
    assert reached(text) == both_ways(OUTSIDE, UPLINK, LAN, BRIDGE, CONTAINER, "127.0.0.1")
    assert "network: host: this job can reach every service on this machine" in text
    assert outside.state() == outside.before, "nothing is made for it, and nothing left"


def test_it_sees_the_machines_network_and_changes_nothing_of_it(outside, at):
    text = end_of(at.fit(LOOK, "--network", "host"))
    assert "a port of everybody's works" in text
    assert "a port of root's EACCES" in text
    for name in ("a raw socket", "a packet socket", "address"):
        assert f"{name} EPERM" in text or f"{name} EAFNOSUPPORT" in text, text
    for name in ("setting", "link"):
        assert f"{name} EROFS" in text or f"{name} EACCES" in text, text
    assert "sees br0 lan0 lo port0 up0" in text and "processors True" in text
    assert "algo-1 is 127.0.0.1 and algo-1" in text and "interface lo" in text
    assert f"pypi is {OUTSIDE}" in text
    assert outside.state() == outside.before


def test_processes_of_its_one_host_find_each_other(at):
    text = end_of(at.fit(TOGETHER, "--network", "host", per_host=2))
    assert text.count("together 2") == 2


def test_several_hosts_are_refused_by_name(at):
    process = at.fit("", "--network", "host", hosts=2)
    assert process.wait(GUARD_SECONDS) == 2
    assert "--network host supports only one host" in process.text


def test_describe_says_which_network_a_job_has(at):
    for mode in ("host", "none"):
        at_end = at.fit("", "--network", mode, "--name", mode, "--detach",
                        output=at.folder / mode)  # fmt: skip
        end_of(at_end)
        told = json.loads(end_of(at.sm("describe", mode, "--json")))
        assert told["MusterNetwork"] == mode
        end_of(at.sm("logs", "-f", mode))
