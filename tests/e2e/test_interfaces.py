"""Machines whose network interfaces have different names, several, or no IPv4 address."""

import json
import os
import subprocess

import pytest

from mpi_environment import NAMES, mpi_environment
from test_by_hand import Hands
from test_preflight import CALM, findings
from test_ssh import prepare_ssh

HOSTS = ["--hosts", "algo-[1-3]", "--key-file", "/etc/job.key"]
SHOW = """
import json, os
from mpi4py import MPI
world = MPI.COMM_WORLD
total = world.allreduce(10 ** world.Get_rank())
peer = world.Get_size() - 1 - world.Get_rank()
big = world.sendrecv(bytes(1 << 20), dest=peer, source=peer)
print("saw", json.dumps({
    "host": MPI.Get_processor_name(), "total": total, "big": len(big),
    "nccl": os.environ.get("NCCL_SOCKET_IFNAME"), "gloo": os.environ.get("GLOO_SOCKET_IFNAME"),
    "btl": os.environ.get("OMPI_MCA_btl_tcp_if_include"),
    "fi": os.environ.get("FI_TCP_IFACE"),
}), flush=True)
"""
OTHER = {"algo-1": "eth0", "algo-2": "ens5", "algo-3": "ib7"}


@pytest.fixture
def hands(lab):
    def make(count: int) -> Hands:
        job = Hands(lab, count)
        for host in job.hosts:
            job.write(host, "/opt/show.py", SHOW)
        return job

    return make


def rename(host, new: str, old: str = "eth0") -> None:
    for words in (["set", old, "down"], ["set", old, "name", new], ["set", new, "up"]):
        host.check("ip", "link", *words)
    host.check("mount", "-t", "sysfs", "sysfs", "/sys")  # UCX looks for interfaces there.


def seen(job: Hands) -> dict[str, dict]:
    """What the ranks saw, by host."""
    codes = job.wait()
    assert set(codes.values()) == {0}, f"{codes}\n{job.story()}"
    lines = [line.split("saw ", 1)[1] for line in job.story().splitlines() if "saw {" in line]
    return {each["host"]: each for each in map(json.loads, lines)}


def mpirun(job: Hands, *options, own=None, env=None, count=3) -> Hands:
    return job.start("mpirun", *HOSTS, "-n", count, *options, "python", "show.py",
                     own=own, env=env)


def test_interfaces_of_other_names_in_one_subnet(hands):
    job = hands(3)
    for host in job.hosts[1:]:
        rename(host, OTHER[host.name])
    ranks = seen(mpirun(job))
    assert {name: each["btl"] for name, each in ranks.items()} == OTHER
    assert {name: each["gloo"] for name, each in ranks.items()} == OTHER
    assert {name: each["nccl"] for name, each in ranks.items()} == {
        name: f"={interface}" for name, interface in OTHER.items()
    }
    assert all(each["total"] == 111 and each["big"] == 1 << 20 for each in ranks.values())


def path_with(flavour: str) -> dict[str, str]:
    """The variables that put this MPI in front of the system's, which has no name here."""
    if not flavour:
        return {}
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return {"PATH": f"{mpi_environment(flavour)}/bin:{path}"}


@pytest.mark.parametrize("flavour", NAMES)
def test_interfaces_of_other_names_under_other_mpis(hands, flavour):
    env = path_with(flavour)
    job = hands(3)
    for host in job.hosts[1:]:
        rename(host, OTHER[host.name])
    ranks = seen(mpirun(job, env=env))
    variable = "btl" if flavour == "openmpi" else "fi"
    assert {name: each[variable] for name, each in ranks.items()} == OTHER


needs_ssh = pytest.mark.skipif(
    not (os.path.exists("/usr/sbin/sshd") and os.path.exists("/usr/bin/ssh")),
    reason="no ssh server and client: apt-get install openssh-server openssh-client",
)
BY_SSH = {"MUSTER_MPI_TRANSPORT": "ssh"}


