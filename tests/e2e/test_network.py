"""What the hosts of a job reach, and who reaches them: a machine with an outside (outside.py)."""

import json
import os
import signal

from fit import GUARD_SECONDS
from lab import VENV
from outside import (
    BEYOND,
    BRIDGE,
    CLOUD,
    CONTAINER,
    LAN,
    NAME,
    OUTSIDE,
    SERVICE_PORT,
    UPLINK,
    make_index,
)
from process import wait_until
from sm_server import SmServer

BUCKET = "jobs"

# Says whom it reaches, by TCP and by UDP.
SCAN = """
import json, os, socket, threading
def by_tcp(address, port):
    with socket.create_connection((address, port), 4) as peer:
        return peer.recv(9) == b"here"
def by_udp(address, port):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(4)
        sender.sendto(os.environ["TRAINING_JOB_NAME"].encode(), (address, port))
        return sender.recv(9) == b"here"
def knock(way, address, port):
    try:
        if way(address, port):
            os.write(1, f"reached {address} {way.__name__}\\n".encode())  # One write: threads mix.
    except OSError:
        pass
threads = [threading.Thread(target=knock, args=(way, address, port))
           for address, port in json.loads(os.environ["TARGETS"]) for way in (by_tcp, by_udp)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("scanned", flush=True)
"""

# A host that others should not find: it listens on all its addresses.
WAITING = """
import socket, signal, threading
service = socket.create_server(("", %d))
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("", %d))
def serve():
    while True:
        peer, where = service.accept()
        print("met", where[0], flush=True)
        peer.sendall(b"here")
def hear():
    while True:
        print("heard", udp.recvfrom(99), flush=True)
for each in (serve, hear):
    threading.Thread(target=each, daemon=True).start()
print("it waits", flush=True)
signal.pause()
""" % (SERVICE_PORT, SERVICE_PORT)

IMPORT = """
import far_away
print("far_away says", far_away.WORD, flush=True)
"""

LOOK_UP = """
import socket
for name in ("pypi.lab.example", "pypi", "long.lab.example", "nobody.example"):
    try:
        print(name, "is", socket.gethostbyname(name), flush=True)
    except OSError as error:
        print(name, "is unknown", flush=True)
"""


def targets(*addresses: str) -> str:
    return "TARGETS=" + json.dumps([(address, SERVICE_PORT) for address in addresses])


def reached(text: str) -> set[tuple[str, str]]:
    lines = [line.split("reached ", 1)[1] for line in text.splitlines() if "reached " in line]
    return {tuple(line.split()[:2]) for line in lines}


def both_ways(*addresses: str) -> set[tuple[str, str]]:
    return {(address, way) for address in addresses for way in ("by_tcp", "by_udp")}


def pip_from_there() -> tuple[str, ...]:
    values = {"PIP_INDEX_URL": f"http://{NAME}/simple", "PIP_TRUSTED_HOST": NAME,
              "PIP_RETRIES": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}  # fmt: skip
    return tuple(word for key, value in values.items() for word in ("--env", f"{key}={value}"))


def end_of(process, code: int = 0) -> str:
    assert process.wait(GUARD_SECONDS) == code, process.text
    return process.text


def test_pip_installs_requirements_from_the_outside(outside, at):
    make_index(outside.site)
    (at.source / "requirements.txt").write_text("far-away\n")
    text = end_of(at.fit(IMPORT, *pip_from_there(), hosts=2))
    assert text.count("far_away says hello") == 2


def test_without_a_network_pip_installs_nothing(outside, at):
    make_index(outside.site)
    (at.source / "requirements.txt").write_text("far-away\n")
    process = at.fit(IMPORT, "--network", "none", *pip_from_there())
    assert process.wait(GUARD_SECONDS) != 0
    assert "far_away says" not in process.text
    assert "far-away" in process.text  # pip names what it could not find.


def test_names_are_the_machines_to_look_up(outside, at):
    """The resolver is one that only it reaches; the machine's search list counts, answers too long
    for a datagram come by TCP, and what is unknown is so at once."""
    text = end_of(at.fit(LOOK_UP))
    for name in ("pypi.lab.example", "pypi", "long.lab.example"):
        assert f"{name} is {OUTSIDE}" in text
    assert "nobody.example is unknown" in text


