"""`sm server` under the clients that users have: SageMaker's SDKs 1 to 3, and the AWS CLI.

Each case is a program of its own (sdk/v1.py, v2.py, v3.py) in the clients' virtual environment; its
last line is what it found. `make test-sdk` makes the environments.
"""

import contextlib
import json
import os
import re
import subprocess

import pytest

from lab import REPOSITORY, SM, VENV
from process import Process, wait_until
from sm_server import SmServer

pytestmark = pytest.mark.sdk

HERE = REPOSITORY / "tests" / "e2e" / "sdk"
BUCKET = "sagemaker-us-east-1-000000000000"
TORCH = REPOSITORY / "build" / "frameworks" / "torch" / "bin" / "python"
ARGUMENTS = ["--epochs", "2", "--name", "a 'b'"]
GROUP = "/aws/sagemaker/TrainingJobs"
# An SDK's fit() takes 45 s by its own pauses.
CASE_SECONDS = 600


def interpreter(name: str) -> str:
    folder = REPOSITORY / "build" / name
    if not (folder / ".done").exists():
        pytest.skip(f"the clients are not installed: make build/{name}/.done")
    return str(folder / "bin" / "python")


@contextlib.contextmanager
def serving(name: str, **jobs):
    """A server in a folder of this name, whose jobs' Python has mpi4py."""
    folder = REPOSITORY / "build" / "e2e" / name
    subprocess.run(["rm", "-rf", folder], check=True)
    folder.mkdir(parents=True)
    images = {"host": {}, "torch": {"python": str(TORCH)}, "*.dkr.ecr.*.amazonaws.com/*": {}}
    python = str(VENV / "bin" / "python")
    with SmServer(folder, jobs={"python": python, "images": images, **jobs}) as server:
        server.folder = folder
        yield server


@pytest.fixture(scope="module")
def server():
    with serving("server-sdk") as server:
        yield server


@pytest.fixture(scope="module")
def native():
    """A server that runs SDK 3's drivers as they are."""
    with serving("server-sdk-native", native_drivers=True) as server:
        yield server


def client_env(server) -> dict[str, str]:
    """The AWS_* lines of the server's first start, and not that for SageMaker's SDKs."""
    python_path = str(REPOSITORY / "python" / "src")
    env = {**server.env(), "PYTHONPATH": python_path, "HOME": str(server.folder)}
    del env["SAGEMAKER_USER_CONFIG_OVERRIDE"]
    return env


class Case:
    """A case under way, in a folder of its own."""

    def __init__(self, server, program: str, name: str, venv: str, **variables: str):
        folder = server.folder / f"{program}-{name}"
        folder.mkdir()
        words = [interpreter(venv), HERE / program, name, folder]
        self.process = Process(words, {**client_env(server), **variables}, cwd=folder)

    def found(self) -> dict:
        assert self.process.wait(CASE_SECONDS) == 0, self.process.text
        return json.loads(self.process.out.splitlines()[-1])

    @property
    def shown(self) -> str:
        """What the user sees."""
        return self.process.out.decode().rsplit("\n", 2)[0] + self.process.err.decode()


