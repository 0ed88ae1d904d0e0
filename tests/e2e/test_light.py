"""Light hosts: stewards on nodes without containers, started as an engine on each node does."""

import json
import os
import pathlib
import secrets
import signal

import pytest

from lab import SM
from process import Process, wait_until
from rootless import MPI4PY
from training import GUARD_SECONDS, mpi_hyperparameters

USER = 64322
PORT = 20777

RANKS = """
import os, pathlib, socket, sys, time
rank = os.environ["OMPI_COMM_WORLD_RANK"]
print("rank", rank, "of", os.environ["OMPI_COMM_WORLD_SIZE"], "on", socket.gethostname(),
      "as", os.getuid(), flush=True)
odd = [name for name in os.environ if name.startswith("SLURM")]
assert not odd and os.environ["SM_CURRENT_HOST"] == socket.gethostname(), odd
assert socket.gethostbyname("algo-1") != "127.0.0.1"
text = pathlib.Path(os.environ["SM_CHANNEL_TRAIN"], "file").read_text()
pathlib.Path(os.environ["SM_MODEL_DIR"], f"r{rank}").write_text(text)
pathlib.Path("/tmp/left").write_text("by a rank")
if "wait" in sys.argv[-1]:
    print("waiting", flush=True)
    time.sleep(3600)
"""


