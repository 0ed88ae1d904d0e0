"""`sm server` on the login node of a real Slurm cluster: boto3, its S3 seen from nodes, kills."""

import http.client
import io
import json
import os
import random
import signal
import sqlite3
import ssl
import subprocess
import tarfile
import time

import pytest
from lab import SM, VENV
from oci_image import layer, programs, write_layout
from page import page_call
from process import children_of, wait_until
from slurm_cluster import Cluster
from slurm_faults import nodes_taken
from sm_server import SmServer
from test_server_jobs import BUCKET, GROUP, Job

pytestmark = pytest.mark.slurm

LOGIN = "10.88.0.1"


class OnLogin:
    """Where the server runs."""

    def __init__(self, cluster: Cluster):
        self.cluster = cluster

    def enter(self, command) -> list[str]:
        return self.cluster.argv("login", *command)


class ClusterServer(SmServer):
    """`sm server` is the child of what entered the login node."""

    def __init__(
        self,
        folder,
        cluster: Cluster,
        slurm: dict | None = None,
        images: dict | None = None,
        instance_types: dict | None = None,
        path: str = "",
        **config,
    ):
        self.cluster = cluster
        self.state = folder / "state"
        engine = {"sm": str(SM), "address": LOGIN, **(slurm or {})}
        super().__init__(
            folder,
            jobs={
                "python": str(VENV / "bin" / "python"),
                "registries": ["registry.test/team/*"],
                **({"images": images} if images else {}),
                **({"instance_types": instance_types} if instance_types else {}),
            },
            config={"engine": {"slurm": engine}, **config},
            within=OnLogin(cluster),
            env={"MUSTER_STATE": str(self.state), "PATH": path + os.environ["PATH"]},
        )
        self.listen = f"{LOGIN}:0"

    def _end_jobs(self) -> None:
        self.cluster.run("login", "scancel", "-u", "root")

    def kill(self) -> None:
        for pid in children_of(self.process.pid):
            os.kill(pid, signal.SIGKILL)
        super().kill()

    def queue(self) -> list[str]:
        """Jobs of Slurm's: what state, what name."""
        return self.cluster.out("login", "squeue", "-h", "-o", "%T %j").splitlines()


def certificate(folder) -> dict:
    """A server's for the login node, and the authority behind it."""

    def openssl(*words) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)

    new = ["req", "-newkey", "rsa:2048", "-nodes"]
    openssl(*new, "-x509", "-days", "1", "-subj", "/CN=An authority", "-keyout", "ca.key", "-out",
            "ca.pem", "-addext", "keyUsage=critical,keyCertSign")  # fmt: skip
    openssl(*new, "-subj", "/CN=A server", "-keyout", "server.key", "-out", "server.csr")
    (folder / "names").write_text(
        f"subjectAltName=IP:{LOGIN}\nauthorityKeyIdentifier=keyid\nbasicConstraints=CA:FALSE\n"
    )
    openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "1", "-extfile", "names", "-out",
            "server.pem")  # fmt: skip
    names = {"tls_certificate": "server.pem", "tls_key": "server.key", "tls_ca": "ca.pem"}
    return {key: str(folder / name) for key, name in names.items()}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", 3) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def server(cluster, tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    with cluster.visited("login"):
        with ClusterServer(folder, cluster, **certificate(folder)) as server:
            s3 = server.client("s3")
            s3.create_bucket(Bucket=BUCKET)
            s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"forty-two")
            yield server


