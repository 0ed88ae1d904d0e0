"""Images of their own on sm server: pulled, kept, run, and what may not be named."""

import json
import os
import pathlib
import signal
import subprocess

import pytest
from botocore.exceptions import ClientError

from fake_registry import FakeRegistry, OciImage
from fit import in_host
from lab import SM
from oci_image import digest, programs
from process import wait_until
from sm_server import SmServer
from test_image_pull import claiming
from test_registry import push

SECONDS = 60.0
GROUP = "/aws/sagemaker/TrainingJobs"
SHELL = {**programs("/bin/sh", str(SM)), "etc/passwd": b"root:x:0:0::/root:/bin/sh\n"}
del SHELL[str(SM).removeprefix("/")]
TRAIN = b"""#!/bin/sh
echo "arguments: $*, version $(cat /version 2>/dev/null || read -r v </version; echo $v)"
test -e /usr/bin/python3 && echo "sees the machine"
echo weights >/opt/ml/model/weights
"""
# Until let_go().
WAIT = b"""#!/bin/sh
trap go=1 USR1
echo runs
while test -z "$go"; do :; done
read -r kept </kept; echo "kept $kept"
"""


def image(train: bytes = TRAIN, **files: bytes) -> OciImage:
    return OciImage(SHELL, {"train": train, **files})