def test_without_a_network_no_name_is_known(outside, at):
    text = end_of(at.fit(LOOK_UP, "--network", "none"))
    assert text.count("is unknown") == 4


def test_a_job_reaches_the_outside_and_nothing_of_the_machine(outside, at):
    """By any of the machine's addresses, though it listens on all; nor what the machine reaches
    besides: containers, a cloud's metadata."""
    assert outside.inside.reaches(CLOUD) and outside.inside.reaches(CONTAINER)
    own = [f"10.177.0.{last}" for last in (252, 253, 254)]
    machine = [UPLINK, LAN, BRIDGE, CONTAINER, CLOUD, "127.0.0.53", "0.0.0.0", *own]
    text = end_of(at.fit(SCAN, "--env", targets(OUTSIDE, BEYOND, *machine)))
    assert "scanned" in text
    # By UDP BEYOND answers from its other address.
    assert reached(text) == both_ways(OUTSIDE) | {(BEYOND, "by_tcp")}
    assert "met" not in outside.service.text.replace(f"met {UPLINK}", "")
    # The outside sees the machine's address, never a host's.
    assert f"met {UPLINK}" in outside.stranger.text
    assert "10.177." not in outside.stranger.text


def test_without_a_network_a_job_reaches_nothing(outside, at):
    everything = targets(OUTSIDE, BEYOND, UPLINK, LAN, BRIDGE, CONTAINER, CLOUD)
    text = end_of(at.fit(SCAN, "--network", "none", "--env", everything))
    assert "scanned" in text and reached(text) == set()
    assert outside.state() == outside.before


def test_other_processes_cannot_connect_to_a_job(outside, at):
    """Not another job, nor the machine, a container of it, or a stranger for whom it is a router;
    all can where the job's rules are taken away."""
    job = at.fit(WAITING, "--name", "waits", output=at.folder / "waits")
    job.wait_for_output(b"it waits", GUARD_SECONDS)
    assert "up0/forwarding:1" in outside.state()["settings"]
    host = "10.177.0.1"
    others = [f"10.177.0.{last}" for last in (1, 252, 253, 254)]
    scan = at.fit(SCAN, "--name", "scans", "--env", targets(*others, OUTSIDE),
                  output=at.folder / "scans")  # fmt: skip
    assert reached(end_of(scan)) == both_ways(OUTSIDE)
    strangers = [(outside.inside, UPLINK), (outside.container, CONTAINER),
                 (outside.outside, OUTSIDE)]  # fmt: skip
    assert not any(space.reaches(host, source) for space, source in strangers)
    assert not outside.outside.reaches(CONTAINER)  # Handed on for jobs, not for strangers.
    assert job.text.count("met ") == 0 and job.text.count("heard ") == 0
    assert "inet mu" in outside.inside.run("nft", "list", "tables")
    outside.inside.run("nft", "flush", "ruleset")
    assert all(space.reaches(host, source) for space, source in strangers)
    assert outside.outside.reaches(CONTAINER)
    job.signal(signal.SIGINT)
    assert job.wait(GUARD_SECONDS) != 0


def test_what_killed_stewards_left_is_swept(outside, at):
    dead = at.fit(WAITING, "--name", "dead", hosts=2, output=at.folder / "dead")
    living = at.fit(WAITING, "--name", "living", output=at.folder / "living")
    wait_until("both hosts", lambda: dead.text.count("it waits") == 2, GUARD_SECONDS)
    living.wait_for_output(b"it waits", GUARD_SECONDS)
    stewards = [int(path.read_text().split()[0])
                for path in (at.state / "jobs" / "dead").glob("algo-*/steward.pid")]  # fmt: skip
    assert len(stewards) == 2
    dead.signal(signal.SIGKILL)
    for pid in stewards:
        os.kill(pid, signal.SIGKILL)
    dead.wait(GUARD_SECONDS)
    assert outside.inside.run("nft", "list", "tables").count("inet mu") == 2
    at.clean()
    # The other job goes on: it has its rules, its route and a machine that hands packets on.
    assert outside.inside.run("nft", "list", "tables").count("inet mu") == 1
    assert "up0/forwarding:1" in outside.state()["settings"]
    living.signal(signal.SIGINT)
    assert living.wait(GUARD_SECONDS) != 0


