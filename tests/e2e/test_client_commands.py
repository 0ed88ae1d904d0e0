"""The clients of a server, from `sm submit` to `sm delete`, against a real `sm server`."""

import json
import os
import re
import signal
import subprocess
import tarfile

import pytest

from lab import SM, VENV
from process import Process, wait_until
from sm_server import SmServer

GUARD_SECONDS = 60

HELLO = """
import os, sys
host = os.environ["SM_CURRENT_HOST"]
print("hello from", host, sys.argv[1:], flush=True)
train = os.environ.get("SM_CHANNEL_TRAIN")
if train:
    print("sees", sorted(os.listdir(train)), open(train + "/deep/b").read(), flush=True)
open(os.path.join(os.environ["SM_MODEL_DIR"], host), "w").close()
"""
FAILS = "print('last words', flush=True)\nraise ValueError('no luck')\n"
WAITS = "import signal\nprint('waits', flush=True)\nsignal.pause()\n"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    jobs = {"python": str(VENV / "bin" / "python")}  # mpi4py is in it.
    with SmServer(tmp_path_factory.mktemp("clients"), jobs=jobs) as server:
        yield server


@pytest.fixture
def sm(server, tmp_path):
    """Runs `sm WORDS…` in a folder of the test's own."""

    def run(*words, code=0, **env):
        argv = [str(word) for word in (SM, *words)]
        done = subprocess.run(
            argv,
            env={**server.env(), **env},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=GUARD_SECONDS,
        )
        assert done.returncode == code, f"{argv}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    run.folder = tmp_path
    return run


@pytest.fixture
def follow(server, tmp_path):
    """Starts `sm WORDS…` and leaves it running."""
    started = []

    def start(*words):
        started.append(Process([SM, *words], env=server.env(), cwd=tmp_path))
        return started[-1]

    yield start
    for process in started:
        process.end()


def write(folder, text, name="train.py"):
    (folder / name).write_text(text)
    return name


def lines_of(text, host):
    return re.findall(rf"^{host}(?: rank \d+)? +[|!] (.*)$", text, re.M)


def test_a_submitted_job_runs_with_its_data_and_leaves_a_model(sm, server):
    write(sm.folder, HELLO)
    (sm.folder / "secret").write_text("not the job's")
    data = sm.folder / "data"
    (data / "deep").mkdir(parents=True)
    (data / "a").write_text("a")
    (data / "deep" / "b").write_text("text of b")
    words = ["train.py", "--hosts", "2", "--input", "train=data"]
    done = sm("submit", *words, "--name", "hello", "--hyperparameter", "word=ab c", "--wait")
    for host in ("algo-1", "algo-2"):
        lines = lines_of(done.stdout, host)
        assert f"hello from {host} ['--word', 'ab c']" in lines
        assert "sees ['a', 'deep'] text of b" in lines
    statuses = re.findall(r"^\d{4}-\S+ \S+ (?:\+\S+ )?(\w+) - ", done.stdout, re.M)
    assert statuses[-1] == "Completed" and statuses.count("Training") == 1
    model = re.search(r"^Model: s3://([^/]+)/(\S+)$", done.stdout, re.M)
    s3 = server.client("s3")
    s3.download_file(model[1], model[2], str(sm.folder / "model.tar.gz"))
    with tarfile.open(sm.folder / "model.tar.gz") as archive:
        assert {"algo-1", "algo-2"} <= {name.removeprefix("./") for name in archive.getnames()}
    s3.download_file(model[1], "hello/source/sourcedir.tar.gz", str(sm.folder / "code.tar.gz"))
    with tarfile.open(sm.folder / "code.tar.gz") as archive:
        assert archive.getnames() == ["train.py"], "without --source-dir the script alone"
    job = server.client("sagemaker").describe_training_job(TrainingJobName="hello")
    assert job["HyperParameters"]["sagemaker_program"] == '"train.py"'


CHECKPOINTS = """
import os
folder = "/opt/ml/checkpoints"
print("finds", sorted(os.listdir(folder)), flush=True)
open(folder + "/later", "w").close()
"""


