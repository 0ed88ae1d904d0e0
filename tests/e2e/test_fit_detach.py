"""`sm fit --detach`, and `sm jobs`, `logs`, `describe` and `stop` for jobs of this machine."""

import json
import os
import re
import signal
import stat
import subprocess
import time

import pytest

from fit import GUARD_SECONDS, Machine, in_host, wait_for_jobs_to_go
from lab import SM
from process import Process, wait_until
from sm_server import SmServer

NOBODY = 65534

# Goes on at SIGUSR1.
WAITS = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
host = os.environ["SM_CURRENT_HOST"]
open(os.path.join(os.environ["SM_MODEL_DIR"], host), "w").close()
print("begins on", host, flush=True)
signal.sigwait({signal.SIGUSR1})
print("ends on", host, flush=True)
"""
FAILS = "print('last words', flush=True)\nraise ValueError('bad batch')\n"
BOTH_FAIL = """
from mpi4py import MPI
print("last words", flush=True)
MPI.COMM_WORLD.Barrier()
raise ValueError("bad batch")
"""
ONE_FAILS_IN_ITS_OWN_WORDS = """
import os, sys
from mpi4py import MPI
host = os.environ["SM_CURRENT_HOST"]
open("/opt/ml/output/failure", "w").write(f"DATA_ERROR: rows of {host} have no label " + "é" * 2000)
MPI.COMM_WORLD.Barrier()
if host == "algo-2":
    sys.exit(7)
MPI.COMM_WORLD.Barrier()
"""
NEVER = "import signal\nprint('waits', flush=True)\nsignal.pause()\n"


@pytest.fixture
def sm(machine):
    """Runs `sm WORDS…` to its end, without a server."""

    def run(*words, code=0, **env):
        process = machine.sm(*words, environment={"AWS_ENDPOINT_URL": "", **env})
        assert process.wait(GUARD_SECONDS) == code, f"{words}: {process.text}"
        return process

    yield run
    for record in (machine.state / "records").glob("*/description.json"):
        if json.loads(record.read_text())["TrainingJobStatus"] in ("InProgress", "Stopping"):
            machine.sm("stop", "--wait", record.parent.name).wait(GUARD_SECONDS)


def carrier(name: str) -> int:
    """The process that carries the job, by its words."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if b"--detach" in words and name.encode() in words:
            found.append(int(entry))
    assert len(found) == 1, found
    return found[0]


def detach(machine, script, name, *words, code=0, **options):
    process = machine.fit(script, "--detach", "--name", name, *words, **options)
    assert process.wait(GUARD_SECONDS) == code, process.text
    return process


def described(sm, name) -> dict:
    return json.loads(sm("describe", "--json", name).out)


@pytest.fixture
def go(sm):
    """Lets the job's processes, which run WAITS, end."""

    def on(name: str, hosts: int = 1):
        def all_begun():
            return sm("logs", name).out.count(b"begins on") == hosts

        wait_until(f"{hosts} hosts of {name}", all_begun, GUARD_SECONDS)
        for number in range(1, hosts + 1):
            for pid in in_host(
                f"algo-{number}", lambda words: "python" in words[0] and words[-1] == "script.py"
            ):
                os.kill(pid, signal.SIGUSR1)

    return on


def test_a_detached_job_is_followed_to_its_end_and_listed_afterwards(machine, sm, go):
    begun = detach(machine, WAITS, "one", hosts=2)
    assert begun.out == b"one\n"
    for command in ("sm logs -f one", "sm stop one", "sm describe one", str(machine.output)):
        assert command in begun.err.decode()
    pid = carrier("one")
    assert os.getsid(pid) == pid, "a session of its own"
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    for number in (0, 1):
        assert os.readlink(f"/proc/{pid}/fd/{number}") == "/dev/null"
    follower = machine.sm("logs", "-f", "one", environment={"AWS_ENDPOINT_URL": ""})
    follower.wait_for_output(b"begins on algo-2", GUARD_SECONDS)
    listed = sm("jobs").out.decode().splitlines()
    assert listed[0].split() == ["NAME", "STATUS", "CREATED", "TOOK", "WHERE"]
    assert listed[1].startswith("one ") and listed[1].endswith(" local")
    assert "InProgress (Training)" in listed[1]
    now = described(sm, "one")
    assert (now["TrainingJobStatus"], now["MusterPlace"]) == ("InProgress", "local")
    assert b"ends on" not in sm("logs", "one").out
    assert follower.running()
    go("one", hosts=2)
    assert follower.wait(GUARD_SECONDS) == 0, follower.text
    out = follower.out.decode()
    assert out.count("ends on algo-") == 2
    assert "Completed - Training job completed" in out
    assert "Billable seconds: " in out and f"Results: {machine.output}" in out
    assert not machine.jobs(), "whoever follows waits until nothing is left"
    after = described(sm, "one")
    assert after["TrainingJobStatus"] == "Completed" and after["MusterExitCode"] == 0
    text = sm("describe", "one").out.decode()
    assert f"Log            {machine.output}/log\n" in text, text
    # What two hosts say in one millisecond may be followed in the other order.
    ended = sm("logs", "one").out.decode()
    assert set(ended.splitlines()) <= set(out.splitlines()), f"{ended}\n--- followed:\n{out}"
    again = sm("logs", "-f", "one").out
    assert sorted(again.splitlines()) == sorted(follower.out.splitlines()), "afterwards, too"


