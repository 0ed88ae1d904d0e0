"""`--slurm hosts=container` for who is not root on the nodes: namespaces of his own there."""

import os
import pathlib
import shutil
import tempfile

import pytest
from lab import SM
from process import Process, wait_until
from rootless import FIRST_ID, IDS, MPI4PY, USER
from slurm_cluster import Cluster
from slurm_jobs import Place, wait_until_clean
from test_slurm_containers import EATS, WAITS

pytestmark = pytest.mark.slurm

NODES = ("node1", "node2")
CONTAINERS = ("--slurm", "hosts=container", "--python", "/usr/bin/python3")

MPI = """
import os, socket
rank, size = os.environ["OMPI_COMM_WORLD_RANK"], os.environ["OMPI_COMM_WORLD_SIZE"]
inside = open("/proc/1/cmdline").read().split("\\0")[1]
ids = open("/proc/self/uid_map").read().split()[-1]
print(f"rank {rank} of {size} on {socket.gethostname()} below {inside} as {os.getuid()} of {ids}")
os.makedirs("/usr/mine", exist_ok=True)
open(f"/opt/ml/model/{socket.gethostname()}", "w").write("weights")
"""

class UserPlace(Place):
    """Jobs of an ordinary user of the cluster; nothing of his is on the nodes but his numbers."""

    def __init__(self, cluster: Cluster):
        home = pathlib.Path(tempfile.mkdtemp(prefix="mr-"))
        super().__init__(cluster, home)
        (self.source / "mpi4py").mkdir()
        (self.source / "mpi4py/__main__.py").write_text(MPI4PY)

    def own(self) -> None:
        for each in (self.folder, *self.folder.rglob("*")):
            os.lchown(each, USER, USER)

    def command(self, *words) -> list[str]:
        user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--"]
        env = ["env", "-i", f"HOME={self.folder}", f"MUSTER_STATE={self.state}",
               "PATH=/usr/local/bin:/usr/bin:/bin"]  # fmt: skip
        return self.cluster.argv("login", *user, *env, SM, *words)

    def start(self, *words, hosts: int = 1, brings: bool = False) -> Process:
        self.own()
        program = [] if brings else ["--slurm", f"sm={SM}"]
        argv = self.command("fit", *words, "--engine", "slurm", *program, "--hosts", hosts,
                            "--output", self.output)  # fmt: skip
        self.jobs.append(Process(argv, own_session=True, cwd="/"))
        return self.jobs[-1]


def accounts() -> dict[str, str]:
    """The files of a machine that knows the user, by their names in /etc."""
    own = f"ann:{FIRST_ID}:{IDS}\n"
    passwd = pathlib.Path("/etc/passwd").read_text()
    return {
        "subuid": own,
        "subgid": own,
        "passwd": f"{passwd}ann:x:{USER}:{USER}::/:/bin/sh\n",
        "group": f"{pathlib.Path('/etc/group').read_text()}ann:x:{USER}:\n",
    }


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    if shutil.which("newuidmap") is None:
        pytest.skip("newuidmap is missing: Debian's uidmap has it")
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", len(NODES)) as cluster:
        for name, text in accounts().items():
            (cluster.folder / name).write_text(text)
            for host in ("login", *NODES):  # Each sees the cluster's folder there.
                cluster.out(host, "mount", "--bind", f"/run/cluster/{name}", f"/etc/{name}")
        yield cluster


@pytest.fixture
def place(cluster):
    place = UserPlace(cluster)
    yield place
    place.end()
    wait_until_clean(cluster, 30, NODES)
    shutil.rmtree(place.folder)


def test_ranks_run_in_containers_of_the_users_own(place):
    text = place.succeeds(MPI, *CONTAINERS, "--processes-per-host", "2", hosts=2, brings=True)
    for rank in range(4):
        where = f"rank {rank} of 4 on algo-{rank // 2 + 1} below init as 0 of {IDS}"
        assert where in text, text
    assert {path.name for path in (place.output / "model").iterdir()} == {"algo-1", "algo-2"}
    for node in NODES:  # A host's files are its own.
        assert place.cluster.run(node, "ls", "/usr/mine").returncode != 0


def test_an_image_is_refused_with_what_there_is_instead(place):
    job = place.fit_image(*CONTAINERS[:2], "--image", "team/box:v1")
    assert job.wait(30) == 2, job.text
    assert "--image requires root on a Slurm cluster, both here and on the nodes" in job.text


def test_slurms_memory_limit_holds_and_is_reported(place):
    job = place.fit(EATS, *CONTAINERS, "--memory", "300m", hosts=2)
    assert job.wait(90) == 1, job.text
    assert "reached its memory limit (300 MiB)" in job.text, job.text


@pytest.mark.deep
def test_scancel_and_a_killed_step_leave_nothing(place):
    job = place.fit(WAITS, *CONTAINERS, hosts=2)
    wait_until("both to be at work", lambda: job.text.count("at work") == 2, 60)
    number = place.cluster.out("login", "squeue", "-h", "-o", "%i")
    place.cluster.out("login", "scancel", number)
    job.wait(60)
    assert "cancelled in Slurm" in job.text, job.text
    wait_until_clean(place.cluster, 30, NODES)
    job = place.fit(WAITS, *CONTAINERS, "--overwrite", "--retries", "0", hosts=2)
    wait_until("both to be at work", lambda: job.text.count("at work") == 2, 60)
    found = place.cluster.out("node2", "pgrep", "-f", "sm (node|steward)").split()
    place.cluster.out("node2", "kill", "-9", *found)
    job.wait(90)

    def nothing_runs() -> bool:
        return place.cluster.run("node2", "pgrep", "-f", "sm init").stdout == ""

    wait_until("no process of it", nothing_runs, 20)
    place.cluster.run("node2", "sh", "-c", "rm -rf /tmp/muster-*")