def test_checkpoints_of_a_folder_are_uploaded_and_the_job_has_its_tags(sm, server):
    write(sm.folder, CHECKPOINTS)
    (sm.folder / "ckpt").mkdir()
    words = ["train.py", "--tag", "team=vision", "--wait", "--checkpoints"]
    empty = sm("submit", *words, "ckpt", "--name", "tagged-0")
    assert "finds []" in lines_of(empty.stdout, "algo-1")
    write(sm.folder / "ckpt", "1", "step-1")
    first = sm("submit", *words, "ckpt", "--name", "tagged-1")
    assert "finds ['step-1']" in lines_of(first.stdout, "algo-1")
    job = json.loads(sm("describe", "--json", "tagged-1").stdout)
    place = job["CheckpointConfig"]["S3Uri"]
    assert place.endswith("/tagged-1/checkpoints")
    second = sm("submit", *words, place, "--name", "tagged-2")
    assert "finds ['later', 'step-1']" in lines_of(second.stdout, "algo-1")
    assert sm("jobs", "--tag", "team=vision").stdout.count("tagged-") == 3
    assert sm("jobs", "--tag", "team=audio").stdout == "no jobs\n"
    assert not (sm.folder / "ckpt" / "later").exists()


def test_jobs_describe_and_logs_show_ended_jobs(sm):
    write(sm.folder, HELLO)
    write(sm.folder, FAILS, "fails.py")
    sm("submit", "train.py", "--name", "told-1", "--wait")
    failed = sm("submit", "fails.py", "--name", "told-2", "--wait", code=1)
    assert "Failed: " in failed.stderr and "ValueError" in failed.stderr, failed.stderr
    assert "last words" in lines_of(failed.stdout, "algo-1")

    table = sm("jobs", "--name", "told").stdout.splitlines()
    assert table[0].split() == ["NAME", "STATUS", "CREATED", "TOOK"]
    assert [row.split()[:2] for row in table[1:]] == [["told-2", "Failed"], ["told-1", "Completed"]]
    assert len(sm("jobs", "--limit", "1").stdout.splitlines()) == 2
    listed = json.loads(sm("jobs", "--status", "failed", "--name", "told", "--json").stdout)
    assert [job["TrainingJobName"] for job in listed["TrainingJobSummaries"]] == ["told-2"]
    assert sm("jobs", "--name", "nobody").stdout == "no jobs\n"

    text = sm("describe", "told-2").stdout
    assert re.search(r"^Status +Failed$", text, re.M) and "ValueError" in text
    assert json.loads(sm("describe", "--json", "told-2").stdout)["TrainingJobStatus"] == "Failed"

    assert "last words" in lines_of(sm("logs", "told-2").stdout, "algo-1")
    objects = [json.loads(line) for line in sm("logs", "told-2", "--json").stdout.splitlines()]
    times = [each["time"] for each in objects]
    assert times == sorted(times)
    assert {"status", "line"} <= {each["type"] for each in objects}
    ended = sm("logs", "-f", "told-2", "--json", code=1).stdout.splitlines()
    assert json.loads(ended[-1])["type"] == "end"


def test_parts_of_a_log_are_shown_alone(sm):
    text = "import os\nrank = os.environ['OMPI_COMM_WORLD_RANK']\n"
    write(sm.folder, text + "for i in range(40): print('line', i, 'of rank', rank, flush=True)\n")
    sm("submit", "train.py", "--name", "parts", "--hosts", "2", "--mpi", "--wait")

    def shown(*words, host=""):
        return re.findall(rf"^{host}.*\| (line .*)$", sm("logs", "parts", *words).stdout, re.M)

    assert len(shown()) == 80
    one = [f"line {i} of rank 1" for i in range(40)]
    assert shown("--rank", "1") == one and shown("--rank", "1", "--tail", "3") == one[-3:]
    assert {line[-1] for line in shown("--host", "algo-2")} == {"1"}
    of_host = sm("logs", "parts", "--host", "algo-2").stdout.splitlines()
    assert all(line.startswith("algo-2 ") for line in of_host)

    def lines(*words):  # The first time that is printed has its offset.
        text = sm("logs", "parts", *words).stdout
        assert text.count(" +00:00 ") == 1, text
        return text.replace(" +00:00 ", " ").splitlines()

    whole = lines()
    assert lines("--tail", "5") == whole[-5:]
    assert lines("--tail", "99999") == whole
    followed = lines("-f", "--tail", "5")
    assert followed[:5] == whole[-5:] and followed[5].startswith("Training seconds: ")
    assert shown("--since", "1h") == shown() and sm("logs", "parts", "--since", "0s").stdout == ""
    first = json.loads(sm("logs", "parts", "--json").stdout.splitlines()[0])["time"]
    assert shown("--since", first) == shown() and shown("--since", first[:10]) == shown()
    none = sm("logs", "parts", "--rank", "2")
    assert none.stdout == "" and "parts's log has no lines from rank 2; " in none.stderr
    away = sm("logs", "parts", "--host", "algo-3", code=2).stderr
    want = "sm logs: parts has no host algo-3, only algo-1 to algo-2"
    assert away == want + " (sm explain no-such-job)\n"


