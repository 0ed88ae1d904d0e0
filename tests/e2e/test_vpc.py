"""Jobs in a VPC: their hosts' addresses, what security groups let pass, what is refused at once.
On a machine with an outside (outside.py)."""

import errno
import json
import os
import pathlib
import subprocess
import sys

import pytest
from botocore.exceptions import ClientError

from lab import VENV
from outside import BEYOND, NAME, OUTSIDE, SERVICE_PORT, UPLINK, Outside
from process import wait_until
from sm_server import SmServer
from test_server_jobs import BUCKET, Job

SECONDS = 120


def rule(protocol: str, first: int = -1, last: int = -1, **ends) -> dict:
    ranges = [{"CidrIp": ends["cidr"]}] if "cidr" in ends else []
    groups = [{"GroupId": ends["group"]}] if "group" in ends else []
    return {
        "IpProtocol": protocol,
        "FromPort": first,
        "ToPort": last,
        "IpRanges": ranges,
        "UserIdGroupPairs": groups,
    }


NETWORKS = {
    "Vpcs": [
        {"VpcId": "vpc-1", "CidrBlock": "10.0.0.0/16"},
        {"VpcId": "vpc-2", "CidrBlock": "10.0.0.0/16"},
        {"VpcId": "vpc-3", "CidrBlock": "10.5.0.0/16"},
        {"VpcId": "vpc-home", "CidrBlock": "192.0.2.0/24"},  # The machine's own network.
    ],
    "Subnets": [
        {"SubnetId": "subnet-1", "VpcId": "vpc-1", "CidrBlock": "10.0.1.0/24"},
        {"SubnetId": "subnet-2", "VpcId": "vpc-1", "CidrBlock": "10.0.2.0/24"},
        {"SubnetId": "subnet-3", "VpcId": "vpc-1", "CidrBlock": "10.0.3.0/24"},
        {"SubnetId": "subnet-4", "VpcId": "vpc-1", "CidrBlock": "10.0.4.0/28"},
        {"SubnetId": "subnet-9", "VpcId": "vpc-2", "CidrBlock": "10.0.1.0/24"},
        {"SubnetId": "subnet-far", "VpcId": "vpc-3", "CidrBlock": "10.5.1.0/24"},
        {"SubnetId": "subnet-home", "VpcId": "vpc-home", "CidrBlock": "192.0.2.0/25"},
    ],
    "SecurityGroups": [
        {
            "GroupId": "sg-open",
            "VpcId": "vpc-1",
            "IpPermissions": [rule("-1", group="sg-open")],
        },
        {
            "GroupId": "sg-narrow",
            "VpcId": "vpc-1",
            "IpPermissions": [
                rule("tcp", 9730, 9730, group="sg-narrow"),  # The roll call.
                rule("tcp", 8000, 8001, group="sg-narrow"),
                rule("tcp", 8003, 8003, group="sg-open"),
                rule("udp", 9000, 9000, cidr="10.0.1.0/24"),
                rule("icmp", 8, -1, group="sg-narrow"),
            ],
            "IpPermissionsEgress": [
                rule("tcp", 9730, 9730, group="sg-narrow"),
                rule("tcp", 8000, 8003, cidr="10.0.0.0/16"),
                rule("tcp", 80, 80, cidr=f"{OUTSIDE}/32"),
                rule("udp", 9000, 9000, cidr="0.0.0.0/0"),
                rule("udp", 9001, 9001, group="sg-narrow"),
                rule("icmp", group="sg-narrow"),
            ],
        },
        {"GroupId": "sg-shut", "VpcId": "vpc-1", "IpPermissionsEgress": []},
        {
            "GroupId": "sg-roll-call",
            "VpcId": "vpc-1",
            "IpPermissions": [rule("tcp", 9730, 9730, group="sg-roll-call")],
        },
        {"GroupId": "sg-other", "VpcId": "vpc-2"},
        *[
            {
                "GroupId": f"sg-wide-{vpc}",
                "VpcId": f"vpc-{vpc}",
                "IpPermissions": [rule("-1", cidr="0.0.0.0/0")],
            }
            for vpc in ("1", "2", "3", "home")
        ],
    ],
}

NARROW = ["10.0.1.4", "10.0.2.4", "10.0.1.5"]  # sg-narrow, over subnet-1 and subnet-2.
OPEN = ["10.0.1.4", "10.0.3.4"]  # sg-open, over subnet-1 and subnet-3.