def test_the_log_is_kept_by_host_and_merged_also_of_an_attached_job_that_fails(machine, sm):
    process = machine.fit(BOTH_FAIL, "--name", "fails", hosts=2)
    assert process.wait(GUARD_SECONDS) == 1, process.text
    log = machine.output / "log"
    assert sorted(path.name for path in log.iterdir()) == ["algo-1.log", "algo-2.log", "all.log"]
    merged = (log / "all.log").read_text()
    assert merged.count("| last words\n") == 2
    assert "Failed - Training job failed: " in merged.splitlines()[-1]
    assert "ValueError: bad batch" in merged
    own = (log / "algo-1.log").read_text().splitlines()
    assert all(line.startswith("algo-1") for line in own)
    shown = sm("logs", "fails").out.decode()
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC Starting - ", merged), merged
    for line in shown.splitlines():
        assert re.split(r"\| | \+00:00 ", line)[-1] in merged
    only = sm("logs", "--host", "algo-2", "--tail", "2", "fails").out.decode().splitlines()
    assert len(only) == 2 and all(line.startswith("algo-2") for line in only)
    by_rank = sm("logs", "--json", "--rank", "1", "fails").out.splitlines()
    objects = [json.loads(line) for line in by_rank]
    assert {(each["host"], each["rank"]) for each in objects} == {("algo-2", 1)}
    assert sm("logs", "--since", "2000-01-01", "fails").out.decode() == shown
    assert sm("logs", "--since", "0s", "--host", "algo-1", "fails").out == b""
    assert "only algo-1 to algo-2" in sm("logs", "--host", "algo-3", "fails", code=2).text


def test_times_are_local_and_say_so(machine):
    detach(machine, "print('here')\n", "timed")

    def said(*words) -> str:
        done = machine.sm(*words, environment={"TZ": "XST-3:30"})
        assert done.wait(GUARD_SECONDS) == 0, done.text
        return done.out.decode()

    said("logs", "-f", "timed")
    log = said("logs", "timed")
    assert re.match(r"\S+ \S+ \+03:30 Starting - ", log) and log.count("+03:30") == 1, log
    start = re.search(r"Created +(\S+ \S+) \+03:30\n", said("describe", "timed"))[1]
    assert f" {start} +03:30 " in said("jobs")
    assert said("logs", "--since", start, "timed") == log
    assert said("logs", "--since", f"{start}Z", "timed") == ""
    for words in (("logs", "--utc", "timed"), ("describe", "--utc", "timed"), ("jobs", "--utc")):
        assert " +00:00 " in said(*words).replace("\n", " "), words


def test_results_and_log_belong_to_who_asked_by_sudo(machine):
    user = {"SUDO_UID": "1234", "SUDO_GID": "1234"}
    (machine.source / "script.py").write_text(FAILS)
    words = ["fit", machine.source / "script.py", "--output", machine.output]
    assert machine.sm(*words, environment=user).wait(GUARD_SECONDS) == 1
    for path in (machine.output / "log", machine.output / "log/all.log"):
        assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1234)


def test_a_failure_is_reported_with_its_cause_and_its_exit_code(machine, sm):
    detach(machine, FAILS, "fails")
    follower = sm("logs", "-f", "fails", code=1)
    assert "Failed: " in follower.err.decode() and "ValueError: bad batch" in follower.err.decode()
    now = described(sm, "fails")
    assert now["MusterExitCode"] == 1
    headline, *cause = now["FailureReason"].splitlines()
    assert headline == "AlgorithmError: script.py on algo-1: exit code 1: ValueError: bad batch"
    assert "Traceback (most recent call last):" in cause and cause[-1] == "ValueError: bad batch"
    last = json.loads(sm("logs", "-f", "--json", "fails", code=1).out.splitlines()[-1])
    assert (last["type"], last["exit_code"], last["status"]) == ("end", 1, "Failed")
    assert last["output"] == str(machine.output)
    assert sm("jobs", "--status", "failed").out.count(b"fails ") == 1
    assert sm("jobs", "--status", "completed").out == b"no jobs\n"