def test_the_last_job_of_two_leaves_the_machine_as_it_was(outside, at):
    """A machine that became a router meanwhile stays one."""
    first = at.fit(WAITING, "--name", "first", output=at.folder / "first")
    first.wait_for_output(b"it waits", GUARD_SECONDS)
    end_of(at.fit(SCAN, "--name", "second", "--env", targets(OUTSIDE),
                  output=at.folder / "second"))  # fmt: skip
    uplink = "/proc/sys/net/ipv4/conf/up0/forwarding"
    assert outside.inside.run("cat", uplink) == "1\n"
    outside.inside.run("sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward")
    first.signal(signal.SIGINT)
    assert first.wait(GUARD_SECONDS) != 0
    assert outside.inside.run("cat", uplink) == "1\n"
    for text, path in (("0", "ip_forward"), ("1", "conf/br0/forwarding")):
        outside.inside.run("sh", "-c", f"echo {text} > /proc/sys/net/ipv4/{path}")


def test_a_machine_without_nft_runs_jobs_without_a_network_and_says_so(outside, at):
    """Likewise without a default route: what a job does not need must not keep it from running."""
    outside.inside.run("mount", "--bind", "/dev/null", "/usr/sbin/nft")
    text = end_of(at.fit(SCAN, "--env", targets(OUTSIDE)))
    assert "warning: the job has no outside network: " in text and "nft" in text
    assert "scanned" in text and reached(text) == set()
    outside.inside.run("umount", "/usr/sbin/nft")
    outside.inside.run("ip", "route", "del", "default")
    process = at.fit(SCAN, "--overwrite", "--env", targets(OUTSIDE))
    text = end_of(process)
    assert "the machine has no default route" in text and reached(text) == set()
    outside.inside.run("ip", "route", "add", "default", "via", OUTSIDE)


class TestServer:
    """Networks of jobs that CreateTrainingJob asks for."""

    def run(self, outside, folder, config: dict | None = None, **more) -> tuple[dict, str]:
        from test_server_jobs import Job

        jobs = {"python": str(VENV / "bin" / "python"), **(config or {})}
        with SmServer(folder, jobs=jobs, within=outside.inside) as server:
            with outside.inside.visited():
                s3 = server.client("s3")
                s3.create_bucket(Bucket=BUCKET)
                s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
                environment = {"TARGETS": targets(OUTSIDE, UPLINK, CLOUD).split("=", 1)[1]}
                job = Job(server, SCAN, Environment=environment, **more)
                told = job.at_end()
                assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
                text = job.text()
                shown = self.described(server, job, outside)
            server.stop()
        outside.wait_for_nothing_left()
        return shown, text

    def described(self, server, job, outside) -> dict:
        """By `sm describe`: boto3 drops what AWS does not have."""
        from lab import SM
        from process import Process

        argv = outside.inside.enter([SM, "describe", job.name, "--json"])
        process = Process(argv, env=server.env())
        return json.loads(end_of(process))

    def test_a_job_reaches_the_outside(self, outside, folder):
        told, text = self.run(outside, folder)
        assert reached(text) == both_ways(OUTSIDE)
        assert told["MusterNetwork"] == "nat" and not told["EnableNetworkIsolation"]
        assert not [note for note in told.get("MusterNotes", []) if "network" in note]

    def test_an_isolated_job_does_not(self, outside, folder):
        told, text = self.run(outside, folder, EnableNetworkIsolation=True)
        assert "scanned" in text and reached(text) == set()
        assert told["MusterNetwork"] == "none" and told["EnableNetworkIsolation"]
        assert "network: none (EnableNetworkIsolation)" in told["MusterNotes"]

    def test_a_server_may_forbid_it(self, outside, folder):
        told, text = self.run(outside, folder, {"network": "none"})
        assert "scanned" in text and reached(text) == set()
        assert told["MusterNetwork"] == "none"
        assert "network: none (jobs.network of the server's config)" in told["MusterNotes"]
