"""Who does not hold the job's key stays outside."""

import re
import secrets

from process import wait_until
from training import GUARD_SECONDS, Training, host_environment, train_program, write_job

HELLO = "from mpi4py import MPI; MPI.COMM_WORLD.Barrier(); print('together', flush=True)"


def test_a_stranger_with_another_key_is_refused_and_the_job_goes_on(lab, training):
    stranger_host = lab.hosts(3)[2]
    job = training(2, 1, HELLO)
    job.start(job.hosts[0])

    # A stranger on another machine claims to be algo-2, with a key of its own.
    write_job(
        stranger_host,
        ["algo-1", "algo-2"],
        HELLO,
        {"sagemaker_program": '"script.py"', "sagemaker_mpi_enabled": "true"},
    )
    config = stranger_host.base / "input/config/resourceconfig.json"
    config.write_text(
        config.read_text().replace('"current_host": "algo-3"', '"current_host": "algo-2"')
    )
    environment = host_environment(secrets.token_hex(32), {"MUSTER_JOIN_DEADLINE": "3"})
    stranger = stranger_host.start([train_program()], env=environment)
    assert stranger.wait(GUARD_SECONDS) != 0
    assert "the other side rejected this side's key" in stranger.text, stranger.text
    assert "rejected this side's key" in (stranger_host.base / "output/failure").read_text()
    wait_until("the leader's word of it", lambda: "roll call: refused " in job.leader.text)
    assert job.leader.running(), job.story()

    job.start(job.hosts[1])
    job.succeed()
    assert [line for lines in job.rank_lines().values() for line in lines].count("together") == 2


# Answers every connection with the TLS alert "handshake failure" until it is killed.
ALERT = """
import os, socket
server = socket.create_server(("", 9730))
print("answers as %d." % os.getpid(), flush=True)
while True:
    peer = server.accept()[0]
    peer.recv(4096)
    peer.sendall(bytes([21, 3, 3, 0, 2, 2, 40]))
    peer.close()
"""


def test_an_impostor_at_the_leaders_port_ends_no_host(training):
    job: Training = training(2, 1, HELLO)
    first = job.hosts[0].start(["python3", "-c", ALERT])
    first.wait_for_output(b"answers as", GUARD_SECONDS)
    job.start(job.hosts[1])
    wait_until("a word of it", lambda: "rejected this side's key" in job["algo-2"].text)
    job.hosts[0].check("kill", re.search(r"answers as (\d+)\.", first.text)[1])
    first.wait(GUARD_SECONDS)
    job.start(job.hosts[0])
    job.succeed()


def test_the_leader_listens_at_the_jobs_address_alone(training):
    job: Training = training(2, 1, HELLO)
    job.start(job.hosts[0])
    ports = wait_until("its port", lambda: [
        line.split()[3]
        for line in job.hosts[0].check("ss", "-Hltn").decode().splitlines()
        if ":9730 " in line
    ])  # fmt: skip
    assert ports == ["10.99.0.1:9730"]
    job.start(job.hosts[1])
    job.succeed()


def test_a_stranger_that_speaks_no_tls_is_dropped_and_the_job_goes_on(lab, training):
    other = lab.hosts(3)[2]
    job: Training = training(2, 1, HELLO)
    job.start(job.hosts[0])
    wait_until("the leader's port", lambda: b":9730 " in job.hosts[0].check("ss", "-Hltn"))
    other.check(
        "python3",
        "-c",
        "import os, socket\n"
        "for n in range(20):\n"
        "  s = socket.create_connection(('algo-1', 9730), 10)\n"
        "  s.sendall(os.urandom(4096) if n % 2 else b'GET / HTTP/1.0\\r\\n\\r\\n')\n",
    )
    job.start(job.hosts[1])
    job.succeed()


def test_the_key_reaches_no_command_line_and_no_rank(training):
    script = """
import glob, os
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
key = "THE-KEY"
for path in glob.glob("/proc/[0-9]*/cmdline"):
    try:
        assert key.encode() not in open(path, "rb").read(), path
    except OSError:
        pass
assert not [name for name, value in os.environ.items() if key in value]
assert not [name for name in os.environ if name.startswith("MUSTER_") and name != "MUSTER_SOCKET"]
print("clean", flush=True)
"""
    job = training(2, 1, script)
    for host in job.hosts:
        path = host.base / "code" / "script.py"
        path.write_text(path.read_text().replace("THE-KEY", job.key))
    job.start().succeed()


def test_several_hosts_without_a_key_do_not_start(training):
    job = training(2, 1, HELLO, env={"MUSTER_JOB_KEY": ""})
    job.start()
    assert set(job.wait().values()) == {1}, job.story()
    for train in job.trains.values():
        said = [line for line in train.text.splitlines() if "MUSTER_JOB_KEY_FROM_NAME=1" in line]
        assert len(said) == 1 and "MUSTER_JOB_KEY_FILE" in said[0], train.text
        assert "together" not in train.text
    for host in job.hosts:
        assert "requires a key" in (host.base / "output/failure").read_text()


def test_a_key_from_the_jobs_name_is_used_on_request_and_warned_of(training):
    wish = {"MUSTER_JOB_KEY": "", "MUSTER_JOB_KEY_FROM_NAME": "1"}
    job = training(2, 1, HELLO, env=wish).start().succeed()
    assert "warning: MUSTER_JOB_KEY_FROM_NAME" in job.leader.text, job.story()


def test_one_host_needs_no_key(training):
    training(1, 2, HELLO, env={"MUSTER_JOB_KEY": ""}).start().succeed()
