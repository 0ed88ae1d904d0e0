"""kill -9 of `sm server` at any moment of a job's life: no job, no line and no artifact is lost.

A moment is drawn from a seed, which a failure names: a time of the job's life, or a time after it
got into a status. `make test-deep` has most of these lives.
"""

import os
import pathlib
import random
import shutil
import threading
import time

import pytest
from botocore.exceptions import ClientError, ConnectionError, HTTPClientError
from lab import VENV
from process import wait_until
from sm_server import SmServer
from test_server_jobs import BUCKET, Job

LINES = 100
LIFE_SECONDS = 3.0  # About.
AFTER_SECONDS = 0.2  # After a status.
DOWN_SECONDS = 0.5  # At most; a server that is started again at once is the usual one.
END_SECONDS = 90.0
STATUSES = ("Pending", "Starting", "Downloading", "Training", "Uploading")
SCRIPT = f"""
import os, sys, time
for number in range({LINES}):
    print("line", number, "loss: %.1f" % number, flush=True)
    time.sleep(0.01)
with open(os.path.join(os.environ["SM_MODEL_DIR"], os.environ["SM_CURRENT_HOST"]), "wb") as file:
    file.write(b"whole" * 100_000)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("server")
    with SmServer(folder, jobs={"python": str(VENV / "bin" / "python")}) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        yield server


def wait_for(seconds: float) -> None:
    moment = time.monotonic() + seconds
    wait_until("the moment", lambda: time.monotonic() > moment)


def wait_for_moment(job: Job, chance: random.Random) -> str:
    """A moment to be killed at, in words."""
    if chance.random() < 0.5:
        seconds = chance.random() * LIFE_SECONDS
        wait_for(seconds)
        return f"after {seconds:.3f} s"
    status, seconds = chance.choice(STATUSES), chance.random() * AFTER_SECONDS
    place = STATUSES.index(status)

    def is_there():
        now = job.describe()["SecondaryStatus"]
        return now not in STATUSES or STATUSES.index(now) >= place

    wait_until(f"{job.name} to be {status}", is_there, END_SECONDS)
    wait_for(seconds)
    return f"{seconds:.3f} s after it was {status}"


def kill_and_start(server: SmServer, chance: random.Random) -> None:
    server.kill()
    if chance.random() < 0.5:
        wait_for(chance.random() * DOWN_SECONDS)
    server.start()


def is_whole(job: Job, hint: str) -> None:
    told = job.at_end(END_SECONDS)
    assert told["TrainingJobStatus"] == "Completed", (hint, told.get("FailureReason"), job.text())
    statuses = [each["Status"] for each in told["SecondaryStatusTransitions"]]
    assert statuses == [*STATUSES, "Completed"], (hint, statuses)
    log = job.log()
    assert sorted(log) == ["algo-1", "algo-2"], (hint, sorted(log))
    for host, lines in log.items():
        numbers = [line for line in lines if line.startswith("line ")]
        want = [f"line {number} loss: {number:.1f}" for number in range(LINES)]
        assert numbers == want, (hint, host, lines)
    whole = b"whole" * 100_000
    assert job.artifact() == {"algo-1": whole, "algo-2": whole}, hint
    points = job.points(told, ["SampleCount"])
    assert sum(point["SampleCount"] for point in points) == 2 * LINES, (hint, points)
    final = {each["MetricName"]: each["Value"] for each in told["FinalMetricDataList"]}
    assert final == {"loss": LINES - 1}, (hint, final)


def nothing_is_left(server: SmServer) -> None:
    """Waits until no job has a folder or a key any more."""
    folders = [server.data / "machine" / "jobs", server.data / "keys"]

    def left() -> list[str]:  # os.walk() passes over a folder that is gone when its turn comes.
        walks = [step for folder in folders for step in os.walk(folder)]
        return [f"{at}/{name}" for at, *names in walks for name in names[0] + names[1]]

    try:
        wait_until("folders and keys to go", lambda: not left(), END_SECONDS)
    except AssertionError as late:
        raise AssertionError(f"{late}: {left()}") from late


def one_life(server: SmServer, seed: int, kills: int) -> None:
    chance = random.Random(seed)
    job = Job(server, SCRIPT, hosts=2)
    moments = []
    for _ in range(kills):
        moments.append(wait_for_moment(job, chance))
        kill_and_start(server, chance)
    is_whole(job, f"seed {seed}, killed {', '.join(moments)}")
    nothing_is_left(server)


@pytest.mark.parametrize("seed", range(5))
def test_a_server_killed_twice_loses_nothing(server, seed):
    one_life(server, seed, 2)


@pytest.mark.deep
def test_a_server_killed_at_fifty_moments_loses_nothing(server):
    for seed in range(1000, 1050):
        one_life(server, seed, 1)


def test_a_server_killed_while_it_takes_a_job_has_it_or_not(server):
    """The client cannot know; asking again with the same name says so, and it runs once."""
    chance = random.Random(77)
    for _ in range(3):
        names: list[Job] = []

        def submit(names=names):
            try:
                names.append(Job(server, SCRIPT, hosts=2))
            except (ConnectionError, HTTPClientError):
                pass

        thread = threading.Thread(target=submit)
        before = Job.number
        thread.start()
        wait_for(chance.random() * 0.3)
        kill_and_start(server, chance)
        thread.join()
        name = f"job-{os.getpid()}-{before + 1}"
        api = server.client("sagemaker")
        try:
            api.describe_training_job(TrainingJobName=name)
        except ClientError:
            assert not names, "a job that was accepted is gone"
            continue
        job = names[0] if names else Job.__new__(Job)
        job.server, job.name, job.api = server, name, api
        is_whole(job, "killed while it was submitted")


def test_a_server_that_starts_again_leaves_its_stewards_their_program_in_place(server):
    """The kernel mounts no file without a name, so a host that is being started would fail."""
    job = Job(server, "import signal; signal.pause()")

    def program():
        files = (server.data / "machine" / "jobs" / job.name).glob("algo-*/steward.pid")
        pids = [text.split()[0] for text in map(pathlib.Path.read_text, files) if text]
        return os.readlink(f"/proc/{pids[0]}/exe") if pids else None

    job.in_status("Training")  # Before that a steward may still wait for the server's word.
    before = program()
    server.kill()
    server.start()
    assert program() == before, "the kernel says (deleted)"
    job.api.stop_training_job(TrainingJobName=job.name)
    job.at_end(END_SECONDS)


def test_what_a_killed_server_had_no_time_to_remove_goes_at_the_next_start(server):
    """As it is when a job's end is stored and its folder is still there."""
    job = Job(server, "print('short')")
    assert job.at_end(END_SECONDS)["TrainingJobStatus"] == "Completed"
    nothing_is_left(server)
    server.kill()
    jobs = server.data / "machine" / "jobs"
    for name in (job.name, "not-uploaded"):
        (jobs / name).mkdir()
        for file in ("lock", "kept"):
            (jobs / name / file).touch()
    (jobs / job.name / "uploaded.json").write_text("{}")
    (jobs / ".new-abcdef").mkdir()
    (jobs / ".new-abcdef" / "key").touch()
    (server.data / "keys" / job.name).touch()
    server.start()
    wait_until("it to go", lambda: not (jobs / job.name).exists(), END_SECONDS)
    assert not (server.data / "keys" / job.name).exists()
    wait_until("the unfinished folder to go", lambda: not (jobs / ".new-abcdef").exists(),
               END_SECONDS)  # fmt: skip
    assert (jobs / "not-uploaded").exists()  # For people.
    shutil.rmtree(jobs / "not-uploaded")