def members(server: SmServer, url: str) -> dict[str, bytes]:
    """What is in the archive at `url`."""
    body = server.client("s3").get_object(Bucket=BUCKET, Key=url.split("/", 3)[3])["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(body)) as opened:
        files = [member for member in opened.getmembers() if member.isfile()]
        return {member.name: opened.extractfile(member).read() for member in files}


def log_of(job: Job, host: str) -> list[str]:
    """The host's stream, as CloudWatch's clients read it, page by page."""
    logs = job.server.client("logs")
    streams = logs.describe_log_streams(
        logGroupName=GROUP, logStreamNamePrefix=f"{job.name}/{host}-"
    )["logStreams"]
    if not streams:
        return []
    lines, token = [], {}
    while True:
        page = logs.get_log_events(
            logGroupName=GROUP, logStreamName=streams[0]["logStreamName"], startFromHead=True,
            **token,
        )  # fmt: skip
        if not page["events"]:
            return lines
        lines += [event["message"] for event in page["events"]]
        token = {"nextToken": page["nextForwardToken"]}


WHOLE = """
import os
import boto3
from mpi4py import MPI
world = MPI.COMM_WORLD
rank, total = world.Get_rank(), world.allreduce(1)
text = open(os.environ["SM_CHANNEL_TRAIN"] + "/a.txt").read()
print(f"rank {rank} of {total} on {os.environ['SM_CURRENT_HOST']} read {text}", flush=True)
if rank == 0:
    print("endpoint", boto3.client("s3").meta.endpoint_url, flush=True)
    print("account", boto3.client("sts").get_caller_identity()["Account"], flush=True)
os.makedirs("/opt/ml/checkpoints", exist_ok=True)
with open(f"/opt/ml/checkpoints/step-{rank}", "w") as file:
    file.write("kept")
with open(os.path.join(os.environ["SM_MODEL_DIR"], f"weights-{rank}"), "w") as file:
    file.write("w" * rank)
"""


def test_a_job_of_the_api_runs_on_nodes_with_inputs_results_and_checkpoints_in_s3(server):
    job = Job(server, WHOLE, hosts=2, processes=2,
              CheckpointConfig={"S3Uri": f"s3://{BUCKET}/kept/whole"})  # fmt: skip
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    seen = [change["Status"] for change in told["SecondaryStatusTransitions"]]
    assert seen == ["Pending", "Starting", "Downloading", "Training", "Uploading", "Completed"]
    model = members(server, told["ModelArtifacts"]["S3ModelArtifacts"])
    sizes = {name: len(body) for name, body in model.items()}
    assert sizes == {f"weights-{k}": k for k in range(4)}
    kept = server.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="kept/whole/")["Contents"]
    assert sorted(each["Key"] for each in kept) == [f"kept/whole/step-{k}" for k in range(4)]
    first, second = "\n".join(log_of(job, "algo-1")), "\n".join(log_of(job, "algo-2"))
    assert "rank 0 of 4 on algo-1 read forty-two" in first
    assert "rank 3 of 4 on algo-2 read forty-two" in first + second
    assert f"endpoint {server.url}" in first
    assert "account 000000000000" in first


COUNTS = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))
for number in range(2000):
    print("line", number, flush=True)
    time.sleep(0.01)
    if number == LAST: break
"""


def counted(job: Job, host: str) -> list[int]:
    """Numbers that the host's lines have."""
    return [int(line.split()[1]) for line in log_of(job, host) if line.startswith("line ")]


MIB = 1 << 20
HELD_MIB = 100
# Holds memory, writes to the disk and computes for a while.
USES = f"""
import os
held = b"x" * ({HELD_MIB} << 20)
with open("/var/tmp/muster-uses", "wb") as file:
    os.unlink(file.name)
    file.write(held)
    os.fsync(file.fileno())
while os.times().user < 2: pass
""" + COUNTS.replace("2000", "60000")  # Until it is stopped, however busy the machine is.


def used(job: Job, host: str) -> list[tuple]:
    """What is known of the host: processor us, memory, bytes read and written, net in and out."""
    with sqlite3.connect(job.server.data / "muster.db", timeout=60) as store:
        rows = store.execute(
            "SELECT processor, memory, disk_read, disk_written, net_in, net_out FROM host_usage "
            "WHERE host = ? AND job = (SELECT number FROM jobs WHERE name = ?) ORDER BY time",
            (host, job.name)).fetchall()  # fmt: skip
    store.close()
    return rows


def uses(job: Job, host: str) -> bool:
    rows = used(job, host)
    busy = len(rows) > 1 and rows[-1][0] > 2_000_000
    held = busy and HELD_MIB * MIB < rows[-1][1] < 4 * HELD_MIB * MIB
    return held and rows[-1][3] >= HELD_MIB * MIB


def shown_by_sm(server: SmServer, job: str) -> dict:
    words = [*server.cluster.argv("login"), SM, "describe", job, "--json"]
    done = subprocess.run(words, env=server.env(), capture_output=True, check=True)
    return json.loads(done.stdout)


