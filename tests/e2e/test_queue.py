"""Jobs of several keys wait on one machine: their order, and the status they show."""

import http.client
import re
import subprocess

import boto3
import pytest
from botocore.exceptions import ClientError

from lab import SM
from page import page_call
from process import wait_until
from sm_server import SmServer
from test_server_jobs import BUCKET, VENV, Job

HOLD = "import time; time.sleep(600)"


class KeyJob(Job):
    """A job that a certain key asks for."""
    def __init__(self, server, key, script, **more):
        plain = server.keys
        server.keys = {**plain, "AWS_ACCESS_KEY_ID": key[0], "AWS_SECRET_ACCESS_KEY": key[1]}
        try:
            super().__init__(server, script, **more)
        finally:
            server.keys = plain


@pytest.fixture
def server(tmp_path):
    config = {"python": str(VENV / "bin" / "python"), "capacity": {"ml.c5.xlarge": 1},
              "priority_max": {"BOUNDED": 3}}  # fmt: skip
    secret = tmp_path / "secret"
    secret.write_text("a-secret-of-the-config")
    secret.chmod(0o600)
    keys = [{"id": name, "secret_file": str(secret)} for name in ("OWNER", "BOUNDED")]
    one = SmServer(tmp_path, jobs=config, config={"keys": keys})
    one.keys = {"AWS_ACCESS_KEY_ID": "OWNER", "AWS_SECRET_ACCESS_KEY": secret.read_text()}
    with one:
        s3 = one.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        yield one


def own_key(server) -> tuple[str, str]:
    return server.keys["AWS_ACCESS_KEY_ID"], server.keys["AWS_SECRET_ACCESS_KEY"]


def why(job) -> str:
    return job.describe()["SecondaryStatusTransitions"][-1]["StatusMessage"]


def priority(value: str) -> list:
    return [{"Key": "muster:priority", "Value": value}]


def table(server) -> dict[str, str]:
    """What `sm jobs` says of each job's status."""
    done = subprocess.run([SM, "jobs"], env=server.env(), capture_output=True, text=True,
                          check=True, timeout=60)  # fmt: skip
    return {line.split()[0]: line for line in done.stdout.splitlines()}


def started_in_order(jobs) -> list:
    return sorted(jobs, key=lambda job: job.describe()["TrainingStartTime"])


def temporary(server, key) -> dict:
    return server.client("sts", key=key).get_session_token()["Credentials"]


class TemporaryKeyJob(Job):
    """A job that a temporary key asks for."""
    def __init__(self, server, keys, script, **more):
        plain = server.client
        server.client = lambda service: boto3.client(
            service, endpoint_url=server.url, region_name="us-east-1",
            aws_access_key_id=keys["AccessKeyId"], aws_secret_access_key=keys["SecretAccessKey"],
            aws_session_token=keys["SessionToken"])
        try:
            super().__init__(server, script, **more)
        finally:
            server.client = plain


def test_jobs_of_a_temporary_key_are_its_makers(server):
    ours, theirs = own_key(server), ("BOUNDED", "a-secret-of-the-config")
    holds = KeyJob(server, ours, HOLD)
    holds.in_status("Training")
    mine = [TemporaryKeyJob(server, temporary(server, ours), "print()") for _ in range(2)]
    other = KeyJob(server, theirs, "print()")
    # By itself a temporary key would have nothing yet: both of `mine` would be before `other`.
    assert why(other).startswith(f"Waiting for free hosts: place 2 of 3, behind {mine[0].name};")
    assert "place 3 of 3" in why(mine[1])
    with pytest.raises(ClientError, match="is 3, got 4"):
        TemporaryKeyJob(server, temporary(server, theirs), "print()", Tags=priority("4"))


def test_keys_take_turns_and_a_priority_goes_before_all(server):
    ours, theirs = own_key(server), ("BOUNDED", "a-secret-of-the-config")
    holds = KeyJob(server, ours, HOLD)
    holds.in_status("Training")
    mine = [KeyJob(server, ours, "print()") for _ in range(3)]
    other = [KeyJob(server, theirs, "print()") for _ in range(2)]
    # The first is promised its time; of the others those come first whose key has nothing.
    assert "place 1 of 5; " in why(mine[0]) and "place 4 of 5" in why(mine[1])
    assert why(other[0]).startswith(f"Waiting for free hosts: place 2 of 5, behind {mine[0].name};")
    urgent = KeyJob(server, theirs, "print()", Tags=priority("3"))
    assert f"behind {urgent.name}, which has a higher priority" in why(other[0]), why(other[0])
    assert re.search(r"place 1 of 6; ml.c5.xlarge: 1 requested, 0 of 1 free; starts when "
                     rf"{holds.name} ends, by (\S+ )?\d\d:\d\d UTC at the latest",
                     why(urgent)), why(urgent)
    assert "(Pending: place 1 of 6, priority 3)" in table(server)[urgent.name]
    # A server that starts again has the same order.
    places = {job.name: table(server)[job.name] for job in (*mine, *other, urgent)}
    places = {name: re.search(r"place \d", line)[0] for name, line in places.items()}
    server.kill()
    server.start()
    for name, place in places.items():
        assert place in table(server)[name]
    holds.api.stop_training_job(TrainingJobName=holds.name)
    for job in (*mine, *other, urgent):
        assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()
    order = started_in_order([*mine, *other, urgent])
    assert order[0] is urgent
    # The other key has used nothing but a moment: its turns come before ours is through.
    assert order.index(other[0]) < order.index(mine[1])
    assert order[-1] is mine[2], [job.name for job in order]