# Job, host (algo-K), to whom it sends, what, and whether that is answered.
FLOWS = [
    # Between the hosts of a group that lets little pass, on both sides of every bound.
    ("narrow", 1, NARROW[1], "tcp 8000", True),
    ("narrow", 2, NARROW[0], "tcp 8000", True),
    ("narrow", 1, NARROW[2], "tcp 8001", True),
    ("narrow", 3, NARROW[1], "tcp 8001", True),
    ("narrow", 1, NARROW[1], "tcp 8002", False),  # Egress has it, ingress not.
    ("narrow", 2, NARROW[2], "tcp 8002", False),
    ("narrow", 1, NARROW[1], "tcp 8003", False),  # For hosts of sg-open, which are others'.
    ("narrow", 1, NARROW[2], "tcp 8003", False),
    ("narrow", 1, NARROW[1], "tcp 7999", False),
    ("narrow", 1, NARROW[1], "udp 9000", True),  # By CIDR: from subnet-1 alone.
    ("narrow", 3, NARROW[0], "udp 9000", True),
    ("narrow", 2, NARROW[0], "udp 9000", False),
    ("narrow", 2, NARROW[2], "udp 9000", False),
    ("narrow", 1, NARROW[1], "udp 9001", False),
    ("narrow", 1, NARROW[2], "udp 8000", False),  # The number is tcp's.
    ("narrow", 1, NARROW[1], "icmp 8", True),
    ("narrow", 2, NARROW[2], "icmp 8", True),
    # To the outside.
    ("narrow", 1, OUTSIDE, "tcp 80", True),
    ("narrow", 2, OUTSIDE, "tcp 80", True),
    ("narrow", 1, OUTSIDE, f"tcp {SERVICE_PORT}", False),
    ("narrow", 1, BEYOND, "tcp 80", False),
    ("narrow", 1, OUTSIDE, f"udp {SERVICE_PORT}", False),
    ("narrow", 3, OUTSIDE, "icmp 8", False),
    # To another job's hosts.
    ("narrow", 1, OPEN[1], "tcp 8000", False),
    ("narrow", 2, OPEN[1], "udp 9000", False),
    # A group that lets all pass that comes from itself, and everything out.
    ("open", 1, OPEN[1], "tcp 8000", True),
    ("open", 2, OPEN[0], "tcp 8002", True),
    ("open", 1, OPEN[1], "udp 9000", True),
    ("open", 2, OPEN[0], "udp 9001", True),
    ("open", 1, OPEN[1], "icmp 8", True),
    ("open", 2, OPEN[0], "tcp 7999", True),
    ("open", 1, OUTSIDE, "tcp 80", True),
    ("open", 2, OUTSIDE, f"tcp {SERVICE_PORT}", True),
    ("open", 1, OUTSIDE, f"udp {SERVICE_PORT}", True),
    ("open", 1, BEYOND, "tcp 80", True),
    ("open", 2, OUTSIDE, "icmp 8", True),
    ("open", 1, NARROW[1], "tcp 8000", False),
    ("open", 2, NARROW[2], "tcp 8001", False),
    ("open", 2, NARROW[2], "udp 9000", False),
    ("open", 1, UPLINK, f"tcp {SERVICE_PORT}", False),  # The machine itself.
]

