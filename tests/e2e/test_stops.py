"""A stop gives every process its grace, under every launcher and form of an entry point.

After the signal, each process saves for a while. All end differently: the first soon, and with an
exit code for which launchers end the others.
"""

import dataclasses
import itertools
import re
import shutil
import signal

import pytest

from fit import GUARD_SECONDS
from image import STANDINS
from lab import VENV
from process import Process
from sm_server import SmServer

GRACE_SECONDS = 60
HOUR_SECONDS = 3600
TIMEOUT_SECONDS = 25
# Longer than mpirun takes to end its ranks when one of them has ended badly.
SAVE_SECONDS = 3
# torch's and DeepSpeed's launchers kill their ranks 30 s after the signal.
LONG_SAVE_SECONDS = 35
# A job whose ranks end at once is over in less than 1 s. On a machine that also compiles, it is
# still over long before any wait of a launcher (30 s) or of the job (an hour) has ended.
AT_ONCE_SECONDS = 20
# Launchers that see the first end others, and muster may not let them see it.
BADLY = "[143, -1]"
WELL = "[0, 0]"

RANK = """
import json, os, signal, sys, time
def number(env):
    if "TF_CONFIG" in env:  # Workers first, then parameter servers.
        config = json.loads(env["TF_CONFIG"])
        task = config["task"]
        return task["index"] + (task["type"] == "ps") * len(config["cluster"]["worker"])
    if "DMLC_ROLE" in env:  # A worker and a server on each host, and the scheduler on the first.
        hosts = json.loads(env["SM_HOSTS"])
        role = ("worker", "server", "scheduler").index(env["DMLC_ROLE"])
        return role * len(hosts) + hosts.index(env["SM_CURRENT_HOST"])
    names = ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK", "WORKER")
    return next((int(env[name]) for name in names if name in env), 0)
rank = number(os.environ)
times_told = 0
def save(*_):
    global times_told
    times_told += 1
    if times_told > 1:
        open("/opt/ml/model/told-twice-%d" % rank, "w").close()
        return
    end = time.monotonic() + (SECONDS if rank % 2 else 0.1)
    while time.monotonic() < end:
        print("saving", rank, flush=True)
        time.sleep(0.1)
    open("/opt/ml/model/saved-%d" % rank, "w").close()
    if ENDS[rank % len(ENDS)] >= 0:
        os._exit(ENDS[rank % len(ENDS)])
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)
signal.signal(signal.SIGTERM, save)
print("ready %d." % rank, flush=True)
while True:
    signal.pause()
"""

# What torch.multiprocessing.spawn does: SIGINT to the workers of a parent that dies.
SPAWN = """
import ctypes, multiprocessing, os, runpy, signal
def work(number):
    ctypes.CDLL(None).prctl(1, signal.SIGINT)
    os.environ["WORKER"] = str(number)
    runpy.run_path("rank.py")
if __name__ == "__main__":
    workers = [multiprocessing.Process(target=work, args=(number,)) for number in range(2)]
    for worker in workers:
        worker.start()
    multiprocessing.connection.wait([worker.sentinel for worker in workers])
    for worker in workers:
        worker.join()
"""

DEAF = "(trap '' TERM; while :; do sleep 1; done) & "
# What MXNet's scheduler and servers import, in place of running the script.
MXNET = 'import runpy\nrunpy.run_path("rank.py")\n'
ACCELERATE = """
set -- $(python3 -c '
import json, os
hosts = json.loads(os.environ["SM_HOSTS"])
print(len(hosts), hosts.index(os.environ["SM_CURRENT_HOST"]), hosts[0])')
exec python3 -m accelerate.commands.launch --num_machines $1 --machine_rank $2 \\
  --main_process_ip $3 --main_process_port 29500 --num_processes $(($1 * 2)) rank.py
"""


@dataclasses.dataclass(frozen=True)
class Form:
    """An entry point that runs `ranks` on each host, and `once` more in the whole job."""

    text: str
    ranks: int = 2
    name: str = "entry.sh"
    flags: tuple = ()
    once: int = 0
    numbered: bool = False  # Over all hosts; without an operator each host has the same numbers.
    ends: str = BADLY

    def processes(self, hosts: int) -> int:
        return self.ranks * hosts + self.once

    def numbers(self, hosts: int) -> range:
        return range(self.processes(hosts if self.numbered else 1))


def shell(line: str, ranks: int = 2, interpreter: str = "sh", **more) -> Form:
    return Form(f"#!/bin/{interpreter}\n{line}\n", ranks, **more)


@dataclasses.dataclass(frozen=True)
class Operator:
    line: str  # What follows "sm".
    call: str  # In Python.
    ranks: int = 2
    once: int = 0
    numbered: bool = True

    def forms(self, name: str) -> dict[str, Form]:
        """By exec, with a line behind it, and from Python."""
        counts = {"ranks": self.ranks, "once": self.once, "numbered": self.numbered}
        caller = f"import sagemaker_containers.operators as sm\nsm.{self.call}\n"
        return {
            f"exec-{name}": shell(f"exec sm {self.line} rank.py", **counts),
            name: shell(f"sm {self.line} rank.py\necho after $?", **counts),
            f"{name}-python": Form(caller, name="entry.py", **counts),
        }