OUTPUT = """
open(os.path.join(os.environ["SM_OUTPUT_DATA_DIR"], "figures"), "w").write("1 2 3")
"""


def files_below(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_a_job_left_is_downloaded(sm):
    write(sm.folder, HELLO + OUTPUT)
    sm("submit", "train.py", "--name", "leaves", "--hosts", "2", "--wait")
    told = sm("download", "leaves").stdout
    assert told == "model: leaves/model\noutput: leaves/output\nlog: leaves/log\n"
    logs = ["log/algo-1.log", "log/algo-2.log", "log/all.log"]
    files = [*logs, "model/algo-1", "model/algo-2", "output/figures"]
    assert files_below(sm.folder / "leaves") == files, "and nothing hidden"
    assert (sm.folder / "leaves/output/figures").read_text() == "1 2 3"
    log = sm.folder / "leaves" / "log"
    text = (log / "all.log").read_text()
    assert text.replace(" UTC ", " +00:00 ", 1) == sm("logs", "--utc", "leaves").stdout
    of_host = (log / "algo-2.log").read_text().splitlines()
    assert all(line.startswith("algo-2 ") for line in of_host)
    assert any("hello from algo-2 []" in line for line in of_host)
    again = sm("download", "leaves", code=2).stderr
    assert again.startswith("sm download: leaves/model already exists: choose another folder")
    some = sm("download", "leaves", "other/place", "--model", "--logs", "--json").stdout
    places = {"model": "other/place/model", "log": "other/place/log"}
    assert json.loads(some) == {"TrainingJobName": "leaves", **places}
    assert files_below(sm.folder / "other/place") == [*logs, "model/algo-1", "model/algo-2"]
    theirs = sm.folder / "theirs"
    theirs.symlink_to(sm.folder / "other")
    os.lchown(theirs, 65534, 65534)
    refused = sm("download", "leaves", "theirs/more", "--model", code=2).stderr
    assert f"{theirs}: this symbolic link belongs to user 65534" in refused
    assert not (sm.folder / "other/more").exists()


def test_results_that_a_job_does_not_have_are_empty_or_refused(sm):
    write(sm.folder, FAILS)
    sm("submit", "train.py", "--name", "leaves-none", "--wait", code=1)
    lacks = sm("download", "leaves-none", "--output", code=2).stderr
    assert lacks == "sm download: leaves-none has no output (sm explain job-state)\n"
    assert not (sm.folder / "leaves-none").exists()
    told = sm("download", "leaves-none").stdout
    assert told == "model: none\noutput: none\nlog: leaves-none/log\n"
    assert "ValueError: no luck" in (sm.folder / "leaves-none/log/all.log").read_text()


def test_a_model_that_nothing_packed_is_downloaded(sm, server):
    write(sm.folder, HELLO)
    sm("submit", "train.py", "--name", "packs", "--wait")
    request = json.loads(sm("describe", "packs", "--json").stdout)
    members = ("RoleArn", "AlgorithmSpecification", "ResourceConfig", "StoppingCondition")
    job = {name: request[name] for name in (*members, "HyperParameters", "OutputDataConfig")}
    job["OutputDataConfig"]["CompressionType"] = "NONE"
    (sm.folder / "job.json").write_text(json.dumps(job))
    sm("submit", "--name", "packs-not", "--json-file", "job.json", "--wait")
    sm("download", "packs-not", "here", "--model")
    assert files_below(sm.folder / "here") == ["model/algo-1"]


def test_a_download_that_a_signal_ends_leaves_nothing(sm, server, follow):
    write(sm.folder, "import os\nwith open(os.environ['SM_MODEL_DIR'] + '/big', 'wb') as file:\n"
          "    for _ in range(400): file.write(os.urandom(1 << 20))\n")  # fmt: skip
    sm("submit", "train.py", "--name", "big", "--wait")
    client = follow("download", "big", "--model")
    wait_until("bytes", lambda: list((sm.folder / "big").glob(".partial-*/*")), GUARD_SECONDS)
    client.signal(signal.SIGINT)
    assert client.wait(GUARD_SECONDS) == 128 + signal.SIGINT
    assert files_below(sm.folder / "big") == []


def test_logs_follow_a_job_until_it_is_stopped(sm, follow):
    write(sm.folder, WAITS)
    told = json.loads(sm("submit", "train.py", "--name", "waits", "--json").stdout)
    assert told["TrainingJobName"] == "waits" and told["TrainingJobArn"].endswith("/waits")
    logs = follow("logs", "-f", "waits")
    wait_until("the job's line", lambda: b"waits\n" in logs.out, GUARD_SECONDS)
    assert "InProgress (Training)" in sm("jobs", "--name", "waits").stdout
    wait = follow("wait", "waits")
    assert sm("stop", "waits", "--wait").stdout == "waits: Stopped\n"
    assert wait.wait(GUARD_SECONDS) == 1 and wait.out == b"waits: Stopped\n"
    assert logs.wait(GUARD_SECONDS) == 1
    assert b"Stopped: on request" in logs.err
    again = sm("stop", "waits", "--json", code=2)
    assert again.stderr == "sm stop: waits has already ended: Stopped (sm explain job-state)\n"


STUBBORN = """import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("waits", flush=True)
while True:
    signal.pause()
"""


def test_stop_now_ends_the_grace_of_a_job_that_ignores_the_signal(sm, follow):
    write(sm.folder, STUBBORN)
    sm("submit", "train.py", "--name", "stays")
    logs = follow("logs", "-f", "stays")
    wait_until("the job's line", lambda: b"waits\n" in logs.out, GUARD_SECONDS)
    asked = sm("stop", "stays")
    assert asked.stdout == "stays: Stopping\n"
    assert "to kill them at once, run sm stop --now stays" in asked.stderr
    assert sm("stop", "stays").stdout == "stays: Stopping\n"  # Asking again changes nothing.
    killed = sm("stop", "stays", "--now", "--wait")
    assert killed.stdout == "stays: Stopped\n"
    assert "stays: killing it now, without waiting any longer" in killed.stderr
    assert logs.wait(GUARD_SECONDS) == 1


def test_a_job_is_deleted_once_it_has_ended_and_its_model_stays(sm, server, follow):
    write(sm.folder, HELLO + "import signal; print('waits', flush=True); signal.pause()")
    sm("submit", "train.py", "--name", "goes")
    runs = sm("delete", "goes", code=2)
    assert "goes is InProgress; run sm stop --wait goes, then delete the job" in runs.stderr
    logs = follow("logs", "-f", "goes")
    wait_until("the job's line", lambda: b"waits\n" in logs.out, GUARD_SECONDS)
    stopped = json.loads(sm("stop", "goes", "--wait", "--json").stdout)
    assert stopped == {"TrainingJobName": "goes", "TrainingJobStatus": "Stopped"}
    described = json.loads(sm("describe", "goes", "--json").stdout)
    model = described["ModelArtifacts"]["S3ModelArtifacts"]
    first, second = sm("delete", "goes").stdout.splitlines()
    assert first == "goes: deleted, with its log"
    kept = second.removeprefix("its output in S3 is kept: ")
    assert kept + "model.tar.gz" == model
    bucket, key = model.removeprefix("s3://").split("/", 1)
    assert server.client("s3").head_object(Bucket=bucket, Key=key)["ContentLength"] > 0
    assert sm("jobs", "--name", "goes").stdout == "no jobs\n"
    for command in ("describe", "logs", "delete"):
        assert "there is no job goes" in sm(command, "goes", code=2).stderr


def test_a_signal_ends_the_client_and_not_the_job(sm, follow):
    write(sm.folder, WAITS)
    client = follow("submit", "train.py", "--name", "goes-on", "--wait")
    wait_until("the job's line", lambda: b"waits\n" in client.out, GUARD_SECONDS)
    client.signal(signal.SIGINT)
    assert client.wait(GUARD_SECONDS) == 128 + signal.SIGINT
    assert b"goes-on continues to run" in client.err
    assert "InProgress" in sm("describe", "goes-on").stdout
    sm("stop", "goes-on", "--wait")


def test_a_follower_loses_and_doubles_no_line_when_the_server_comes_again(tmp_path):
    count = "import threading\npause = threading.Event()\n"
    count += "for i in range(40):\n    print('line', i, flush=True); pause.wait(0.1)\n"
    write(tmp_path, count)
    with SmServer(tmp_path) as server:
        words = [SM, "submit", "train.py", "--name", "counts", "--wait"]
        client = Process(words, env=server.env(), cwd=tmp_path)
        wait_until("a line", lambda: b"line 5\n" in client.out, GUARD_SECONDS)
        server.kill()
        server.start()  # At the same port.
        code = client.wait(GUARD_SECONDS)
    assert code == 0, client.text
    numbers = [int(n) for n in re.findall(rb"\| line (\d+)\n", client.out)]
    assert numbers == list(range(40)), client.text


def test_a_request_comes_from_a_file(sm, server):
    write(sm.folder, HELLO)
    sm("submit", "train.py", "--name", "from-flags", "--wait")
    job = server.client("sagemaker").describe_training_job(TrainingJobName="from-flags")
    members = ("RoleArn", "AlgorithmSpecification", "OutputDataConfig", "ResourceConfig")
    request = {name: job[name] for name in (*members, "StoppingCondition", "HyperParameters")}
    (sm.folder / "job.json").write_text(json.dumps(request))
    done = sm("submit", "--name", "from-file", "--json-file", "job.json", "--wait")
    assert "hello from algo-1 []" in lines_of(done.stdout, "algo-1")
    assert "TrainingJobName" in sm("submit", "--json-file", "job.json", code=2).stderr


NO_KEY = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}