@needs_ssh
@pytest.mark.parametrize("flavour", ["", *NAMES])
def test_interfaces_of_other_names_by_ssh(hands, folder, flavour):
    env = {**BY_SSH, **path_with(flavour)}
    job = hands(3)
    prepare_ssh(job.hosts, folder)
    for host in job.hosts[1:]:
        rename(host, OTHER[host.name])
    ranks = seen(mpirun(job, env=env))
    variable = "btl" if flavour in ("", "openmpi") else "fi"
    assert {name: each[variable] for name, each in ranks.items()} == OTHER
    assert all(each["total"] == 111 and each["big"] == 1 << 20 for each in ranks.values())


@needs_ssh
def test_a_users_own_interfaces_win_by_ssh_too(hands, folder):
    job = hands(3)
    prepare_ssh(job.hosts, folder)
    second_network(job)
    for host in job.hosts[1:]:
        rename(host, OTHER[host.name])
    own = "-mca btl_tcp_if_include eth1 -mca oob_tcp_if_include 10.98.0.0/24"
    ranks = seen(mpirun(job, "--custom_mpi_options", own, env=BY_SSH))
    assert {each["btl"] for each in ranks.values()} == {"eth1"}


@needs_ssh
def test_a_users_own_interface_that_a_host_lacks_fails_by_ssh(hands, folder):
    job = hands(2)
    prepare_ssh(job.hosts, folder)
    rename(job.hosts[1], "ens5")
    own = "-mca oob_tcp_if_include eth0"
    hosts = ["--hosts", "algo-[1-2]", "--key-file", "/etc/job.key"]
    job.start("mpirun", *hosts, "-n", 2, "--custom_mpi_options", own, "python", "show.py",
              env=BY_SSH)
    codes = job.wait()
    assert 0 not in codes.values(), job.story()
    assert "exit code 213 (sm explain network-interface)" in job.runs["algo-1"].text, job.story()


def second_network(job: Hands) -> None:
    """Each host has eth1, too: 10.98.0.N, on a bridge of its own."""
    job.hosts[0].lab.ip("link", "add", "br1", "type", "bridge")
    job.hosts[0].lab.ip("link", "set", "br1", "up")
    for index, host in enumerate(job.hosts, 1):
        host.lab.ip("link", "add", f"w{index}", "type", "veth", "peer", "name", "eth1", "netns",
                    host.pid)
        host.lab.ip("link", "set", f"w{index}", "master", "br1", "up")
        host.check("ip", "addr", "add", f"10.98.0.{index}/24", "dev", "eth1")
        host.check("ip", "link", "set", "eth1", "up")


def test_interface_is_said_for_each_host(hands):
    job = hands(3)
    second_network(job)
    rename(job.hosts[2], "ib7", "eth1")
    chosen = {"algo-1": "eth1", "algo-2": "eth1", "algo-3": "ib7"}
    ranks = seen(mpirun(job, own=lambda host: ["--interface", chosen[host.name]]))
    assert {name: each["btl"] for name, each in ranks.items()} == chosen
    assert {name: each["gloo"] for name, each in ranks.items()} == chosen


def routing(lab) -> None:
    words = ["/usr/bin/nsenter", "-t", str(lab.pid), "--net", "--mount", "--pid", "sysctl", "-q",
             "-w", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.send_redirects=0",
             "net.ipv4.conf.br0.send_redirects=0"]
    subprocess.run(words, check=True, capture_output=True, timeout=60)