def on_page(server, name: str, given: dict, cookie: str = "") -> tuple[dict, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    return page_call(connection, name, given, cookie)


def test_keys_made_on_the_page_have_the_bounds_of_those_that_made_them(server):
    key = {"id": "BOUNDED", "secret": "a-secret-of-the-config"}
    made = []
    for _ in range(2):
        _, cookie = on_page(server, "login", {"id": key["id"], "secret": key["secret"]})
        key, _ = on_page(server, "make-key", {}, cookie)
        made.append(key)
    on_page(server, "delete-key", {"id": made[0]["id"]}, cookie)
    last = made[1]["id"], made[1]["secret"]
    with pytest.raises(ClientError, match="the maximum for this access key is 3, got 4"):
        KeyJob(server, last, "print()", Tags=priority("4"))
    job = KeyJob(server, last, "print()", Tags=priority("3"))
    assert job.at_end()["TrainingJobStatus"] == "Completed", job.text()


def test_a_tag_raises_a_job_that_waits_and_the_config_bounds_it(server):
    ours, theirs = own_key(server), ("BOUNDED", "a-secret-of-the-config")
    for value, key, said in (
        ("10", ours, "expected a whole number from 0 to 9"),
        ("high", ours, "expected a whole number from 0 to 9"),
        ("4", theirs, "the maximum for this access key is 3, got 4"),
    ):
        with pytest.raises(ClientError, match=f"tag muster:priority: {said}") as refused:
            KeyJob(server, key, "print()", Tags=priority(value))
        assert refused.value.response["Error"]["Code"] == "ValidationException"
    holds = Job(server, HOLD)
    holds.in_status("Training")
    first, second = Job(server, "print()"), Job(server, "print()")
    assert "place 2 of 2" in why(second)
    arn = second.describe()["TrainingJobArn"]
    second.api.add_tags(ResourceArn=arn, Tags=priority("2"))
    assert "place 1 of 2" in why(second)
    second.api.delete_tags(ResourceArn=arn, TagKeys=["muster:priority"])
    assert "place 1 of 2" in why(first)
    code = subprocess.run([SM, "submit", "--image", "host", "--priority", "10"], env=server.env(),
                          capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert code.returncode == 2 and "--priority: " in code.stderr, code.stderr


def test_a_large_job_is_not_passed_by_those_that_would_be_in_its_way(tmp_path):
    config = {"python": str(VENV / "bin" / "python"), "capacity": {"ml.c5.xlarge": 2}}
    with SmServer(tmp_path, jobs=config) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        hour = {"StoppingCondition": {"MaxRuntimeInSeconds": 3600}}
        holds = Job(server, HOLD, **hour)
        holds.in_status("Training")
        large = Job(server, "print('large')", hosts=2)
        long = Job(server, "print('long')", **hour)
        brief = Job(server, "print('brief')", StoppingCondition={"MaxRuntimeInSeconds": 600})
        assert brief.at_end()["TrainingJobStatus"] == "Completed", brief.text()
        assert "place 1 of 2" in why(large)
        # The host of `brief` is free a moment after its end.
        says = rf"behind {large.name}; with MaxRuntimeInSeconds up to \d+ it could start now"
        wait_until("a free host to be told of", lambda: re.search(says, why(long)))
        holds.api.stop_training_job(TrainingJobName=holds.name)
        assert large.at_end()["TrainingJobStatus"] == "Completed", large.text()
        assert long.at_end()["TrainingJobStatus"] == "Completed", long.text()
        began = large.describe()["TrainingStartTime"]
        assert began < long.describe()["TrainingStartTime"]


def test_a_job_that_waits_longer_than_it_may_is_stopped(server):
    holds = Job(server, HOLD)
    holds.in_status("Training")
    limits = {"MaxRuntimeInSeconds": 2, "MaxWaitTimeInSeconds": 3}
    waits = Job(server, "print()", StoppingCondition=limits, EnableManagedSpotTraining=True)
    patient = Job(server, "print()")
    told = waits.at_end()
    assert told["TrainingJobStatus"] == "Stopped", told
    assert told["SecondaryStatus"] == "MaxWaitTimeExceeded", told
    assert "TrainingStartTime" not in told
    assert patient.describe()["SecondaryStatus"] == "Pending"
    holds.api.stop_training_job(TrainingJobName=holds.name)
    assert patient.at_end()["TrainingJobStatus"] == "Completed"