@pytest.mark.parametrize(
    ("words", "env", "code", "text"),
    [
        (["describe", "nobody"], {}, 2, "sm describe: there is no job nobody on the server"),
        (["logs", "-f", "nobody"], {}, 2, "sm logs: there is no job nobody on the server"),
        (["stop", "nobody"], {}, 2, "sm stop: there is no job nobody on the server"),
        (["jobs", "--status", "odd"], {}, 2, "sm jobs: --status: expected one of InProgress"),
        (["jobs", "--limit", "0"], {}, 2, "sm jobs: --limit: expected a whole number"),
        (["logs", "x", "--tail", "0"], {}, 2, "sm logs: --tail: expected a whole number"),
        (["logs", "x", "--rank", "-1"], {}, 2, "sm logs: --rank: expected a rank, 0 or higher"),
        (["submit", "none.py"], {}, 2, "sm submit: none.py: no such file"),
        (["submit", "a", "--script", "x.py", "--mpi"], {}, 2, "sm submit x.py --name a --mpi"),
        (["submit", "--image", "odd"], {}, 2, "sm submit: TrainingImage odd"),
        (["jobs"], {"AWS_ACCESS_KEY_ID": "AKIAODD"}, 2, "does not know this access key"),
        (["jobs"], {"AWS_SECRET_ACCESS_KEY": "odd"}, 2, "the server rejects the signature"),
        (["submit", "--image", "x"], {"AWS_SECRET_ACCESS_KEY": "odd"}, 2, "rejects the signature"),
        (["jobs"], {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}, 3, "does not respond: "),
        (["jobs"], {"AWS_ENDPOINT_URL": ""}, 2, "AWS_ENDPOINT_URL is not set"),
        (["jobs"], {**NO_KEY, "HOME": "/none"}, 2, "server's machine creates one"),
        (["jobs"], {"AWS_ENDPOINT_URL": "odd"}, 2, "AWS_ENDPOINT_URL: not a URL"),
    ],
)
def test_each_failure_is_one_clear_line(sm, words, env, code, text):
    done = sm(*words, code=code, **env)
    assert text in done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("see sm ")]
    assert len(lines) == 1 and done.stdout == "", done.stderr