OPERATORS = {
    "mpirun": Operator(
        "mpirun --process_per_hosts 2 python3", "mpirun('rank.py', process_per_hosts=2)"
    ),
    "run": Operator("run python3", "run('rank.py')", ranks=1, numbered=False),
    "torchrun": Operator(
        "torchrun --max-restarts 3 --nproc-per-node 2", "torchrun('rank.py', nproc_per_node=2)"
    ),
    "deepspeed": Operator("deepspeed --num_gpus 2", "deepspeed('rank.py', num_gpus=2)"),
    # The worker ends first, and the servers keep their grace.
    "tf": Operator(
        "tf run-distributed-training --num-workers 1 --num-parameter-servers 2",
        "tf.run_distributed_training('rank.py', num_workers=1, num_parameter_servers=2)",
        ranks=0,
        once=3,
    ),
    "tf-multi-worker": Operator("tf multi-worker", "tf.multi_worker('rank.py')", ranks=1),
    "mxnet": Operator("mxnet run python3", "mxnet.run('rank.py')", once=1),
}

TWO = "WORKER=0 python3 rank.py & WORKER=1 python3 rank.py & "


def by_flags(*flags) -> Form:
    """The script is the entry point, and `sm fit` is told how to run it."""
    return Form(RANK, 2, "rank.py", (*flags, "--processes-per-host", 2), numbered=True)


FORMS = {
    "direct": Form(RANK, 1, "rank.py"),
    "mpi": by_flags("--mpi"),
    "sh": shell("python3 rank.py\necho ended $?", 1),
    "exec": shell("exec python3 rank.py", 1),
    "bash": shell("set -e\nexport X=1\npython3 rank.py", 1, "bash"),
    "session": shell("setsid python3 rank.py", 1),
    "pipe": shell("python3 rank.py | tee log", 1),
    "helper": shell(DEAF + "python3 rank.py", 1),
    "helper-exec": shell(DEAF + "exec python3 rank.py", 1),
    "wait": shell(TWO + "wait"),
    "trap": shell(TWO + "trap 'wait' TERM\nwait"),
    "python": Form(
        "import subprocess, sys\nsys.exit(subprocess.call([sys.executable, 'rank.py']))\n",
        1,
        "entry.py",
    ),
    "spawn": Form(SPAWN, 2, "entry.py"),
    "mpirun-again": shell(
        "sm mpirun --process_per_hosts 2 true\n"
        "sm mpirun --process_per_hosts 2 python3 rank.py\necho after $?",
        numbered=True,
    ),
    "mpirun-sh": shell(
        "sm mpirun --process_per_hosts 2 sh -c 'python3 rank.py; exit 1'", numbered=True
    ),
    "train-torchrun": by_flags("--torchrun"),
    "train-deepspeed": by_flags("--hyperparameter", "sagemaker_deepspeed_enabled=true"),
    "torchrun-direct": shell(
        "sm torchrun --launcher direct --nproc-per-node 2 rank.py", numbered=True
    ),
    "deepspeed-direct": shell(
        "sm deepspeed --launcher direct --num_gpus 2 rank.py", numbered=True
    ),
    # muster does not hold back the ends of ranks that the user's own launcher started.
    "accelerate": shell(ACCELERATE, numbered=True, ends=WELL),
}
for operator in OPERATORS:
    FORMS |= OPERATORS[operator].forms(operator)

# (form, hosts, how it is stopped)
GATE = [
    ("mpi", 1, "signal"),
    ("sh", 1, "signal"),
    ("pipe", 1, "timeout"),
    ("helper", 1, "signal"),
    ("spawn", 1, "signal"),
    ("exec-mpirun", 1, "stop"),
    ("mpirun-again", 2, "signal"),
    ("torchrun", 2, "api"),
    ("mpirun", 2, "signal"),
    ("run", 2, "signal"),
    ("torchrun", 2, "signal"),
    ("tf", 2, "signal"),
    ("mxnet", 2, "signal"),
    ("accelerate", 1, "signal"),
]


def write_source(machine, form: Form, seconds: float, ends: str, script: str = RANK) -> None:
    rank = script.replace("SECONDS", str(seconds)).replace("ENDS", ends)
    (machine.source / "rank.py").write_text(rank)
    if form.name != "rank.py":
        (machine.source / form.name).write_text(form.text)
    (machine.source / form.name).chmod(0o755)
    (machine.source / "mxnet.py").write_text(MXNET)
    for package in ("torch", "deepspeed", "accelerate"):
        shutil.copytree(STANDINS / package, machine.source / package, dirs_exist_ok=True)


def wait_until_ready(process: Process, form: Form, hosts: int) -> None:
    for number in form.numbers(hosts):
        process.wait_for_output(b"ready %d." % number, GUARD_SECONDS)