# A host that serves on several ports, prints them, and connects elsewhere when an object in S3 says
# so. It can reach S3 with any security group.
HOST = """
import fcntl, json, os, signal, socket, struct, subprocess, threading, time
import boto3, botocore.exceptions
job = os.environ["TRAINING_JOB_NAME"]
host = json.load(open("/opt/ml/input/config/resourceconfig.json"))["current_host"]
s3 = boto3.client("s3")
def tcp(port):
    server = socket.create_server(("0.0.0.0", port))
    while True:
        peer, _ = server.accept()
        peer.sendall(b"here")
        peer.close()
def udp(port):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("0.0.0.0", port))
    while True:
        server.sendto(b"here", server.recvfrom(100)[1])
def sixth():
    server = socket.create_server(("::", 6000), family=socket.AF_INET6)
    while True:
        server.accept()[0].close()
for serve, ports in ((tcp, (7999, 8000, 8001, 8002, 8003)), (udp, (8000, 9000, 9001))):
    for port in ports:
        threading.Thread(target=serve, args=(port,), daemon=True).start()
threading.Thread(target=sixth, daemon=True).start()
def knock(where, flow):
    kind, port = flow.split()
    family = socket.SOCK_STREAM if kind == "tcp" else socket.SOCK_DGRAM
    with socket.socket(socket.AF_INET, family) as own:
        own.settimeout(3)
        try:
            own.connect((where, int(port)))
            own.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
            return bool(own.recv(9))
        except OSError:
            return False
def tell(**what):
    os.write(1, ("told " + json.dumps({"host": host, **what}) + "\\n").encode())
def work(where, flow):
    tell(where=where, flow=flow, passes=knock(where, flow))
def task():
    while True:
        try:
            key = f"out/{job}/tasks/{host}"
            return json.loads(s3.get_object(Bucket="%s", Key=key)["Body"].read())
        except botocore.exceptions.ClientError:
            time.sleep(0.2)
def attempt(name, action):
    try:
        tell(attack=name, got=str(action()))
    except OSError as error:
        tell(attack=name, got=type(error).__name__, errno=error.errno)
def set_address():
    request = struct.pack("16sH2s4s8x", b"eth0", socket.AF_INET, b"", socket.inet_aton("10.0.1.9"))
    return fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8916, request)
def change_rules():
    return subprocess.run(["/usr/sbin/nft", "flush", "ruleset"]).returncode
def forge(source, where):
    own = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    own.setsockopt(socket.IPPROTO_IP, 15, 1)  # IP_FREEBIND
    own.bind((source, 0))
    own.settimeout(3)
    own.sendto(b"forged", (where, 9000))
    return own.recv(9)
def raw():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
def packet():
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0x0300)
def by_ipv6(where):
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as own:
        own.settimeout(3)
        own.connect((where, 6000, 0, socket.if_nametoindex("eth0")))
    return "connected"
own6 = [line.split()[0] for line in open("/proc/net/if_inet6") if line.split()[-1] == "eth0"]
tell(ready=True, own=socket.gethostbyname(host),
     network=os.readlink("/proc/self/ns/net"), own6=own6)
todo = task()
threads = [threading.Thread(target=work, args=each) for each in todo["flows"]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for name, words in todo.get("attacks", {}).items():
    attempt(name, lambda: globals()[name](*words))
for name in todo.get("names", []):
    try:
        tell(name=name, address=socket.gethostbyname(name))
    except OSError as error:
        tell(name=name, address=str(error))
tell(done=True)
signal.pause()
""" % BUCKET

# Is answered if the echo is; run by the test in the host's network: no job may make such a socket.
PING = """
import socket, struct, sys
own = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
own.settimeout(3)
head = struct.pack(">BBHHH", 8, 0, 0, 7, 1)
total = sum(struct.unpack(">4H", head))
own.sendto(struct.pack(">BBHHH", 8, 0, 0xFFFF - total, 7, 1), (sys.argv[1], 0))
while own.recv(99)[20] != 0:
    pass
"""


class Placed(Job):
    """A job in a VPC whose hosts wait for what to do."""

    def __init__(self, server, hosts: int, subnets: list[str], group: str):
        """Without subnets: in no VPC."""
        where = {"VpcConfig": {"Subnets": subnets, "SecurityGroupIds": [group]}}
        super().__init__(server, HOST, hosts, **(where if subnets else {}))
        self.hosts = hosts

    def told(self) -> list[dict]:
        lines = [line for line in self.text().splitlines() if "told {" in line]
        return [json.loads(line.split("told ", 1)[1]) for line in lines]

    def wait(self, what: str) -> list[dict]:
        def all_there():
            assert self.describe()["TrainingJobStatus"] == "InProgress", self.text()
            return sum(what in each for each in self.told()) == self.hosts

        wait_until(f"{self.name}: {what}", all_there, SECONDS)
        return [each for each in self.told() if what in each]

    def do(self, host: int, **task) -> None:
        self.server.client("s3").put_object(
            Bucket=BUCKET, Key=f"out/{self.name}/tasks/algo-{host}",
            Body=json.dumps({"flows": [], **task}),
        )  # fmt: skip

    def stop(self) -> None:
        self.api.stop_training_job(TrainingJobName=self.name)
        self.at_end()


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    outside = Outside(tmp_path_factory.mktemp("outside"))
    yield outside
    outside.close()