def machine_view(server) -> dict:
    """What the page's view of the machine shows."""
    trusted = ssl.create_default_context(cafile=str(server.data.parent / "ca.pem"))

    def call(name: str, given: dict, cookie: str = "") -> tuple[dict, str]:
        made = http.client.HTTPSConnection(LOGIN, server.port, timeout=30, context=trusted)
        return page_call(made, name, given, cookie)

    keys = {"id": server.keys["AWS_ACCESS_KEY_ID"], "secret": server.keys["AWS_SECRET_ACCESS_KEY"]}
    return call("machine", {}, call("login", keys)[1])[0]


def test_stop_training_job_stops_hosts_and_frees_nodes(server):
    job = Job(server, USES.replace("LAST", "2000"), hosts=2)

    def counts(host: str) -> bool:  # From its first line on it heeds signals.
        return any("line 5" in line for line in log_of(job, host))

    for host in ("algo-1", "algo-2"):
        wait_until(f"a line of {host}", lambda host=host: counts(host), 60)
        wait_until(f"what {host} uses", lambda host=host: uses(job, host), 60)
        rows = used(job, host)
        for row in range(1, len(rows)):  # All but memory grows.
            assert all(rows[row][i] >= rows[row - 1][i] for i in (0, 2, 3, 4, 5)), rows
        assert rows[-1][4] > rows[0][4] > 0 and rows[-1][5] > rows[0][5] > 0  # The link, at least.
    [row] = server.cluster.out("login", "squeue", "-h", "-o", "%A %j %N").splitlines()
    number, full_name, nodes = row.split()
    slurm = shown_by_sm(server, job.name)["MusterSlurm"]
    assert (slurm["JobId"], slurm["Name"], slurm["Nodes"]) == (number, full_name, nodes)
    view = machine_view(server)
    assert [each["slurm"] for each in view["runs"] if each["job"] == job.name] == [slurm]
    shown = {each["Name"]: each for each in view["nodes"]["Nodes"]}
    assert sorted(shown) == ["node1", "node2", "node3"] and view["nodes"]["Count"] == 3
    assert all(each["Cpus"] > 0 and each["MemoryMiB"] > 0 for each in shown.values()), shown
    assert sum(each["Count"] for each in view["nodes"]["States"]) == 3
    job.api.stop_training_job(TrainingJobName=job.name)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Stopped"
    ended = shown_by_sm(server, job.name)
    assert "MusterSlurm" not in ended
    assert ended["MusterNotes"][-1] == f"Slurm job {number} on {nodes}"
    last = log_of(job, "algo-2")[-20:]
    assert any("told to stop" in line for line in last), last
    wait_until("Slurm to be free of it", lambda: not server.queue(), 20)


def test_a_server_that_was_killed_goes_on_with_a_job_whose_log_has_no_gap(server):
    job = Job(server, COUNTS.replace("LAST", "799"), hosts=2)
    wait_until("a line", lambda: any("line 50" in line for line in log_of(job, "algo-1")), 60)
    before = server.queue()
    server.kill()
    server.start()
    assert server.queue() == before and len(before) == 1
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    for host in ("algo-1", "algo-2"):
        assert counted(job, host) == list(range(800))
    wait_until("Slurm to be free of it", lambda: not server.queue(), 20)


def test_a_server_that_was_killed_while_its_job_waits_submits_it_no_second_time(server, cluster):
    other = cluster.out(
        "login", "sbatch", "--parsable", "-N3", "--exclusive", "--output=/dev/null", "--wrap",
        "sleep 600",
    )  # fmt: skip
    try:
        job = Job(server, COUNTS.replace("LAST", "9"), hosts=2)
        wait_until("its place in the queue", lambda: len(server.queue()) == 2, 60)
        wait_until("a reason", lambda: "Resources" in str(job.describe()), 30)
        before = server.queue()
        server.kill()
        server.start()
        assert server.queue() == before
        wait_until("a reason", lambda: "Resources" in str(job.describe()), 30)
    finally:
        cluster.out("login", "scancel", other)
    told = job.at_end()
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    assert counted(job, "algo-2") == list(range(10))