def settings_for(server) -> dict[str, str]:
    """What a client gets that evaluates `sm env --client`'s lines: the SDKs' own sessions do."""
    script = 'eval "$("$0" env --client --write sagemaker.yaml)" && env -0'
    done = subprocess.run(
        ["sh", "-c", script, SM],
        env=client_env(server),
        cwd=server.folder,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return dict(line.split("=", 1) for line in done.stdout.split("\0") if line)


@pytest.fixture(scope="module")
def settings(server) -> dict[str, str]:
    return settings_for(server)


@pytest.fixture(scope="module")
def fits(server, settings):
    """Cases that wait for their jobs, all at one time: most of it is the SDKs' own pauses."""
    cases = {
        "tensorflow": Case(server, "v2.py", "tensorflow", "sdk-venv"),
        "pytorch": Case(server, "v2.py", "pytorch", "sdk-venv", **settings),
    }
    for name in V3:
        if name != "torchrun" or TORCH.exists():
            cases[f"v3 {name}"] = Case(server, "v3.py", name, "sdk3-venv", **settings)
    return cases


@pytest.mark.parametrize("name", ["tensorflow", "pytorch"])
def test_an_estimator_with_mpi_fits_on_three_hosts(fits, name):
    found = fits[name].found()
    shown = fits[name].shown
    for rank in range(6):
        assert shown.count(f"rank {rank} of 6 sums 15") == 1
    for status in ("Starting", "Downloading", "Training", "Uploading", "Completed"):
        assert f" {status} - " in shown
    assert found["total"] == 15
    assert found["channels"] == {"test": ["test.txt"], "train": ["train.txt"]}
    assert [word for word in found["arguments"] if "model" not in word] == ARGUMENTS
    assert found["model_data"].startswith(f"s3://{BUCKET}/")


def test_attaching_to_a_finished_job_shows_its_logs_and_metrics(fits):
    found = fits["pytorch"].found()
    assert found["attached"] == [found["model_data"], json.dumps("a 'b'")]
    assert found["image"].endswith("/pytorch-training:2.1-cpu-py310")
    assert found["bucket"] == BUCKET
    assert found["losses"] == [0.375]  # The mean of that minute.
    assert found["final"] == [["loss", 0.25]]
    for rank in range(6):
        assert found["logs"].count(f"rank {rank} of 6 sums 15") == 1


def test_a_job_without_a_waiting_client_is_listed_and_stopped(server):
    found = Case(server, "v2.py", "stop", "sdk-venv").found()
    assert found["running"] == ["InProgress", "Training"]
    assert found["transitions"][-4:] == ["Training", "Stopping", "Uploading", "Stopped"]
    assert found["model"] == ["stopped"]
    assert found["model_data"].startswith("s3://another-bucket/")
    assert "the training job is in status Stopped." in found["again"]


def test_chainers_estimator_runs_on_two_hosts_by_its_own_names_for_mpi(server):
    found = Case(server, "v2.py", "chainer", "sdk-venv").found()
    for rank in range(3):
        assert found["logs"].count(f"rank {rank} of 3 sums 3") == 1
    assert "Hosts: ['algo-1:2', 'algo-2:2'] process_per_hosts: 2 num_processes: 3" in found["logs"]
    assert "NCCL_DEBUG=WARN" in found["logs"]
    assert found["total"] == 3


def test_scikit_learns_estimator_runs_its_script(server):
    found = Case(server, "v2.py", "sklearn", "sdk-venv").found()
    assert found["channels"] == {"train": ["train.txt"]}
    assert [word for word in found["arguments"] if "model" not in word] == ARGUMENTS
    assert "alone on algo-1" in found["logs"]


def test_the_first_start_says_what_a_notebooks_first_cell_wants(server):
    assert server.said("sm env --client --notebook") == "sm env --client --notebook"


def test_sdk_1_trains_by_the_names_of_its_time(server):
    found = Case(server, "v1.py", "mpi", "sdk1-venv").found()
    assert found["status"] == "Completed", found
    assert found["bucket"] == BUCKET
    assert found["total"] == 6
    assert found["channels"] == {"train": ["train.txt"]}


def test_sdk_1_finds_role_and_bucket_by_the_words_of_page_and_command(server):
    """By its own words it asks AWS, whose address it names itself."""
    page = (REPOSITORY / "docs/users/coming-from.md").read_text()
    row = next(line for line in page.splitlines() if "with SDK 1.x" in line)
    words = re.findall("`([^`]+)`", row.split("|")[2])
    found = Case(server, "v1.py", "asked", "sdk1-venv", EXPRESSIONS="\n".join(words)).found()
    assert found == ["arn:aws:iam::000000000000:role/muster", BUCKET]
    script = 'mount -t tmpfs none /opt && exec "$0" env --client --notebook'
    said = subprocess.check_output(["unshare", "--mount", "sh", "-c", script, SM], text=True)
    assert all(word in said for word in words)


V3 = {
    "basic": {"channels": {"train": ["train.txt"]}},
    "mpi": {"total": 6},
    "torchrun": {"world": 4, "master": "algo-1"},
}


@pytest.mark.parametrize("name", ["basic", "mpi", "torchrun"])
def test_a_model_trainer_of_sdk_3_trains(fits, name):
    if f"v3 {name}" not in fits:
        pytest.skip(f"{TORCH} is missing: make frameworks builds it")
    case = fits[f"v3 {name}"]
    found = case.found()
    assert "Starting training script" not in case.shown  # As the SDK's sm_train.sh says.
    assert found["status"] == "Completed"
    assert found["arguments"] == ["--epochs", "2", "--name", "a b"]
    assert {key: found[key] for key in V3[name]} == V3[name]


@pytest.mark.parametrize("name", ["basic", "torchrun"])
def test_native_drivers_run_as_they_are(native, name):
    """Two drivers need nothing in the image; the MPI driver wants sshd, keys and paramiko."""
    if name == "torchrun" and not TORCH.exists():
        pytest.skip(f"{TORCH} is missing: make frameworks builds it")
    # The lines of the server's first start: they do as well as those of `sm env --client`.
    override = "SAGEMAKER_USER_CONFIG_OVERRIDE"
    case = Case(native, "v3.py", name, "sdk3-venv", **{override: native.keys[override]})
    found = case.found()
    assert found["status"] == "Completed"
    assert {key: found[key] for key in V3[name]} == V3[name]
    assert "Starting training script" in case.shown


def test_train_of_muster_runs_mpi_and_shows_the_log(server):
    """With boto3 alone: build/venv has nothing of SageMaker's."""
    found = _muster(server, "trained")
    assert found["status"] == "Completed"
    assert found["model"] == ["found.json"]
    assert found["total"] == 6
    assert found["channels"] == {"test": ["test.txt"], "train": ["train.txt"]}
    assert found["arguments"] == ARGUMENTS
    for rank in range(4):
        assert f"algo-{rank // 2 + 1}: " in found["log"]
        assert found["log"].count(f"rank {rank} of 4 sums 6\n") == 1


def test_train_of_muster_takes_the_horovod_labs_call(server):
    """Twelve hosts of one process each."""
    found = _muster(server, "lab")
    assert found["total"] == sum(range(12))
    assert found["status"] == "Completed" and found["hosts"] == 12
    assert found["arguments"] == ["--epochs", "1"]


def test_train_of_muster_names_what_failed_and_stops(server):
    found = _muster(server, "refused")
    assert "no.py" in found["no file"]
    assert "exit code 7" in found["failed"] and found["failed"].count("\n") <= 8
    assert found["stopped"] == "Stopped"
    assert found["no server"] == (
        "muster: AWS_ENDPOINT_URL is not set; "
        "`sm key create` on the server's machine prints the lines"
    )
    assert found["no sagemaker"] == "muster: no module sagemaker; pip install sagemaker"


def _muster(server, name: str) -> dict:
    folder = server.folder / name
    folder.mkdir()
    words = [VENV / "bin" / "python", HERE / "train.py", name, folder]
    process = Process(words, client_env(server), cwd=folder)
    assert process.wait(CASE_SECONDS) == 0, process.text
    return json.loads(process.out.splitlines()[-1])


@pytest.fixture
def aws(server):
    """Runs `aws WORDS`; what it printed, JSON or text."""
    program = os.path.join(os.path.dirname(interpreter("sdk-venv")), "aws")

    def run(*words, code: int = 0):
        done = subprocess.run(
            [program, *map(str, words)],
            env=client_env(server),
            capture_output=True,
            text=True,
            timeout=CASE_SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        if code:
            return done.stderr
        return json.loads(done.stdout) if done.stdout.startswith("{") else done.stdout

    return run


def test_the_cli_moves_files(aws, server):
    folder = server.folder / "cli"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "ü +&.txt").write_text("one")
    big = os.urandom(20_000_000)  # In parts.
    (folder / "big").write_bytes(big)
    aws("s3", "mb", "s3://cli")
    aws("s3", "cp", "--no-progress", folder, "s3://cli/a", "--recursive")
    listed = aws("s3", "ls", "s3://cli/a/", "--recursive")
    assert [line.split(None, 3)[2:] for line in listed.splitlines()] == [
        ["20000000", "a/big"],
        ["3", "a/deep/ü +&.txt"],
    ]
    assert aws("s3", "ls", "s3://cli/a/").splitlines()[0].split() == ["PRE", "deep/"]
    assert aws("s3", "sync", folder, "s3://cli/a") == ""
    (folder / "deep" / "two").write_text("2")
    assert aws("s3", "sync", "--no-progress", folder, "s3://cli/a").count("upload:") == 1
    back = server.folder / "back"
    aws("s3", "sync", "--no-progress", "s3://cli/a", back)
    assert (back / "big").read_bytes() == big
    assert (back / "deep" / "ü +&.txt").read_text() == "one"
    aws("s3", "mv", "--no-progress", "s3://cli/a/big", "s3://cli/bigger")
    aws("s3", "rm", "s3://cli/a", "--recursive")
    assert aws("s3", "ls", "s3://cli").split()[-2:] == ["20000000", "bigger"]
    aws("s3", "rb", "s3://cli", "--force")
    assert "NoSuchBucket" in aws("s3", "ls", "s3://cli", code=255)


def request(name: str, script: str) -> str:
    return json.dumps(
        {
            "TrainingJobName": name,
            "RoleArn": "arn:aws:iam::000000000000:role/muster",
            "AlgorithmSpecification": {
                "TrainingImage": "host",
                "TrainingInputMode": "File",
                "ContainerEntrypoint": ["/bin/sh", "-c"],
                "ContainerArguments": [script],
            },
            "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/"},
            "ResourceConfig": {
                "InstanceType": "local",
                "InstanceCount": 1,
                "VolumeSizeInGB": 1,
            },
            "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        }
    )


def test_the_cli_makes_describes_lists_and_stops_jobs_and_reads_their_logs(aws, server):
    server.client("s3").create_bucket(Bucket=BUCKET)
    sagemaker = server.client("sagemaker")
    create = ("sagemaker", "create-training-job", "--cli-input-json")
    short = request("cli-short", "echo hello; echo world; exit 3")
    assert aws(*create, short)["TrainingJobArn"].endswith(":training-job/cli-short")
    assert "ResourceInUse" in aws(*create, short, code=255)
    aws(*create, request("cli-long", "echo here; exec sleep 600"))
    describe = ("sagemaker", "describe-training-job", "--training-job-name")

    def ended(name):
        job = sagemaker.describe_training_job(TrainingJobName=name)
        return job["TrainingJobStatus"] not in ("InProgress", "Stopping")

    wait_until("cli-short to end", lambda: ended("cli-short"))
    short = aws(*describe, "cli-short")
    assert short["TrainingJobStatus"] == "Failed"
    assert short["FailureReason"].startswith("AlgorithmError: sh on algo-1: exit code 3")
    streams = aws(
        *("logs", "describe-log-streams", "--log-group-name", GROUP),
        *("--log-stream-name-prefix", "cli-short/"),
    )["logStreams"]
    events = aws(
        *("logs", "get-log-events", "--log-group-name", GROUP),
        *("--log-stream-name", streams[0]["logStreamName"], "--start-from-head"),
    )["events"]
    assert [event["message"] for event in events] == ["hello", "world"]
    listed = aws("sagemaker", "list-training-jobs", "--name-contains", "cli-", "--max-items", "1")
    assert len(listed["TrainingJobSummaries"]) == 1 and listed["NextToken"]
    assert aws("sagemaker", "stop-training-job", "--training-job-name", "cli-long") == ""
    wait = ("sagemaker", "wait", "training-job-completed-or-stopped", "--training-job-name")
    assert "matched expected path" in aws(*wait, "cli-short", code=255)
    wait_until("cli-long to end", lambda: ended("cli-long"))
    aws(*wait, "cli-long")
    assert "Requested resource not found" in aws(*describe, "never-was", code=255)
    assert aws("sts", "get-caller-identity")["Account"] == "000000000000"
