"""The ways to run one job that `make bench` compares, each on the same hosts of a lab."""

import dataclasses
import json
import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "tests" / "e2e"))

import training  # noqa: E402
from lab import VENV, Host, Lab  # noqa: E402
from process import Process, wait_until  # noqa: E402

REFERENCE = REPOSITORY / "build" / "reference-venv"
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

SSHD_CONFIG = """
Port 22
HostKey /run/lab/home/host_key
AuthorizedKeysFile /run/lab/home/.ssh/authorized_keys
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile /run/sshd.pid
"""

SSH_CONFIG = """
Host *
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""

# Inside one host: root's home is a private folder, and its ssh trusts the lab's one key.
SSH_SCRIPT = """
set -e
mkdir -p /run/lab/home/.ssh
cp "$1"/key /run/lab/home/.ssh/id_rsa
cp "$1"/key.pub /run/lab/home/.ssh/authorized_keys
cp "$1"/key /run/lab/home/host_key
cp "$1"/ssh_config /run/lab/home/.ssh/config
chmod -R go= /run/lab/home
cp "$1"/sshd_config /etc/ssh/sshd_config
sed -i 's|^root:\\([^:]*:[^:]*:[^:]*:[^:]*\\):[^:]*:|root:\\1:/run/lab/home:|' /etc/passwd
"""


@dataclasses.dataclass
class Work:
    """What is run: `script` on hosts x processes, without MPI if that is 1 x 1."""

    hosts: int
    processes: int
    script: str
    mpi: bool = True


@dataclasses.dataclass
class Result:
    first: float  # Start to the first user line of the last rank, seconds.
    end: float  # Last user line to the exit of all hosts.
    total: float
    cpu: float  # Seconds, with everything that the hosts' programs waited for.


def prepare_ssh(host: Host, folder: pathlib.Path) -> None:
    if not (folder / "key").exists():
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "rsa", "-N", "", "-m", "PEM", "-f", folder / "key"],
            check=True,
        )
        (folder / "sshd_config").write_text(SSHD_CONFIG)
        (folder / "ssh_config").write_text(SSH_CONFIG)
    host.check("sh", "-c", SSH_SCRIPT, "ssh", folder)


def lay_job(hosts: list[Host], work: Work) -> None:
    names = sorted(host.name for host in hosts)
    values = training.mpi_hyperparameters(work.processes)
    values["sagemaker_mpi_enabled"] = json.dumps(work.mpi)
    for host in hosts:
        training.write_job(host, names, work.script, values)


def measure(processes: list[Process], ranks: int, shown: list[Process] | None = None) -> Result:
    """Each rank's "first N" and "last N" show in one of `shown`; else in the first process."""
    for process in processes:
        code = process.wait(300)
        if code != 0:
            raise RuntimeError(f"exit {code}: {process.argv}\n{process.text[-4000:]}")
    shown = shown or processes[:1]
    started = min(process.started_at for process in processes)
    ended = max(process.ended_at for process in processes)
    first = max(time_of(shown, b"first %d" % rank) for rank in range(ranks))
    last = max(time_of(shown, b"last %d" % rank) for rank in range(ranks))
    cpu = sum(process.usage.ru_utime + process.usage.ru_stime for process in processes)
    return Result(first - started, ended - last, ended - started, cpu)


def time_of(shown: list[Process], text: bytes) -> float:
    for process in shown:
        if text in process.out:
            return process.time_of(text, "first")
    raise RuntimeError(f"nobody wrote {text!r}")


def bare_python(lab: Lab, work: Work) -> Result:
    host = lab.hosts(1)[0]
    script = host.folder / "ml" / "code" / training.SCRIPT
    return measure([host.start([VENV / "bin/python", script], env={"PATH": SYSTEM_PATH})], 1)


def bare_mpirun(lab: Lab, work: Work) -> Result:
    hosts = lab.hosts(work.hosts)
    daemons = []
    if work.hosts > 1:
        for host in hosts:
            prepare_ssh(host, lab.folder)
            daemons.append(host.start(["/usr/sbin/sshd", "-D", "-e"], env={"PATH": SYSTEM_PATH}))
        for host in hosts:
            wait_until("sshd", lambda h=host: h.check("ss", "-Hltn", "sport = :22"))
    script = hosts[0].base / "code" / training.SCRIPT
    if work.hosts > 1:  # One path on every host: /opt/ml is each host's own.
        script = pathlib.Path("/opt/ml/code") / training.SCRIPT
    names = ",".join(f"{host.name}:{work.processes}" for host in hosts)
    argv = [
        "mpirun",
        "--host",
        names,
        "-np",
        work.hosts * work.processes,
        "--allow-run-as-root",
        "-mca",
        "btl_tcp_if_include",
        "eth0",
        "-mca",
        "oob_tcp_if_include",
        "eth0",
        "-bind-to",
        "none",
        "-map-by",
        "slot",
        "-mca",
        "pml",
        "ob1",
        "-mca",
        "btl",
        "^openib",
        VENV / "bin/python",
        "-m",
        "mpi4py",
        script,
    ]
    try:
        environment = {"PATH": SYSTEM_PATH, "HOME": "/run/lab/home"}
        return measure([hosts[0].start(argv, env=environment)], work.hosts * work.processes)
    finally:
        for daemon in daemons:
            daemon.end()


def reference(lab: Lab, work: Work) -> Result:
    hosts = lab.hosts(work.hosts)
    for host in hosts:
        if work.mpi:
            prepare_ssh(host, lab.folder)
    environment = {
        "PATH": f"{REFERENCE}/bin:{SYSTEM_PATH}",
        "HOME": "/run/lab/home",
        "AWS_DEFAULT_REGION": "us-east-1",
        "LANG": "C.UTF-8",
    }
    argv = [REFERENCE / "bin/python", REFERENCE / "bin/train"]
    return measure(
        [host.start(argv, env=environment) for host in hosts], work.hosts * work.processes
    )


def muster(lab: Lab, work: Work) -> Result:
    hosts = lab.hosts(work.hosts)
    environment = training.host_environment("ab" * 32)
    program = training.train_program()
    return measure(
        [host.start([program], env=environment) for host in hosts], work.hosts * work.processes
    )


SIDES = {"python": bare_python, "mpirun": bare_mpirun, "reference": reference, "muster": muster}


def run(side: str, work: Work, folder: pathlib.Path) -> Result:
    """One run in a lab of its own."""
    folder.mkdir(parents=True)
    with Lab(folder) as lab:
        lay_job(lab.hosts(work.hosts), work)
        return SIDES[side](lab, work)