def test_a_job_that_is_refused_uploads_nothing(sm, server):
    write(sm.folder, HELLO)
    words = ["submit", "train.py", "--name", "in-vain", "--image", "odd"]
    assert "is not an image of this server" in sm(*words, code=2).stderr
    s3 = server.client("s3")
    for bucket in s3.list_buckets()["Buckets"]:
        assert s3.list_objects_v2(Bucket=bucket["Name"], Prefix="in-vain/")["KeyCount"] == 0


def test_a_name_that_is_taken_is_refused(sm):
    write(sm.folder, HELLO)
    sm("submit", "train.py", "--name", "taken", "--wait")
    assert "ResourceInUse" in sm("submit", "train.py", "--name", "taken", code=2).stderr


def test_a_reason_of_several_lines_is_shown_as_such(sm):
    write(sm.folder, FAILS, "fails.py")
    failed = sm("submit", "fails.py", "--name", "reasons", "--wait", code=1).stderr
    reason = failed[failed.index("Failed: ") :].splitlines()
    headline = "AlgorithmError: fails.py on algo-1: exit code 1: ValueError: no luck"
    assert reason[0] == f"Failed: {headline} (sm explain exit-code)"
    assert "    ValueError: no luck" in reason  # Then the cause: when, and what to do.
    assert reason[-1].startswith("  when: ")
    assert re.search(r"^ {10,}ValueError: no luck$", sm("describe", "reasons").stdout, re.M)