def test_two_routed_subnets(hands):
    job = hands(3)
    host = job.hosts[2]
    host.lab.ip("addr", "add", "10.99.0.254/24", "dev", "br0")
    host.lab.ip("addr", "add", "10.97.0.254/24", "dev", "br0")
    host.check("ip", "addr", "flush", "dev", "eth0", "scope", "global")
    rename(host, "ens9")
    host.check("ip", "addr", "add", "10.97.0.3/24", "dev", "ens9")
    host.check("ip", "route", "add", "default", "via", "10.97.0.254")
    for each in job.hosts:
        if each is not host:
            each.check("ip", "route", "add", "10.97.0.0/24", "via", "10.99.0.254")
        hosts = each.path("/etc/hosts")
        hosts.write_text(hosts.read_text().replace("10.99.0.3 algo-3\n", "10.97.0.3 algo-3\n"))
    routing(host.lab)
    ranks = seen(mpirun(job))
    assert {name: each["btl"] for name, each in ranks.items()} == {
        "algo-1": "eth0", "algo-2": "eth0", "algo-3": "ens9"
    }


def test_a_users_own_interface_wins(hands):
    job = hands(3)
    second_network(job)
    ranks = seen(mpirun(job, "--custom_mpi_options", "-mca btl_tcp_if_include eth1"))
    assert {each["btl"] for each in ranks.values()} == {"eth1"}


def test_preflight_names_the_host_whose_interface_is_missing(hands):
    job = hands(3)
    own = {"algo-3": ["--interface", "ib9"]}
    job.start("preflight", *HOSTS, own=lambda host: own.get(host.name, []), env=CALM)
    assert set(job.wait().values()) == {1}, job.story()
    assert findings(job) == [
        'algo-3 has no network interface "ib9" with an address, which it is configured to use; '
        "it has eth0"
    ]
    assert "(sm explain network-interface)" in job.runs["algo-1"].text, job.story()


def test_preflight_names_the_host_outside_of_the_subnet_of_all(hands):
    job = hands(3)
    second_network(job)
    own = {"algo-2": ["--interface", "eth1"]}
    job.start("preflight", *HOSTS, own=lambda host: own.get(host.name, []), env=CALM)
    assert set(job.wait().values()) == {0}, job.story()
    [finding] = findings(job)
    assert "algo-2 is configured to use eth1, outside the subnet 10.99.0.0/24" in finding, finding


def test_a_daemon_without_its_interface_does_not_blame_the_script(hands):
    job = hands(3)
    own = {"algo-3": ["--interface", "ib9"]}
    mpirun(job, own=lambda host: own.get(host.name, [])).wait()
    said = job.runs["algo-1"].text
    assert "exit code 213 (sm explain network-interface)" in said, said


def ipv6_only(job: Hands) -> None:
    for index, host in enumerate(job.hosts, 1):
        host.check("ip", "addr", "flush", "dev", "eth0", "scope", "global")
        host.check("ip", "addr", "add", f"fd00::{index}/64", "dev", "eth0", "nodad")
        lines = [f"fd00::{n} algo-{n}" for n in (1, 2, 3)]
        host.path("/etc/hosts").write_text("\n".join(["127.0.0.1 localhost", *lines]) + "\n")


@pytest.mark.parametrize("line", [["preflight"], ["run", "--", "true"]])
def test_ipv6_alone_is_refused_in_one_line(hands, line):
    job = hands(3)
    ipv6_only(job)
    job.start(line[0], *HOSTS, *line[1:])
    assert set(job.wait().values()) == {2}, job.story()
    for run in job.runs.values():
        [said] = run.err.decode().splitlines()
        assert "algo-1 has only IPv6 addresses (fd00::1)" in said, said
        assert said.endswith("(sm explain ipv6-only)"), said


def test_ipv6_alone_is_refused_by_the_roll_call_of_a_platforms_hosts(training):
    """resourceconfig.json names them; each looks at its own name, so each says it."""
    job = training(3, 1, "print('ran', flush=True)")
    ipv6_only(job)
    assert set(job.start().wait().values()) == {1}, job.story()
    for index, (name, run) in enumerate(job.trains.items(), 1):
        said = [line for line in run.text.splitlines() if "error: " in line]
        assert len(said) == 1 and said[0].endswith("(sm explain ipv6-only)"), run.text
        assert f"{name} has only IPv6 addresses (fd00::{index})" in said[0], run.text
        assert "only IPv6 addresses" in job.failure(name)
    assert "ran" not in job.story()