GETS_ON = """
import os, sys, time
folder = "/opt/ml/checkpoints"
os.makedirs(folder, exist_ok=True)
kept = folder + "/step-" + os.environ["SM_CURRENT_HOST"]
step = int(open(kept).read()) if os.path.exists(kept) else 0
print("begins at", step, flush=True)
while step < STEPS:
    time.sleep(0.1)
    step += 1
    if step % 10 == 0:
        with open(kept + ".new", "w") as file:
            file.write(str(step))
        os.rename(kept + ".new", kept)
print("trained", flush=True)
"""


def preempted(cluster: Cluster, job: Job) -> None:
    """Takes the job's nodes away, and returns them once the job reports it."""
    with nodes_taken(cluster):
        job.in_status("Restarting")


@pytest.mark.deep
def test_a_job_that_is_preempted_gets_through_its_statuses_once_more(server, cluster):
    script = GETS_ON.replace("STEPS", "80")
    job = Job(server, script, hosts=2, CheckpointConfig={"S3Uri": f"s3://{BUCKET}/kept/taken"})
    wait_until("a line", lambda: any("begins at 0" in line for line in log_of(job, "algo-1")), 60)
    with nodes_taken(cluster):
        job.in_status("Restarting")
        wait_until("a reason", lambda: "Resources" in str(job.describe()), 30)
        assert job.describe()["SecondaryStatus"] == "Restarting"
    told = job.at_end(120)
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    seen = [change["Status"] for change in told["SecondaryStatusTransitions"]]
    again = seen.index("Interrupted")
    assert seen[again:] == ["Interrupted", "Restarting", "Downloading", "Training", "Uploading",
                            "Completed"]  # fmt: skip
    assert seen[:4] == ["Pending", "Starting", "Downloading", "Training"]


@pytest.mark.deep
def test_a_job_that_keeps_checkpoints_is_preempted_as_often_as_that_happens(server, cluster):
    """Three attempts that keep nothing would be the last."""
    script = GETS_ON.replace("STEPS", "120")
    job = Job(server, script, hosts=2, CheckpointConfig={"S3Uri": f"s3://{BUCKET}/kept/often"})
    for taken in range(1, 5):
        begun = 20 * taken

        def kept(begun=begun) -> bool:
            # A file that is uploaded before the script renames it stays in the bucket.
            objects = server.client("s3").list_objects_v2(Bucket=BUCKET, Prefix="kept/often/")
            keys = [each["Key"] for each in objects.get("Contents", [])]
            keys = [key for key in keys if not key.endswith(".new")]
            bodies = [server.client("s3").get_object(Bucket=BUCKET, Key=key) for key in keys]
            return len(keys) == 2 and all(int(body["Body"].read()) >= begun for body in bodies)

        wait_until(f"step {begun} to be kept", kept, 60)
        preempted(cluster, job)
    told = job.at_end(120)
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    begins = [int(line.split()[2]) for line in log_of(job, "algo-1") if "begins at" in line]
    assert len(begins) == 5 and begins == sorted(begins) and begins[-1] >= 80, begins


COUNTED = """
import hashlib, os, random, time
folder = "/opt/ml/checkpoints"
os.makedirs(folder, exist_ok=True)
host = os.environ["SM_CURRENT_HOST"]
kept = folder + "/step-" + host
step, state = 0, hashlib.sha256(host.encode()).hexdigest()
if os.path.exists(kept):
    number, state = open(kept).read().split()
    step = int(number)
print("begins at", step, flush=True)
while step < STEPS:
    time.sleep(0.02)
    step += 1
    state = hashlib.sha256((state + str(step)).encode()).hexdigest()
    if step % 10 == 0:
        with open(kept + ".new", "w") as file:
            file.write(f"{step} {state}")
        os.rename(kept + ".new", kept)
with open(os.environ["SM_MODEL_DIR"] + "/" + host, "w") as file:
    file.write(state)
"""