def test_the_reason_is_that_of_the_same_job_on_a_server(machine, sm):
    assert machine.fit(ONE_FAILS_IN_ITS_OWN_WORDS, "--name", "own", hosts=2).wait(GUARD_SECONDS)
    reason = described(sm, "own")["FailureReason"]
    assert reason.startswith("AlgorithmError: DATA_ERROR: rows of algo-2 have no label éé")
    assert len(reason) == 1024


def test_what_cannot_start_is_said_on_the_terminal_and_leaves_nothing(machine, sm):
    first = detach(machine, WAITS, "one")
    assert first.out == b"one\n"
    taken = detach(machine, WAITS, "one", code=2, output=machine.folder / "other")
    refused = taken.err.decode()
    assert "a job named one is already running on this machine; choose another --name" in refused
    words = ("fit", machine.source / "script.py", "--detach", "--name", "two")
    python = sm(*words, "--python", "/nope", code=2)
    assert "--python: /nope" in python.err.decode() and python.out == b""
    listed = json.loads(sm("jobs", "--json").out)["TrainingJobSummaries"]
    assert [job["TrainingJobName"] for job in listed] == ["one"]
    records = sorted(path.name for path in (machine.state / "records").iterdir())
    assert records == ["one"]
    assert b"Stopped" in sm("stop", "--wait", "one").out


@pytest.mark.parametrize("attached", [True, False])
def test_a_stop_is_as_ctrl_c(machine, sm, attached):
    if attached:
        job = machine.fit(NEVER, "--name", "stops")
        job.wait_for_output(b"| waits", GUARD_SECONDS)
    else:
        detach(machine, NEVER, "stops")
    follower = machine.sm("logs", "-f", "stops", environment={"AWS_ENDPOINT_URL": ""})
    follower.wait_for_output(b"| waits", GUARD_SECONDS)
    told = json.loads(sm("stop", "--wait", "--json", "stops").out)
    assert told == {"TrainingJobName": "stops", "TrainingJobStatus": "Stopped"}
    assert follower.wait(GUARD_SECONDS) == 1
    assert b"Stopped: on request" in follower.err
    if attached:
        assert job.wait(GUARD_SECONDS) == 128 + signal.SIGTERM
    assert described(sm, "stops")["MusterExitCode"] == 128 + signal.SIGTERM
    again = sm("stop", "stops", code=2)
    assert again.err == b"sm stop: stops has already ended: Stopped (sm explain job-state)\n"
    told = sm("download", "stops", code=2).err.decode()
    assert "stops is a job of sm fit on this machine, not of a server: its results" in told
    assert "sm delete deletes it, with its log" in told
    assert (machine.output / "log/all.log").read_text().count("| waits\n") == 1


def test_wait_returns_when_jobs_end_and_with_the_code_of_the_first_that_failed(machine, sm, go):
    detach(machine, FAILS, "fails", output=machine.folder / "fails")
    assert sm("wait", "fails", code=1).out == (
        b"fails: Failed: AlgorithmError: script.py on algo-1: exit code 1: ValueError: bad batch\n"
    )
    detach(machine, WAITS, "waits", output=machine.folder / "waits")
    late = sm("wait", "waits", "--timeout", "0", code=124)
    assert late.err == b"sm wait: timed out; still running: waits\n" and late.out == b""
    assert b"fails: Failed" in sm("wait", "--any", "waits", "fails", code=1).out
    all_of = machine.sm("wait", "waits", "fails", environment={"AWS_ENDPOINT_URL": ""})
    all_of.wait_for_output(b"fails: Failed", GUARD_SECONDS)
    assert all_of.running()
    go("waits")
    assert all_of.wait(GUARD_SECONDS) == 1
    assert all_of.out.endswith(b"\nwaits: Completed\n")
    told = json.loads(sm("wait", "--json", "waits", "waits").out)
    assert (told["type"], told["job"], told["exit_code"]) == ("end", "waits", 0)
    assert b"there is no job none on this machine" in sm("wait", "waits", "none", code=2).err