@pytest.fixture(scope="module")
def server(outside, tmp_path_factory):
    config = {"python": str(VENV / "bin" / "python"), "capacity": {"hosts": 12}}
    folder = tmp_path_factory.mktemp("server")
    with SmServer(folder, jobs=config, config={"networks": NETWORKS}, within=outside.inside) as it:
        with outside.inside.visited():
            s3 = it.client("s3")
            s3.create_bucket(Bucket=BUCKET)
            s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
            yield it
    outside.wait_for_nothing_left()


def is_echoed(network: str, where: str) -> bool:
    """By the network namespace of a job's host, "net:[4026532000]"."""
    for path in pathlib.Path("/proc").glob("[0-9]*/ns/net"):
        try:
            found = os.readlink(path) == network
        except OSError:
            continue
        if found:
            argv = ["nsenter", f"--net={path}", sys.executable, "-c", PING, where]
            done = subprocess.run(argv, capture_output=True, timeout=60, check=False)
            return done.returncode == 0
    raise AssertionError(f"no process is in {network}")


def test_two_jobs_see_exactly_what_their_rules_allow(server):
    assert len(FLOWS) == 40
    jobs = {
        "narrow": Placed(server, 3, ["subnet-1", "subnet-2"], "sg-narrow"),
        "open": Placed(server, 2, ["subnet-1", "subnet-3"], "sg-open"),
    }
    networks = {}
    for name, job in jobs.items():
        for each in job.wait("ready"):
            networks[name, int(each["host"].split("-")[1])] = each["network"]
    for name, number in networks:
        flows = [
            (where, flow)
            for job, host, where, flow, _ in FLOWS
            if (job, host) == (name, number) and not flow.startswith("icmp")
        ]
        jobs[name].do(number, flows=flows, names=[NAME])
    got = {}
    for name, job in jobs.items():
        job.wait("done")
        for each in job.told():
            if "flow" in each:
                host = int(each["host"].split("-")[1])
                got[name, host, each["where"], each["flow"]] = each["passes"]
            if "address" in each:  # Names are the steward's to look up, whatever may leave.
                assert each["address"] == OUTSIDE, each
    for name, host, where, flow, _ in FLOWS:
        if flow.startswith("icmp"):
            got[name, host, where, flow] = is_echoed(networks[name, host], where)
    wrong = [each for each in FLOWS if got.get(each[:4]) != each[4]]
    assert not wrong, wrong
    for job in jobs.values():
        job.stop()


def test_a_job_that_means_harm_changes_nothing(server):
    job = Placed(server, 3, ["subnet-1", "subnet-2"], "sg-narrow")
    ready = {each["host"]: each for each in job.wait("ready")}
    assert [each["own6"] for each in ready.values()] == [[], [], []]
    sixth = "fe80::1"
    attacks = {
        "set_address": [],
        "change_rules": [],
        "raw": [],
        "packet": [],
        "forge": [NARROW[2], NARROW[0]],  # algo-2 as algo-3, which may send that.
        "by_ipv6": [sixth],
    }
    job.do(2, attacks=attacks)
    wait_until(
        "the attacks to end",
        lambda: any("done" in each and each["host"] == "algo-2" for each in job.told()),
        SECONDS,
    )
    job.do(1, flows=[(NARROW[1], "tcp 8000"), (NARROW[1], "tcp 8002")])
    job.do(3, attacks={"by_ipv6": [sixth]})
    job.wait("done")
    told = job.told()
    tried = [each for each in told if "attack" in each]
    denied = {each["attack"]: each for each in tried if each["host"] == "algo-2"}
    assert set(denied) == set(attacks)
    for name in ("set_address", "raw", "packet"):
        assert denied[name].get("errno") in (errno.EPERM, errno.EAFNOSUPPORT), denied[name]
    assert denied["change_rules"]["got"] != "0", denied["change_rules"]
    assert denied["forge"]["got"] in ("OSError", "TimeoutError"), denied["forge"]
    others = [each["got"] for each in tried if each["host"] == "algo-3"]
    assert others and others[0] in ("OSError", "TimeoutError"), others
    assert {each["flow"]: each["passes"] for each in told if "flow" in each} == {
        "tcp 8000": True,
        "tcp 8002": False,
    }
    job.stop()