def fit(machine, form: Form, hosts: int, how: str, grace: int) -> Process:
    """A job of this machine, until it is stopped and over."""
    words = [*form.flags, "--timeout", TIMEOUT_SECONDS] if how == "timeout" else list(form.flags)
    process = machine.sm(
        *("fit", form.name, "--source-dir", machine.source, "--output", machine.output),
        *("--hosts", hosts, "--grace", grace),
        *("--python", VENV / "bin/python", "--name", "stops", *words),
    )
    wait_until_ready(process, form, hosts)
    if how == "signal":
        process.signal(signal.SIGINT)
    if how == "stop":
        assert machine.sm("stop", "stops").wait(GUARD_SECONDS) == 0
    process.wait(GUARD_SECONDS)
    return process


def submit(machine, form: Form, hosts: int, grace: int) -> Process:
    """A server's job, until it is stopped by StopTrainingJob and over."""
    jobs = {"python": str(VENV / "bin/python"), "stop_grace_seconds": grace}
    path = machine.environment()["PATH"]
    with SmServer(machine.folder, jobs=jobs, env={"PATH": path}) as server:
        process = machine.sm(
            *("submit", form.name, "--source-dir", machine.source, "--hosts", hosts),
            *("--name", "stops", "--wait", *form.flags),
            environment=server.env(),
        )
        wait_until_ready(process, form, hosts)
        for _ in range(2):  # Clients try again: the second takes nothing of the grace.
            server.client("sagemaker").stop_training_job(TrainingJobName="stops")
        process.wait(GUARD_SECONDS)
        words = ("download", "stops", machine.output, "--model")
        bring = machine.sm(*words, environment=server.env())
        assert bring.wait(GUARD_SECONDS) == 0, bring.text + process.text
    return process


def check(
    machine,
    name: str,
    hosts: int,
    how: str,
    seconds: float = SAVE_SECONDS,
    ends: str = "",
    grace: int = GRACE_SECONDS,
    within: float = GRACE_SECONDS,
) -> Process:
    form = FORMS[name]
    write_source(machine, form, seconds, ends or form.ends)
    if how == "api":
        process = submit(machine, form, hosts, grace)
    else:
        process = fit(machine, form, hosts, how, grace)
    saved = {path.name for path in (machine.output / "model").glob("*")}
    wanted = {f"saved-{number}" for number in form.numbers(hosts)}
    assert saved == wanted, f"{saved}\n{process.text}"
    if "after $?" in form.text:  # The operator outlives the signal, and so does its shell.
        assert len(re.findall(r" [|!] after \d+$", process.text, re.M)) == hosts, process.text
    told_after = TIMEOUT_SECONDS if how == "timeout" else 0
    took = process.ended_at - process.time_of(b"ready")
    assert took - told_after < within, process.text
    return process


@pytest.mark.parametrize("form, hosts, how", GATE)
def test_a_stop_gives_every_process_its_grace(machine, form, hosts, how):
    check(machine, form, hosts, how)


def test_the_log_says_what_a_stop_waits_for(machine):
    """Ranks 0 and 2 end soon; 1 and 3 save for longer than the 2 s after which it is said."""
    process = check(machine, "mpirun", 2, "signal")
    line = r"(algo-\d) .*: [12] of 2 ranks still running, (\d+) s of grace left"
    said = re.findall(line, process.text)
    assert {host for host, _ in said} == {"algo-1", "algo-2"}, process.text
    assert all(0 < int(left) < GRACE_SECONDS for _, left in said), process.text


@pytest.mark.parametrize("form", ["sh", "mpirun", "torchrun", "deepspeed"])
def test_ranks_that_end_at_once_use_up_no_grace(machine, form):
    check(machine, form, 1, "signal", seconds=0, grace=HOUR_SECONDS, within=AT_ONCE_SECONDS)


@pytest.mark.deep
@pytest.mark.parametrize(
    "hosts, how",
    [*itertools.product([1, 2], ["signal", "stop", "timeout"]), (2, "api")],
)
@pytest.mark.parametrize("form", FORMS)
def test_a_stop_gives_every_process_its_grace_in_all_forms(machine, form, hosts, how):
    check(machine, form, hosts, how)


@pytest.mark.deep
@pytest.mark.parametrize("ends", [WELL, "[0, 143]", "[-1, 0]"])
@pytest.mark.parametrize(
    "form",
    ["mpi", "mpirun", "mpirun-sh", "run", "spawn", "torchrun", "train-torchrun", "deepspeed", "tf",
     "mxnet"],
)
def test_however_the_ranks_end(machine, form, ends):
    check(machine, form, 2, "signal", ends=ends)


@pytest.mark.deep
@pytest.mark.parametrize(
    "form, how",
    [
        *[(form, "signal") for form in ("sh", "mpi", "mpirun", "run", "tf", "mxnet", "accelerate")],
        *itertools.product(["torchrun", "train-torchrun", "deepspeed"], ["signal", "timeout"]),
        *itertools.product(["torchrun", "deepspeed"], ["api"]),
    ],
)
def test_as_long_as_the_grace_lasts(machine, form, how):
    check(machine, form, 1, how, seconds=LONG_SAVE_SECONDS)