def test_delete_removes_the_record_and_the_log_and_names_the_output_folder(machine, sm, go):
    detach(machine, WAITS, "goes")
    runs = sm("delete", "goes", code=2).err
    assert b"goes is running; run sm stop --wait goes, then delete the job" in runs
    go("goes")
    sm("wait", "goes")
    assert b"goes " in sm("ps").out and b"Completed" in sm("status", "goes").out
    assert sm("rm", "goes").out.decode() == (
        f"goes: deleted, with its log\nits output folder is kept: {machine.output}\n"
    )
    assert (machine.output / "model/algo-1").exists()
    assert list((machine.state / "records").iterdir()) == []
    assert b"there is no job goes on this machine" in sm("cancel", "goes", code=2).err


STUBBORN = """
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("waits", flush=True)
while True:
    signal.pause()
"""


def test_a_second_stop_kills_at_once_and_the_first_says_so(machine, sm):
    detach(machine, STUBBORN, "stays", "--grace", "1h")
    follower = machine.sm("logs", "-f", "stays", environment={"AWS_ENDPOINT_URL": ""})
    follower.wait_for_output(b"| waits", GUARD_SECONDS)
    assert b"to kill them at once, run sm stop --now stays" in sm("stop", "stays").err
    assert described(sm, "stays")["TrainingJobStatus"] in ("InProgress", "Stopping")
    again = sm("stop", "--wait", "stays")
    assert b"stays: Stopped" in again.out
    assert b"stays: killing it now, without waiting any longer" in again.err
    assert follower.wait(GUARD_SECONDS) == 1


def test_stop_now_leaves_no_grace(machine, sm):
    detach(machine, STUBBORN, "stays", "--grace", "1h")
    follower = machine.sm("logs", "-f", "stays", environment={"AWS_ENDPOINT_URL": ""})
    follower.wait_for_output(b"| waits", GUARD_SECONDS)
    now = sm("stop", "--now", "--wait", "stays")
    assert b"stays: Stopped" in now.out
    assert b"stays: killing it now, without waiting any longer" in now.err
    assert follower.wait(GUARD_SECONDS) == 1


def test_a_job_whose_carrier_was_killed_is_lost_and_never_runs_for_ever(machine, sm):
    detach(machine, NEVER, "lost")
    follower = machine.sm("logs", "-f", "lost", environment={"AWS_ENDPOINT_URL": ""})
    follower.wait_for_output(b"| waits", GUARD_SECONDS)
    os.kill(carrier("lost"), signal.SIGKILL)
    assert follower.wait(GUARD_SECONDS) == 1
    assert b"Failed: lost: the process that ran the job was killed" in follower.err
    now = described(sm, "lost")
    assert now["TrainingJobStatus"] == "Failed" and now["FailureReason"].startswith("lost: ")
    assert b"Failed" in sm("jobs").out
    assert b"lost has already ended: Failed" in sm("stop", "lost", code=2).err
    machine.clean()
    wait_for_jobs_to_go(machine)
    assert b"| waits\n" in sm("logs", "lost").out, "its log outlives what a sweep takes"
    assert b"removed record lost" in sm("clean", "--all").out
    assert b"there is no job lost on this machine" in sm("describe", "lost", code=2).err


def test_two_jobs_run_at_once_and_a_name_is_free_again_after_its_end(machine, sm, go):
    for name in ("a", "b"):
        detach(machine, WAITS, name, output=machine.folder / name)
    listed = json.loads(sm("jobs", "--json").out)["TrainingJobSummaries"]
    assert [job["TrainingJobName"] for job in listed] == ["b", "a"]
    assert {job["TrainingJobStatus"] for job in listed} == {"InProgress"}
    sm("stop", "--wait", "a")
    assert described(sm, "b")["TrainingJobStatus"] == "InProgress"
    go("b")
    sm("logs", "-f", "b")
    detach(machine, WAITS, "a", output=machine.folder / "again")
    go("a")
    sm("logs", "-f", "a")
    assert described(sm, "a")["TrainingJobStatus"] == "Completed"
    assert len(json.loads(sm("jobs", "--json").out)["TrainingJobSummaries"]) == 2
    assert len(json.loads(sm("jobs", "--json", "--limit", "1").out)["TrainingJobSummaries"]) == 1


def test_json_names_the_job_and_its_places(machine, sm):
    told = json.loads(detach(machine, "pass", "named", "--json").out)
    assert told == {
        "type": "detached",
        "job": "named",
        "output": str(machine.output),
        "log": f"{machine.output}/log",
    }
    sm("logs", "-f", "named")