@pytest.mark.deep
def test_a_job_that_is_preempted_ten_times_makes_the_model_of_one_that_never_was(server, cluster):
    seed = int(os.environ.get("MUSTER_SEED", time.time_ns() % 1_000_000))
    print("MUSTER_SEED:", seed)
    moments = random.Random(seed)
    script = COUNTED.replace("STEPS", "1000")
    quiet = Job(server, script, hosts=1, CheckpointConfig={"S3Uri": f"s3://{BUCKET}/kept/quiet"})
    told = quiet.at_end(120)
    want = members(server, told["ModelArtifacts"]["S3ModelArtifacts"])
    job = Job(server, script, hosts=1, CheckpointConfig={"S3Uri": f"s3://{BUCKET}/kept/ten"})
    s3 = server.client("s3")
    step = 0
    for _ in range(10):
        wanted = step + moments.randrange(10, 60)

        def kept(wanted=wanted) -> int:
            there = s3.list_objects_v2(Bucket=BUCKET, Prefix="kept/ten/").get("Contents", [])
            bodies = [s3.get_object(Bucket=BUCKET, Key=each["Key"])["Body"] for each in there]
            found = max([0] + [int(body.read().split()[0]) for body in bodies])
            return found if found >= wanted else 0

        step = wait_until(f"step {wanted}", kept, 60)
        preempted(cluster, job)
    told = job.at_end(120)
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    assert members(server, told["ModelArtifacts"]["S3ModelArtifacts"]) == want
TRAIN = b"""#!/bin/sh
echo "box on $HOSTNAME"
i=0; while [ $i -lt 1000000 ]; do i=$((i + 1)); done
test -e /usr/bin/python3 && echo "sees the node"
echo weights >/opt/ml/model/weights
"""


def test_a_training_image_runs_in_containers_of_the_instance_types_that_have_them(
    cluster, tmp_path
):
    kinds = {"hosts": "light", "instance_types": {"ml.c5.xlarge": {"hosts": "container"}}}
    slurm = {"folder": "/tmp/cache", **kinds}
    shell = {**programs("/bin/sh", str(SM)), "etc/passwd": b"root:x:0:0::/root:/bin/sh\n"}
    del shell[str(SM).removeprefix("/")]
    write_layout(tmp_path / "box", [layer(shell), layer({"train": TRAIN})])
    name = "registry.test/team/box:v1"
    with cluster.visited("login"):
        with ClusterServer(tmp_path, cluster, slurm, **certificate(tmp_path)) as server:
            words = ["image", "import", f"oci:{tmp_path / 'box'}:v1", "--name", name]
            env = {**os.environ, "MUSTER_STATE": str(server.state)}
            subprocess.run([SM, *words], env=env, check=True, capture_output=True, timeout=60)
            server.client("s3").create_bucket(Bucket=BUCKET)
            server.client("s3").put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"forty-two")
            image = {"TrainingImage": name, "TrainingInputMode": "File"}

            def told(kind: str) -> tuple[Job, dict]:
                resources = {"InstanceType": kind, "InstanceCount": 2, "VolumeSizeInGB": 1}
                job = Job(server, "", AlgorithmSpecification=image, ResourceConfig=resources)
                return job, job.at_end()

            job, end = told("ml.c5.xlarge")
            assert end["TrainingJobStatus"] == "Completed", end.get("FailureReason")
            lines = "\n".join(log_of(job, "algo-1") + log_of(job, "algo-2"))
            assert "box on algo-1" in lines and "box on algo-2" in lines
            assert "sees the node" not in lines and "no user namespace" not in lines
            rows = used(job, "algo-2")
            assert rows[-1][0] > 100_000 and 0 < rows[-1][1] < HELD_MIB * MIB, rows
            model = members(server, end["ModelArtifacts"]["S3ModelArtifacts"])
            assert model["weights"] == b"weights\n"
            _, end = told("ml.m5.xlarge")
            assert end["TrainingJobStatus"] == "Failed"
            assert "an image if they are light" in end["FailureReason"]
    for node in ("node1", "node2", "node3"):
        cluster.run(node, "rm", "-rf", "/tmp/cache")


def test_a_job_that_waits_for_nodes_longer_than_it_may_is_stopped(server, cluster):
    with nodes_taken(cluster):
        limits = {"MaxRuntimeInSeconds": 2, "MaxWaitTimeInSeconds": 3}
        job = Job(server, "print()", StoppingCondition=limits, EnableManagedSpotTraining=True)
        told = job.at_end()
    assert told["TrainingJobStatus"] == "Stopped", told
    assert told["SecondaryStatus"] == "MaxWaitTimeExceeded", told
    assert "TrainingStartTime" not in told
    wait_until("Slurm to have nothing of it", lambda: server.queue() == [], 30)
