"""Machines gathered by hand: one line on each, no file of a platform."""

import json
import re
import subprocess
import time

import pytest

from lab import SM
from process import wait_until
from test_operators import SUM, with_sm
from training import GUARD_SECONDS, host_environment

LOST_WITHIN = 8.0  # Seconds from a cut link to the end of all.


class Hands:
    """A line, typed on each of some hosts."""

    def __init__(self, lab, count: int):
        self.hosts = lab.hosts(count)
        made = subprocess.run([SM, "key", "job"], capture_output=True, check=True, timeout=30)
        self.runs = {}
        for host in self.hosts:
            self.write(host, "/etc/job.key", made.stdout.decode(), 0o600)
            self.write(host, "/opt/train.py", SUM)

    @staticmethod
    def write(host, path: str, text: str, mode: int = 0o644) -> None:
        file = host.path(path)
        file.write_text(text)
        file.chmod(mode)

    def start(self, *line, own=None, env=None, on=None) -> "Hands":
        """`own(host)`: words behind the operator's name that are this host's alone."""
        base = {k: v for k, v in host_environment("").items() if not k.startswith("MUSTER_")}
        base["MUSTER_JOIN_DEADLINE"] = "30"
        for host in on or self.hosts:
            mine = env(host) if callable(env) else env or {}
            words = [str(word) for word in line]
            at = 2 if words[0] in ("tf", "mxnet") else 1
            words[at:at] = own(host) if own else []
            line_there = ["env", "-C", "/opt", "sm", *words]
            self.runs[host.name] = host.start(line_there, env=with_sm({**base, **mine}))
        return self

    def wait(self, seconds: float = GUARD_SECONDS) -> dict[str, int]:
        return {name: run.wait(seconds) for name, run in self.runs.items()}

    def story(self) -> str:
        return "\n".join(f"--- {name}\n{run.text}" for name, run in self.runs.items())

    def succeed(self) -> str:
        codes = self.wait()
        assert set(codes.values()) == {0}, f"{codes}\n{self.story()}"
        return self.story()


@pytest.fixture
def hands(lab):
    return lambda count: Hands(lab, count)


def test_one_line_on_each_of_three_machines_is_one_mpi_job(hands):
    job = hands(3)
    job.start("mpirun", "--hosts", "algo-1,algo-2,algo-3", "--key-file", "/etc/job.key",
              "--process_per_hosts", 2, "python", "train.py", "--rate", "10")
    said = job.succeed()
    assert said.count("ranks 6 args ['--rate', '10']") == 6, said
    for host in job.hosts:
        assert host.processes() == {}


@pytest.mark.parametrize("hosts", ["10.99.0.1,10.99.0.2", "algo-[1-2]"])
def test_hosts_are_found_by_address_and_in_brackets(hands, hosts):
    job = hands(2)
    line = f"mpirun --hosts={hosts} --key-file=/etc/job.key -n 2 python train.py".split()
    assert job.start(*line).succeed().count("ranks 2 args []") == 2


def test_variables_say_it_without_a_flag(hands):
    job = hands(2)
    env = {"MUSTER_HOSTS": "algo-1,algo-2", "MUSTER_JOB_KEY_FILE": "/etc/job.key"}
    said = job.start("mpirun", "-n", 2, "python", "train.py", env=env).succeed()
    assert said.count("ranks 2") == 2, said


def test_a_host_that_cannot_find_itself_needs_host(hands):
    job = hands(2)
    for host in job.hosts:
        host.check("hostname", f"machine-{host.name}")
        known = host.path("/etc/hosts").read_text().splitlines()
        own = [line for line in known if not line.endswith(f" {host.name}")]
        host.path("/etc/hosts").write_text("\n".join(own) + f"\n127.0.1.1 {host.name}\n")
    line = ["run", "--hosts", "algo-1,algo-2", "--key-file", "/etc/job.key", "--", "hostname"]
    lost = job.start(*line, on=job.hosts[:1]).wait()
    assert lost == {"algo-1": 2}, job.story()
    assert re.search(
        r"this machine \(machine-algo-1, 10\.99\.0\.1.*\) matches none of algo-1, algo-2",
        job.story(),
    ), job.story()
    said = job.start(*line, own=lambda host: ["--host", host.name]).succeed()
    assert "machine-algo-1" in said and "machine-algo-2" in said, said


def test_a_step_of_srun_names_its_nodes(hands):
    job = hands(2)

    def task(host):
        return {
            "SLURM_STEP_NODELIST": "algo-[1-2]",
            "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
            "SLURM_NODEID": str(int(host.name[-1]) - 1),
            "MUSTER_JOB_KEY_FILE": "/etc/job.key",
        }

    said = job.start("mpirun", "-n", 2, "python", "train.py", env=task).succeed()
    assert said.count("ranks 2") == 2, said


def test_an_indexed_job_of_kubernetes_is_known_by_its_index(hands):
    job = hands(2)

    def pod(host):
        return {
            "MUSTER_HOSTS": "algo-[1-2]",
            "JOB_COMPLETION_INDEX": str(int(host.name[-1]) - 1),
            "MUSTER_JOB_KEY_FILE": "/etc/job.key",
        }

    for host in job.hosts:
        host.check("hostname", f"pod-{host.name}")
    said = job.start("run", "--", "sh", "-c", "hostname", env=pod).succeed()
    assert "pod-algo-1" in said and "pod-algo-2" in said, said