def test_jobs_of_two_vpcs_never_meet(server):
    """Though all groups let everything in and out, and two of the VPCs have the same addresses."""
    jobs = [
        Placed(server, 2, ["subnet-1", "subnet-3"], "sg-wide-1"),
        Placed(server, 2, ["subnet-9"], "sg-wide-2"),
        Placed(server, 1, ["subnet-far"], "sg-wide-3"),
        Placed(server, 1, [], ""),
    ]
    addresses = [[each["own"] for each in job.wait("ready")] for job in jobs]
    assert sorted(addresses[0]) == ["10.0.1.4", "10.0.3.4"]
    assert sorted(addresses[1]) == ["10.0.1.4", "10.0.1.5"]
    assert addresses[2] == ["10.5.1.4"]
    everywhere = sorted({address for each in addresses for address in each})
    for job in jobs:
        for host in range(1, job.hosts + 1):
            flows = [(where, flow) for where in everywhere for flow in ("tcp 8000", "udp 9000")]
            job.do(host, flows=flows)
    for job, own in zip(jobs, addresses):
        job.wait("done")
        got = [each for each in job.told() if "flow" in each]
        assert len(got) == job.hosts * len(everywhere) * 2
        wrong = [each for each in got if each["passes"] != (each["where"] in own)]
        assert not wrong, wrong
    for job in jobs:
        job.stop()


def test_a_vpc_over_the_machines_own_network_hides_it_and_changes_nothing(server, outside):
    job = Placed(server, 2, ["subnet-home"], "sg-wide-home")
    assert sorted(each["own"] for each in job.wait("ready")) == ["192.0.2.4", "192.0.2.5"]
    want = {
        ("192.0.2.5", "tcp 8000"): True,
        (UPLINK, f"tcp {SERVICE_PORT}"): False,
        (OUTSIDE, "tcp 80"): False,  # An address of the VPC, which no host has.
        (OUTSIDE, f"udp {SERVICE_PORT}"): False,
        (BEYOND, "tcp 80"): True,
    }
    job.do(1, flows=list(want), names=[NAME])
    job.do(2)
    job.wait("done")
    told = [each for each in job.told() if each["host"] == "algo-1"]
    got = {(each["where"], each["flow"]): each["passes"] for each in told if "flow" in each}
    assert got == want
    assert [each["address"] for each in told if "name" in each] == [OUTSIDE]
    assert outside.inside.reaches(OUTSIDE) and outside.inside.reaches(BEYOND)
    assert not outside.inside.reaches("192.0.2.4")
    job.stop()


def test_mpirun_trains_over_hosts_of_a_group_that_lets_itself_in(server):
    script = "import os; print('rank', os.environ['OMPI_COMM_WORLD_RANK'], flush=True)"
    where = {"Subnets": ["subnet-1", "subnet-2"], "SecurityGroupIds": ["sg-open"]}
    job = Job(server, script, 2, 1, VpcConfig=where)
    assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
    assert "rank 0" in job.text() and "rank 1" in job.text()
    assert job.describe()["VpcConfig"] == where


@pytest.mark.parametrize(
    ("hosts", "processes", "subnets", "groups", "want"),
    [
        (2, 1, ["subnet-1"], ["sg-roll-call"],
         "sg-roll-call forbids tcp 32768-60999 between its hosts"),
        (1, 0, ["subnet-7"], ["sg-open"], "this server has no subnet-7"),
    ],
)  # fmt: skip
def test_what_cannot_run_is_named_at_once(server, hosts, processes, subnets, groups, want):
    where = {"Subnets": subnets, "SecurityGroupIds": groups}
    with pytest.raises(ClientError) as refused:
        Job(server, "", hosts, processes, VpcConfig=where)
    assert refused.value.response["Error"]["Code"] == "ValidationException"
    assert want in refused.value.response["Error"]["Message"]


def test_a_host_alone_may_be_shut_off_wholly(server):
    script = "import boto3, os; print('it trains', os.environ['SM_CURRENT_HOST'], flush=True)"
    job = Job(server, script, VpcConfig={"Subnets": ["subnet-4"], "SecurityGroupIds": ["sg-shut"]})
    assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()


def test_ids_mean_nothing_where_no_networks_are_and_the_log_says_so(tmp_path):
    with SmServer(tmp_path, jobs={"python": str(VENV / "bin" / "python")}) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        job = Job(server, "", VpcConfig={"Subnets": ["subnet-1"], "SecurityGroupIds": ["sg-1"]})
        assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
        assert "VpcConfig has no effect: this server has no subnet-1, sg-1" in job.text()