class Nodes:
    """A job of light hosts, one on each namespace of a lab, as `user` of the nodes."""

    def __init__(self, lab, count: int, user: int):
        self.user = user
        self.nodes = lab.hosts(count)
        self.name = f"light-{secrets.token_hex(4)}"
        self.key = secrets.token_hex(32)
        self.stewards: dict[str, Process] = {}
        self.lifelines: dict[str, int] = {}

    def spec(self, node, **muster) -> dict:
        job = f"/run/state/jobs/{self.name}"
        return {
            "spec": {
                "TrainingJobName": self.name,
                "HyperParameters": {"sagemaker_program": "script.py", **mpi_hyperparameters(2)},
                "InputDataConfig": [{"ChannelName": "train", "Folder": "/run/state/data"}],
                "ResourceConfig": {"InstanceCount": len(self.nodes), "InstanceType": "local"},
                "Muster": {
                    "SourceFolder": "/run/state/code",
                    "Python": "/usr/bin/python3",
                    "Path": "/usr/local/bin:/usr/bin:/bin",
                    "GraceMs": 5000,
                    "Network": "nat",
                    **muster,
                },
            },
            "light": True,
            "rollcall_port": PORT,
            "host": node.name,
            "hosts": [{"name": each.name, "address": each.address} for each in self.nodes],
            "state_folder": "/run/state",
            "job_folder": job,
            "host_folder": f"{job}/{node.name}",
            "key_file": f"{job}/key",
        }

    def start(self, script: str = RANKS, arguments: str = "", **muster) -> "Nodes":
        for node in self.nodes:
            self.bring(node, script, arguments, muster)
            # Opened for reading and writing, so that open() does not block.
            self.lifelines[node.name] = os.open(node.path("/run/state/life"), os.O_RDWR)
            user = [f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"]
            steward = [SM, "steward", "--spec", "/run/state/spec.json", "--lifeline", "9"]
            env = {"PATH": os.environ["PATH"], "HOME": "/run/state", "SLURM_JOB_ID": "7",
                   "SLURM_STEP_NODELIST": "algo-[1-2]", "PMI_FD": "9"}  # fmt: skip
            held = ["sh", "-c", 'exec "$@" 9</run/state/life', "sh"]
            line = [*held, "setpriv", *user, *steward]
            self.stewards[node.name] = node.start(line, env=env)
        return self

    def bring(self, node, script: str, arguments: str, muster: dict) -> None:
        """What an engine brings to a node."""
        spec = self.spec(node, **muster)
        if arguments:
            spec["spec"]["HyperParameters"]["word"] = json.dumps(arguments)
        node.check("sh", "-c", "umount /opt/ml && rm -r /opt/ml")  # A node knows of no job.
        root = node.path("/run/state")
        job = root / f"jobs/{self.name}"
        for folder in (job, root / "data", root / "code/mpi4py"):
            folder.mkdir(parents=True)
        (root / "data/file").write_text("data")
        (root / "code/script.py").write_text(script)
        (root / "code/mpi4py/__main__.py").write_text(MPI4PY)
        (job / "key").write_text(self.key + "\n")
        (root / "spec.json").write_text(json.dumps(spec))
        for path in (job / "key", root / "spec.json"):
            path.chmod(0o600)
        os.mkfifo(root / "life")
        for path in (root, *root.rglob("*")):
            os.chown(path, self.user, self.user)

    def host(self, name: str) -> pathlib.Path:
        node = next(each for each in self.nodes if each.name == name)
        return node.path(f"/run/state/jobs/{self.name}/{name}")

    def journal(self, name: str) -> bytes:
        file = self.host(name) / "journal"
        return file.read_bytes() if file.exists() else b""

    def wait(self) -> None:
        for name, steward in self.stewards.items():
            assert steward.wait(GUARD_SECONDS) == 0, f"{name}: {steward.text}"

    def wait_for(self, text: bytes) -> None:
        wait_until("the ranks", lambda: all(text in self.journal(n) for n in self.stewards))

    def assert_unmounted(self) -> None:
        """No mount of the job's shows on a node."""
        for node in self.nodes:
            mounts = node.path("/proc/1/mountinfo").read_text()
            assert self.name not in mounts and not node.path("/opt/ml").exists()

    def assert_bare(self) -> None:
        """Nothing of the job is left on a node but what it gives back."""
        self.assert_unmounted()
        for node in self.nodes:
            assert node.processes() == {}
            assert not node.path("/tmp/left").exists()


@pytest.fixture(params=[0, USER], ids=["root", "user"])
def nodes(lab, request):
    return lambda count: Nodes(lab, count, request.param)


def test_two_nodes_are_one_mpi_job(nodes):
    job = nodes(2).start()
    job.wait()
    told = job.journal("algo-1") + job.journal("algo-2")
    for rank in range(4):
        line = f"rank {rank} of 4 on algo-{rank // 2 + 1} as {job.user}"
        assert line.encode() in told, told.decode(errors="replace")
    for name in job.stewards:
        assert b'"Completed"' in job.journal(name)
        model = {path.name for path in (job.host(name) / "result/model").iterdir()}
        assert model == ({"r0", "r1"} if name == "algo-1" else {"r2", "r3"})
    job.assert_bare()


def test_ranks_are_notified_of_a_stop(nodes):
    job = nodes(2).start(arguments="wait")
    job.wait_for(b"waiting")
    for node in job.nodes:
        for pid in node.find(lambda words: "steward" in words[1:2] and words[0].endswith("/sm")):
            os.kill(pid, signal.SIGTERM)
    job.wait()
    for name in job.stewards:
        assert b'"Stopped"' in job.journal(name), job.journal(name).decode(errors="replace")
    job.assert_bare()


def test_a_cut_lifeline_leaves_nothing_and_ends_the_others(nodes):
    job = nodes(2).start(arguments="wait")
    job.wait_for(b"waiting")
    os.close(job.lifelines["algo-2"])
    job.wait()
    assert not job.host("algo-2").exists()
    assert b"algo-2" in job.journal("algo-1") and b'"Failed"' in job.journal("algo-1")
    job.assert_bare()


LATE = """
import pathlib, time
print("waiting", flush=True)
while not pathlib.Path("/run/later/here/file").exists():
    time.sleep(0.05)
"""


def test_what_a_node_mounts_later_is_seen_and_nothing_the_other_way(nodes):
    job = nodes(1)
    node = job.nodes[0]
    node.check("sh", "-c", "mkdir -p /run/later/here; mount --bind /run/later /run/later")
    node.check("mount", "--make-shared", "/run/later")
    job.start(LATE)
    job.wait_for(b"waiting")
    job.assert_unmounted()
    node.check("mount", "-t", "tmpfs", "late", "/run/later/here")
    node.path("/run/later/here/file").touch()
    job.wait()
    assert b'"Completed"' in job.journal("algo-1")


def test_a_field_that_no_light_host_can_have_is_refused_by_name(lab):
    job = Nodes(lab, 1, 0)
    job.start(Network="none")
    steward = job.stewards["algo-1"]
    assert steward.wait(GUARD_SECONDS) == 1
    assert "EnableNetworkIsolation: a light host uses its machine's network" in steward.text