OPERATORS = {
    "tf run-distributed-training": ("TF_CONFIG", '"worker":["algo-1:'),
    "tf multi-worker": ("TF_CONFIG", '"worker":["algo-1:'),
    "mxnet run": ("DMLC_NUM_WORKER", "2"),
    "torchrun --launcher direct": ("WORLD_SIZE", "2"),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_the_other_operators_take_the_same_flags(hands, name):
    job = hands(2)
    variable, want = OPERATORS[name]
    script = f"import os; print('told', os.environ.get({variable!r}), flush=True)\n"
    for host in job.hosts:
        job.write(host, "/opt/show.py", script)
        # A stand-in: the scheduler and servers of MXNet run `import mxnet`.
        job.write(host, "/opt/mxnet.py", "")
    flags = ["--hosts", "algo-1,algo-2", "--key-file", "/etc/job.key"]
    said = job.start(*name.split(), "show.py", own=lambda _: flags).succeed()
    told = [line for line in said.splitlines() if "told " in line]
    assert len([line for line in told if want in line]) >= 2, said


def test_train_runs_without_the_platforms_files(hands):
    job = hands(2)
    for host in job.hosts:
        (host.base / "code").mkdir()
        (host.base / "code" / "train.py").write_text(
            "import os; print('hosts', os.environ['SM_HOSTS'], os.environ['SM_CURRENT_HOST'])\n"
        )
    env = {"SAGEMAKER_PROGRAM": "train.py", "MUSTER_TRAINING_LOG": "0"}
    line = ["train", "--hosts", "algo-1,algo-2", "--key-file", "/etc/job.key"]
    said = job.start(*line, env=env).succeed()
    hosts = json.dumps(["algo-1", "algo-2"], separators=(",", ":"))
    assert f"hosts {hosts} algo-1" in said and f"hosts {hosts} algo-2" in said, said


def test_an_operator_in_the_entry_point_knows_the_hosts(hands):
    job = hands(2)
    for host in job.hosts:
        (host.base / "code").mkdir()
        (host.base / "code" / "entry.sh").write_text("sm mpirun -n 2 python /opt/train.py\n")
    env = {"SAGEMAKER_PROGRAM": "entry.sh"}
    line = "train --hosts algo-1,algo-2 --key-file /etc/job.key".split()
    assert job.start(*line, env=env).succeed().count("ranks 2") == 2


def test_a_host_that_never_comes_is_named(hands):
    job = hands(3)
    line = "run --hosts algo-[1-3] --key-file /etc/job.key -- hostname".split()
    codes = job.start(*line, env={"MUSTER_JOIN_DEADLINE": "2"}, on=job.hosts[:2]).wait()
    assert 0 not in codes.values(), job.story()
    for run in job.runs.values():
        assert "algo-3" in run.text, job.story()


def test_a_cut_link_ends_all_within_seconds(hands):
    job = hands(3)
    for host in job.hosts:
        job.write(host, "/opt/wait.py", "import signal\nprint('up', flush=True)\nsignal.pause()\n")
    line = "mpirun --hosts algo-[1-3] --key-file /etc/job.key -n 3 python wait.py".split()
    job.start(*line)
    wait_until("three ranks", lambda: job.story().count("up") == 3, GUARD_SECONDS)
    job.hosts[1].cut()
    cut = time.monotonic()
    codes = job.wait()
    took = max(run.ended_at for run in job.runs.values()) - cut
    assert 0 not in codes.values(), job.story()
    assert "algo-2" in job.runs["algo-1"].text, job.story()
    assert took < LOST_WITHIN, f"{took:.1f} s\n{job.story()}"


def test_another_key_joins_nothing(hands):
    job = hands(2)
    job.write(job.hosts[1], "/etc/job.key", "0" * 64, 0o600)
    line = "run --hosts algo-[1-2] --key-file /etc/job.key -- hostname".split()
    codes = job.start(*line, env={"MUSTER_JOIN_DEADLINE": "3"}).wait()
    assert 0 not in codes.values(), job.story()
    assert "key" in job.runs["algo-2"].text, job.story()


WRONG = {
    "no key": (["run", "--hosts", "algo-1,algo-2"], 1, "sm key job >job.key"),
    "twice": (["run", "--hosts", "algo-1,algo-1"], 2, "host algo-1 appears twice"),
    "an option of ssh": (["run", "--hosts", "algo-1,-oProxyCommand=id", "--key-file",
                          "/etc/job.key"], 1, "a list of host names"),
    "a command for its shell": (["run", "--hosts", "algo-1,a;id", "--key-file", "/etc/job.key"],
                                1, "a list of host names"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_said_in_one_line(hands, name):
    words, code, want = WRONG[name]
    job = hands(1)
    assert job.start(*words, "--", "true").wait() == {"algo-1": code}, job.story()
    lines = job.runs["algo-1"].err.decode().splitlines()
    assert len(lines) == 1 and want in lines[0], lines


def test_a_jobs_key_in_a_file_is_its_owners_alone(folder, tmp_path):
    with open(folder / "job.key", "wb") as file:
        subprocess.run([SM, "key", "job"], stdout=file, check=True, timeout=30)
    assert (folder / "job.key").stat().st_mode & 0o777 == 0o600
    key = (folder / "job.key").read_text()
    assert re.fullmatch(r"[0-9a-f]{64}\n", key), key
    again = subprocess.run([SM, "key", "job"], capture_output=True, check=True, timeout=30)
    assert again.stdout.decode() != key


def test_a_key_that_others_can_read_is_reported(hands):
    job = hands(2)
    for host in job.hosts:
        host.path("/etc/job.key").chmod(0o644)
    line = "run --hosts algo-[1-2] --key-file /etc/job.key -- true".split()
    said = job.start(*line).succeed()
    assert said.count("other users can read the job's key; run chmod 600 /etc/job.key") == 2, said