def test_a_closed_terminal_ends_no_detached_job(machine, sm, go):
    (machine.source / "script.py").write_text(WAITS)
    words = [SM, "fit", machine.source / "script.py", "--detach", "--name", "stays"]
    # A terminal of its own, which is gone with `script`: its session's processes get SIGHUP.
    line = " ".join(str(word) for word in words)
    subprocess.run(
        ["script", "-qec", f"{line} --output {machine.output}", "/dev/null"],
        env=machine.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        check=True,
        timeout=GUARD_SECONDS,
    )
    assert described(sm, "stays")["TrainingJobStatus"] in ("InProgress", "Stopping")
    go("stays")
    assert "ends on algo-1" in sm("logs", "-f", "stays").text


def test_another_user_sees_and_stops_nothing(machine, sm):
    detach(machine, NEVER, "mine")

    def stranger(*words):
        argv = ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", SM, *words]
        process = Process(argv, env={**machine.environment(), "AWS_ENDPOINT_URL": ""})
        assert process.wait(GUARD_SECONDS) == 2, process.text
        return process.text

    for words in (["jobs"], ["logs", "mine"], ["describe", "mine"], ["stop", "mine"]):
        assert "the jobs of this machine belong to root; use sudo" in stranger(*words)
    record = machine.state / "records/mine"
    for path in (machine.state / "records", record):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
    for path in record.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert described(sm, "mine")["TrainingJobStatus"] == "InProgress"
    sm("stop", "--wait", "mine")


def test_no_variable_of_a_job_stands_in_its_record(machine, sm):
    detach(machine, "pass", "quiet", "--env", "TOKEN=hunter2")
    sm("logs", "-f", "quiet")
    for path in (machine.state / "records/quiet").iterdir():
        assert b"hunter2" not in path.read_bytes(), path


def test_without_jobs_here_and_without_a_server_it_is_said_what_to_do(sm):
    assert b"`sm key create` on the server's machine prints the commands" in sm("jobs", code=2).err
    missing = sm("stop", "x", code=2).err
    assert b"there is no job x on this machine; sm jobs lists the existing jobs" in missing


def test_a_servers_jobs_and_this_machines_are_listed_together(machine, sm, tmp_path):
    detach(machine, WAITS, "here")
    with SmServer(tmp_path) as server:
        keys = {**server.keys, "AWS_ENDPOINT_URL": server.url}
        (tmp_path / "train.py").write_text("print('on the server', flush=True)\n")
        sm("submit", tmp_path / "train.py", "--name", "there", "--wait", **keys)
        table = sm("jobs", **keys).out.decode().splitlines()
        assert [line.split()[0] for line in table] == ["NAME", "there", "here"]
        assert table[1].endswith(" server") and table[2].endswith(" local")
        listed = json.loads(sm("jobs", "--json", **keys).out)["TrainingJobSummaries"]
        assert [job.get("MusterPlace") for job in listed] == [None, "local"]
        assert b"on the server" in sm("logs", "there", **keys).out
        assert b"Training in progress" in sm("logs", "here", **keys).out
        assert b"there is no job none on the server" in sm("describe", "none", **keys, code=2).err
        both = machine.sm("wait", "here", "there", environment=keys)
        both.wait_for_output(b"there: Completed\n", GUARD_SECONDS)
        assert b"here: Stopped" in sm("stop", "--wait", "here", **keys).out
        assert both.wait(GUARD_SECONDS) == 1
        assert both.out == b"there: Completed\nhere: Stopped\n"
        assert b"there is no job none on the server" in sm("wait", "none", **keys, code=2).err
        away = sm("jobs", code=3, **{**keys, "AWS_ENDPOINT_URL": "http://127.0.0.1:1"})
        assert b"here " in away.out and b"does not respond" in away.err


def test_detaching_takes_no_longer_than_a_start(machine, sm):
    begin = time.monotonic()
    detach(machine, NEVER, "soon")
    assert time.monotonic() - begin < 10
    sm("stop", "--wait", "soon")


def test_one_name_in_two_state_folders_is_two_jobs(machine, sm, tmp_path):
    detach(machine, NEVER, "twin")
    wait_until("it to wait", lambda: b"waits" in sm("logs", "twin").out, GUARD_SECONDS)
    (tmp_path / "other").mkdir()
    other = Machine(tmp_path / "other")
    try:
        second = other.fit("print('done')", "--name", "twin")
        assert second.wait(GUARD_SECONDS) == 0, second.text
        other.clean()
    finally:
        other.close()
    assert described(sm, "twin")["TrainingJobStatus"] == "InProgress"
    sm("stop", "--wait", "twin")
    assert described(sm, "twin")["TrainingJobStatus"] == "Stopped"