class World:
    """A server, a registry of this machine, and what they share."""

    def __init__(self, folder: pathlib.Path, registry: FakeRegistry, **jobs):
        self.registry = registry
        self.state = folder / "state"
        config = {"registries": [f"{registry.address}/team/*"], **jobs}
        self.server = SmServer(folder, jobs=config, env={"MUSTER_STATE": str(self.state)})
        self.count = 0

    def __enter__(self):
        self.server.__enter__()
        self.server.client("s3").create_bucket(Bucket="jobs")
        return self

    def __exit__(self, *args):
        self.server.__exit__(*args)

    def api(self):
        return self.server.client("sagemaker")

    def start(self, name: str, hyperparameters: dict | None = None, **algorithm) -> str:
        self.count += 1
        job = f"image-{os.getpid()}-{self.count}"
        self.api().create_training_job(
            TrainingJobName=job,
            RoleArn="arn:aws:iam::000000000000:role/training",
            AlgorithmSpecification={
                "TrainingImage": name,
                "TrainingInputMode": "File",
                **algorithm,
            },
            HyperParameters=hyperparameters or {},
            OutputDataConfig={"S3OutputPath": "s3://jobs/out"},
            ResourceConfig={
                "InstanceType": "ml.c5.xlarge",
                "InstanceCount": 1,
                "VolumeSizeInGB": 1,
            },
            StoppingCondition={"MaxRuntimeInSeconds": 600},
        )
        return job

    def told(self, job: str) -> dict:
        return self.api().describe_training_job(TrainingJobName=job)

    def at_end(self, job: str) -> dict:
        def ended():
            told = self.told(job)
            return told["TrainingJobStatus"] in ("Completed", "Failed", "Stopped") and told

        return wait_until(f"{job} to end", ended, SECONDS)

    def run(self, name: str, **algorithm) -> dict:
        told = self.at_end(self.start(name, **algorithm))
        assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
        return told

    def lines(self, job: str) -> list[str]:
        logs = self.server.client("logs")
        events = logs.filter_log_events(logGroupName=GROUP, logStreamNamePrefix=job)["events"]
        return [event["message"] for event in events]

    def sm(self, *words: str) -> subprocess.CompletedProcess:
        env = {**os.environ, "MUSTER_STATE": str(self.state)}
        return subprocess.run(
            [SM, *words], env=env, capture_output=True, text=True, timeout=SECONDS, check=False
        )

    def described(self, job: str) -> dict:
        """With what boto3 does not know."""
        done = subprocess.run(
            [SM, "describe", job, "--json"],
            env=self.server.env(),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        return json.loads(done.stdout)


@pytest.fixture
def registry():
    with FakeRegistry() as registry:
        yield registry


@pytest.fixture
def world(tmp_path, registry):
    with World(tmp_path, registry) as world:
        yield world


def statuses(told: dict) -> list[tuple[str, str]]:
    return [(each["Status"], each["StatusMessage"]) for each in told["SecondaryStatusTransitions"]]


def test_an_image_is_pulled_once_and_runs(world):
    made = image(version=b"1\n")
    name = world.registry.add("team/box", "v1", made)
    told = world.run(name)
    job = told["TrainingJobName"]
    assert [status for status, _ in statuses(told)][:3] == ["Pending", "Starting", "Downloading"]
    lines = world.lines(job)
    assert any("arguments: train, version 1" in line for line in lines), lines
    assert not any("sees the machine" in line for line in lines)
    assert any(f"runs image {name}, {digest(made.manifest)}" in line for line in lines)
    assert world.described(job)["MusterImage"] == f"{name}@{digest(made.manifest)}"
    assert told["AlgorithmSpecification"]["TrainingImage"] == name
    asked = len(world.registry.requests)
    again = world.run(
        name, ContainerEntrypoint=["/bin/sh", "/train"], ContainerArguments=["a b", "c"]
    )
    lines = world.lines(again["TrainingJobName"])
    assert any("arguments: a b c, version 1" in line for line in lines), lines
    assert len(world.registry.requests) == asked


def test_sm_submit_runs_an_images_own_program(world):
    name = world.registry.add("team/box", "v1", image(version=b"1\n"))
    words = [SM, "submit", "--image", name, "--wait"]
    done = subprocess.run(
        words, env=world.server.env(), capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "arguments: train, version 1" in done.stdout
    assert f"runs image {name}, sha256:" in done.stdout


def test_an_images_own_program_gets_all_that_sagemaker_accepts(world):
    """muster's `train` makes variables of hyperparameters, and unpacks code: not this program."""
    name = world.registry.add("team/box", "v1", image(version=b"1\n"))
    given = {"a=b": "1", "sagemaker_submit_directory": "s3://jobs/code.zip"}
    given |= {f"text-{number}": "x" * 2500 for number in range(60)}
    job = world.start(name, given)
    told = world.at_end(job)
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    assert told["HyperParameters"] == given


def test_a_tag_that_moved_is_asked_for_by_policy(tmp_path, registry):
    with World(tmp_path, registry, pull="always") as world:
        name = registry.add("team/box", "v1", image(version=b"1\n"))
        world.run(name)
        registry.add("team/box", "v1", image(version=b"2\n"))
        job = world.run(name)["TrainingJobName"]
        assert any("version 2" in line for line in world.lines(job)), world.lines(job)


def test_beyond_a_size_what_no_job_uses_goes_the_oldest_first(tmp_path, registry):
    with World(tmp_path, registry, image_store_gib=0.001) as world:
        runs = registry.add("team/runs", "v1", OciImage(SHELL, {"train": WAIT, "kept": b"here\n"}))
        job = world.start(runs)
        wait_until("it to run", lambda: "runs" in world.lines(job), SECONDS)
        large = OciImage(SHELL, {"train": TRAIN, "x": os.urandom(900_000)})
        old = registry.add("team/old", "v1", large)
        world.run(old)
        world.run(registry.add("team/new", "v1", image(version=b"3\n")))
        let_go()
        assert world.at_end(job)["TrainingJobStatus"] == "Completed"
        assert "kept here" in world.lines(job)
        listed = world.sm("image", "ls", "--json").stdout
        names = [json.loads(line)["Name"] for line in listed.splitlines()]
        assert old not in names and runs in names, names


def test_without_pulls_what_is_here_runs(tmp_path, registry):
    with World(tmp_path, registry, pull="never") as world:
        name = registry.add("team/box", "v1", image())
        failed = world.at_end(world.start(name))
        assert failed["FailureReason"].startswith(f"ClientError: the image {name} is not on this")
        assert registry.requests == []
        assert world.sm("image", "pull", name).returncode == 0
        world.run(name)


def test_what_the_config_does_not_list_is_refused(world):
    for name in ("other/box:v1", f"{world.registry.address}/teams/box:v1", "Not A Name", "oci:/x"):
        with pytest.raises(ClientError) as refused:
            world.start(name)
        assert refused.value.response["Error"]["Code"] == "ValidationException"
        assert f"TrainingImage {name}: " in refused.value.response["Error"]["Message"]
    assert world.registry.requests == []


def test_an_image_that_the_registry_has_not_fails_the_job_with_its_words(world):
    name = f"{world.registry.address}/team/none:v1"
    told = world.at_end(world.start(name))
    assert told["TrainingJobStatus"] == "Failed"
    reason = told["FailureReason"]
    want = f"ClientError: the image cannot be pulled: {name}: no such image"
    assert reason.startswith(want), reason
    assert "sm explain" not in reason


def test_a_registry_that_is_down_is_not_the_fault_of_the_job(world):
    made = image()
    name = world.registry.add("team/box", "v1", made)
    world.registry.fault(digest(made.layers[0]), status=503)
    reason = world.at_end(world.start(name))["FailureReason"]
    assert reason.startswith("InternalServerError: the image cannot be pulled: "), reason
    assert "the registry returned 503" in reason


def test_a_stop_ends_the_pull(world):
    made = image()
    name = world.registry.add("team/box", "v1", made)
    world.registry.fault(digest(made.layers[0]), stall_after=1000)
    job = world.start(name)
    wait_until(
        "the pull",
        lambda: (
            ("Downloading", "Downloading the training image, for 3600 s at most")
            in statuses(world.told(job))
        ),
        SECONDS,
    )
    wait_until("the layer", lambda: world.registry.asked(digest(made.layers[0])), SECONDS)
    assert pulls_of(name)
    world.api().stop_training_job(TrainingJobName=job)
    told = world.at_end(job)
    assert told["TrainingJobStatus"] == "Stopped"
    wait_until("the pull to end", lambda: not pulls_of(name), SECONDS)
    world.registry.faults.clear()
    world.run(name)


def test_a_pull_ends_at_its_own_limit(tmp_path, registry):
    made = image()
    with World(tmp_path, registry, pull_limit=2) as world:
        name = registry.add("team/box", "v1", made)
        registry.fault(digest(made.layers[0]), stall_after=1000)
        told = world.at_end(world.start(name))
        assert ("Downloading", "Downloading the training image, for 2 s at most") in statuses(told)
        assert told["FailureReason"].startswith(
            "ClientError: the image cannot be pulled: the pull took longer than 2 s; "
            "jobs.pull_limit"
        ), told["FailureReason"]
        wait_until("the pull to end", lambda: not pulls_of(name), SECONDS)


def let_go() -> None:
    """Ends the program WAIT, in whichever host it runs."""
    for pid in in_host("algo-1", lambda words: words[0] == "/bin/sh"):
        os.kill(pid, signal.SIGUSR1)


def pulls_of(name: str) -> list[str]:
    lines = [path.read_bytes() for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")]
    return [line.decode() for line in lines if b"\0pull\0" + name.encode() in line]


def test_a_job_outlives_its_server_and_keeps_its_image(world):
    name = world.registry.add("team/box", "v1", image(WAIT, kept=b"here\n"))
    job = world.start(name)
    wait_until("it to run", lambda: "runs" in world.lines(job), SECONDS)
    world.server.kill()
    pruned = world.sm("image", "prune", "--all")
    assert pruned.returncode == 0 and "0 B removed" in pruned.stdout, pruned
    world.server.start()
    let_go()
    told = world.at_end(job)
    assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
    assert "kept here" in world.lines(job)
    assert world.described(job)["MusterImage"].startswith(name + "@sha256:")


def test_a_server_that_ends_while_it_pulls_pulls_again(world):
    made = image()
    name = world.registry.add("team/box", "v1", made)
    world.registry.fault(digest(made.layers[0]), stall_after=1000)
    job = world.start(name)
    wait_until("the layer", lambda: world.registry.asked(digest(made.layers[0])), SECONDS)
    world.server.kill()
    wait_until("the pull to end with it", lambda: not pulls_of(name), SECONDS)
    world.registry.faults.clear()
    world.server.start()
    assert world.at_end(job)["TrainingJobStatus"] == "Completed"


def test_a_pattern_for_any_registry_reaches_none_of_the_machines_own(tmp_path, registry):
    with World(tmp_path, registry, registries=["*"]) as world:
        name = registry.add("team/box", "v1", image())
        metadata = "169.254.169.254/latest/meta-data:v1"
        for asked in (name, metadata, "[::1]:1/a/b", "localhost:1/a/b"):
            reason = world.at_end(world.start(asked))["FailureReason"]
            want = "which is not a public internet address; connecting to it is not allowed"
            assert want in reason, reason
        assert registry.requests == []


def test_what_was_pushed_to_the_server_runs_without_being_listed(world, tmp_path):
    host = f"127.0.0.1:{world.server.port}"
    keys = world.server.keys
    login = f"{keys['AWS_ACCESS_KEY_ID']}:{keys['AWS_SECRET_ACCESS_KEY']}"
    copy = ["skopeo", "copy", "-q", "--dest-tls-verify=false", "--dest-creds", login]
    for version in (b"1", b"2"):
        made = image(version=version + b"\n")
        made.write_layout(tmp_path / version.decode())
        source = f"oci:{tmp_path}/{version.decode()}:v1"
        subprocess.run([*copy, source, f"docker://{host}/lab/box:v1"], check=True, timeout=SECONDS)
        ecr = "000000000000.dkr.ecr.us-east-1.amazonaws.com"
        for name in (f"{host}/lab/box:v1", f"{ecr}/lab/box:v1"):
            told = world.run(name)
            lines = world.lines(told["TrainingJobName"])
            assert any(f"version {version.decode()}" in line for line in lines), lines
            assert told["AlgorithmSpecification"]["TrainingImage"] == name
            kept = f"registry.muster.internal/lab/box:v1@{digest(made.manifest)}"
            assert world.described(told["TrainingJobName"])["MusterImage"] == kept
    reason = world.at_end(world.start(f"{host}/lab/none:v1"))["FailureReason"]
    assert reason.startswith("ClientError: the image cannot be pulled: "), reason
    assert "has not been pushed to this machine" in reason


def test_a_pushed_configuration_gets_no_layer_that_it_only_names(world):
    """A private image's true diff ids, with junk in place of its layers."""
    made = image(version=b"private\n")
    private = world.registry.add("private/box", "v1", made)
    assert world.sm("image", "pull", private).returncode == 0
    junk = claiming(made, [os.urandom(99) for _ in made.layers])
    assert push(world.server, "lab/junk", "v1", junk).status == 201
    host = f"127.0.0.1:{world.server.port}"
    told = world.at_end(world.start(f"{host}/lab/junk:v1"))
    assert told["TrainingJobStatus"] == "Failed"
    assert "cannot be pulled" in told["FailureReason"], told["FailureReason"]
    assert not world.lines(told["TrainingJobName"])
    assert push(world.server, "lab/whole", "v1", made).status == 201
    told = world.run(f"{host}/lab/whole:v1")
    assert any("version private" in line for line in world.lines(told["TrainingJobName"]))


def test_another_repositorys_image_is_not_had_by_its_digest(world):
    made = image(version=b"private\n")
    private = world.registry.add("private/box", "v1", made)
    assert world.sm("image", "pull", private).returncode == 0
    asked = f"{world.registry.address}/team/box@{digest(made.manifest)}"
    told = world.at_end(world.start(asked))
    assert told["TrainingJobStatus"] == "Failed"
    assert "cannot be pulled" in told["FailureReason"], told["FailureReason"]
