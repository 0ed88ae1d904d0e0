"""A job that hangs is marked until it goes on, and its log has all stacks; one that computes or is
quiet is left alone."""

import json
import os
import re
import signal
import time
import urllib.request

import pytest

from fit import GUARD_SECONDS, in_host
from lab import VENV
from process import wait_until
from sm_server import SmServer
from still import STILL, compiled
from test_watching import basic

AFTER = 10  # Seconds; the least that may be asked for.
BEGIN = """
import os, signal, subprocess, sys, threading, time
from mpi4py import MPI
comm = MPI.COMM_WORLD
def locks():
    a, b = threading.Lock(), threading.Lock()
    meet = threading.Barrier(2)
    def take(first, second):
        with first:
            meet.wait()
            with second:
                pass
    threads = [threading.Thread(target=take, args=pair) for pair in ((a, b), (b, a))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
def busy():
    while True:
        pass
def stands(how):
    how()
print("rank", comm.rank, flush=True)
"""
# What rank 2 does while all others wait for it in a barrier.
WAYS = {
    "sleeps": "lambda: time.sleep(1000)",
    "reads": "lambda: os.read(os.pipe()[0], 1)",
    "locks": "locks",
    "busy": "busy",
    "stopped": "lambda: os.kill(os.getpid(), signal.SIGSTOP)",
    "receives": "lambda: comm.recv(source=0, tag=9)",
    "child": "lambda: subprocess.run(['sleep', '1000'])",
}
# Silent until a signal has it print a line.
SLEEPS = """
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("on it goes", flush=True))
print("begun", flush=True)
while True:
    signal.pause()
"""
HANGS = BEGIN + "stands(WAY) if comm.rank == 2 else comm.Barrier()\n"
COMPUTES = BEGIN + """
def step(state):
    for _ in range(1000):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        state ^= state >> 13
    return state
state, end = comm.rank, time.monotonic() + SECONDS
while time.monotonic() < end:
    state = step(state)
comm.Barrier()
"""
QUIET = BEGIN + """
print("muster quiet", SECONDS, flush=True)
if comm.rank == 0:
    time.sleep(SECONDS)
comm.Barrier()
"""


def hang_lines(fit) -> list[str]:
    return [line for line in fit.out.decode().splitlines() if "the job hangs" in line]


def begin(machine, script: str, name: str, *words):
    words = ("--name", name, "--hang-after", AFTER, *words)
    output = machine.folder / f"output-{name}"
    fit = machine.fit(script, *words, hosts=2, per_host=2, output=output)
    wait_until("all ranks", lambda: fit.out.decode().count("| rank ") == 4, GUARD_SECONDS)
    return fit


def check_found(machine, way: str) -> None:
    fit = begin(machine, HANGS.replace("WAY", WAYS[way]), way, "--end-hung")
    since = time.monotonic()
    wait_until("the hang", lambda: hang_lines(fit), AFTER + 30)
    took = time.monotonic() - since
    assert fit.wait(GUARD_SECONDS) == 1, fit.text
    assert took > AFTER - 1, took
    text = fit.out.decode() + fit.err.decode()
    why = "stopped by a signal" if way == "stopped" else "stuck in a different place than most"
    assert f"{why}: rank 2" in text, text
    hang = "the job hangs: no output and no progress for 10 s"
    assert f"Failed: rank 2 on algo-2: {hang}" in text, text
    assert f"rank 2  <- {why}" in text, text
    # Once as a status and once in the log, before the job ends for it.
    assert len([line for line in hang_lines(fit) if "Training - " in line]) == 1


@pytest.mark.parametrize("way", ["reads", "busy"])
def test_a_rank_that_others_wait_for_is_named(machine, way):
    check_found(machine, way)


@pytest.mark.deep
@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("reads", "busy")])
def test_each_way_to_hang_is_found(machine, way):
    check_found(machine, way)


# Two workers and two parameter servers; "ps 1" is there, and dead to the world.
SERVES = """
import json, os, signal, socket, threading
config = json.loads(os.environ["TF_CONFIG"])
kind, index = config["task"]["type"], config["task"]["index"]
if kind == "ps":
    server = socket.create_server(("", int(config["cluster"]["ps"][index].rsplit(":", 1)[1])))
    if index == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    while True:
        server.accept()[0].sendall(b"gradients")
for address in config["cluster"]["ps"]:
    host, port = address.rsplit(":", 1)
    while True:
        try:
            link = socket.create_connection((host, int(port)))
            break
        except ConnectionRefusedError:
            threading.Event().wait(0.05)
    print("worker", index, "is linked with", host, flush=True)
    link.recv(100)
"""
OPERATOR = "sm tf run-distributed-training --num-workers 2 --num-parameter-servers 2 train.py\n"


@pytest.mark.deep
def test_a_dead_parameter_server_is_named(machine, tmp_path):
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text(SERVES)
    (code / "run.sh").write_text(OPERATOR)
    fit = machine.sm("fit", "run.sh", "--source-dir", code, "--hosts", 2, "--hang-after", AFTER,
                     "--end-hung", "--python", VENV / "bin/python", "--name", "dead-server",
                     "--output", tmp_path / "output")  # fmt: skip
    wait_until("workers", lambda: fit.out.decode().count("is linked with") == 4, GUARD_SECONDS)
    since = time.monotonic()
    wait_until("the hang", lambda: hang_lines(fit), AFTER + 30)
    took = time.monotonic() - since
    assert fit.wait(GUARD_SECONDS) == 1, fit.text
    assert took > AFTER - 1, took
    assert "Failed: ps 1 on algo-1: the job hangs: no output and no progress for 10 s" in fit.text
    assert "ps 1 on algo-1  <- stopped by a signal" in fit.text


def check_left_alone(machine, scripts: dict[str, str]) -> None:
    """Jobs beside each other by their names, each silent for 20 s; begun in turn, since all of
    them write their script to the one source folder."""
    seconds = str(2 * AFTER)
    fits = [
        begin(machine, script.replace("SECONDS", seconds), name, "--end-hung")
        for name, script in scripts.items()
    ]
    for fit in fits:
        assert fit.wait(GUARD_SECONDS) == 0, fit.text
        assert not hang_lines(fit)


@pytest.mark.deep
def test_silent_jobs_that_are_well_are_left_alone(machine):
    check_left_alone(machine, {"quiet": QUIET, "computes": COMPUTES})


@pytest.mark.deep
@pytest.mark.parametrize("script", [QUIET, COMPUTES], ids=["quiet", "computes"])
def test_ten_healthy_jobs_raise_no_alarm(machine, script):
    for number in range(10):
        check_left_alone(machine, {f"healthy-{number}": script})


@pytest.mark.deep
def test_a_hundred_short_jobs_raise_no_alarm(machine):
    for number in range(100):
        fit = begin(machine, BEGIN + "comm.Barrier()\n", f"short-{number}", "--end-hung")
        assert fit.wait(GUARD_SECONDS) == 0, fit.text
        assert not hang_lines(fit)


def wake(script: str) -> None:
    """Has the job print a line."""
    (pid,) = in_host("algo-1", lambda words: words[-1].endswith(script))
    os.kill(pid, signal.SIGUSR1)


def test_a_job_that_hangs_is_marked_until_its_next_line(machine):
    def sm(*words) -> str:
        process = machine.sm(*words)
        assert process.wait(GUARD_SECONDS) == 0, process.text
        return process.out.decode()

    fit = machine.fit(SLEEPS, "--name", "sleeps", "--hang-after", AFTER)
    wait_until("the job", lambda: b"begun" in fit.out, GUARD_SECONDS)
    assert "InProgress (Training)" in sm("jobs")
    wait_until("the mark", lambda: "InProgress (Training: hangs)" in sm("jobs"), GUARD_SECONDS)
    job = json.loads(sm("describe", "sleeps", "--json"))
    assert job["MusterHang"]["noticed"] - job["MusterHang"]["since"] >= AFTER - 1
    assert job["SecondaryStatus"] == "Training"
    told = [each["StatusMessage"] for each in job["SecondaryStatusTransitions"]]
    assert told[-1] == job["MusterHang"]["verdict"] != told[-2], told
    assert "sm stacks sleeps shows where each rank is" in sm("describe", "sleeps")
    wake("script.py")
    wait_until("no mark", lambda: "hangs" not in sm("jobs"), GUARD_SECONDS)
    assert "MusterHang" not in json.loads(sm("describe", "sleeps", "--json"))
    why = "the job no longer hangs: it printed a line after "
    wait_until("the log", lambda: why in fit.out.decode() + fit.err.decode(), GUARD_SECONDS)
    sm("stop", "sleeps", "--wait")
    assert "hangs" not in sm("jobs")


def test_a_servers_job_hangs_by_its_config_and_goes_on(machine, tmp_path):
    """Without `end_hung` the job is only marked; its own variable counts more than the config."""
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(SLEEPS)
    jobs = {"python": str(VENV / "bin" / "python"), "hang_after_seconds": AFTER}
    path = f"{VENV}/bin:{os.environ['PATH']}"
    with SmServer(tmp_path, jobs=jobs, env={"PATH": path}) as server:

        def sm(*words) -> str:
            process = machine.sm(*words, environment=server.env())
            assert process.wait(GUARD_SECONDS) == 0, process.text
            return process.out.decode()

        def hanging() -> str:
            told = urllib.request.Request(f"{server.url}/metrics")
            told.add_header("Authorization", basic(server))
            with urllib.request.urlopen(told, timeout=GUARD_SECONDS) as answer:
                return re.findall(r"^muster_jobs_hanging (\d+)$", answer.read().decode(), re.M)[0]

        code = ("train.py", "--source-dir", tmp_path / "code")
        sm("submit", *code, "--name", "still")
        wait_until("the hang", lambda: "(Training: hangs)" in sm("jobs"), GUARD_SECONDS)
        assert hanging() == "1"
        assert "the job hangs" in sm("describe", "still")
        wait_until("the log", lambda: "(waits in" in sm("logs", "still"), GUARD_SECONDS)
        wake("train.py")
        wait_until("no mark", lambda: "hangs" not in sm("jobs"), GUARD_SECONDS)
        assert hanging() == "0"
        assert "the job no longer hangs: it printed a line after " in sm("logs", "still")
        sm("submit", *code, "--name", "never", "--env", "MUSTER_HANG_AFTER=0")
        assert "the job hangs" not in sm("describe", "never")
        wrong = machine.sm("submit", *code, "--name", "wrong", "--env", "MUSTER_HANG_AFTER=3",
                           environment=server.env())
        assert wrong.wait(GUARD_SECONDS) == 2
        assert "MUSTER_HANG_AFTER: expected 0, or a number of seconds from 10 to" in wrong.text
        for job in ("still", "never"):
            sm("stop", job, "--wait")


def begin_c(machine, how: str):
    compiled(machine.source, STILL, "mpicc", "-DWITH_MPI")
    (machine.source / "run.sh").write_text(f"exec ./still {how}\n")
    fit = machine.sm("fit", "run.sh", "--source-dir", machine.source, "--hosts", 2,
                     "--processes-per-host", 2, "--hang-after", AFTER, "--end-hung", "--python",
                     VENV / "bin/python", "--name", how,
                     "--output", machine.folder / how)  # fmt: skip
    wait_until("all ranks", lambda: fit.out.decode().count("begun, rank") == 4, GUARD_SECONDS)
    return fit


@pytest.mark.parametrize("how", ["spins", pytest.param("receives", marks=pytest.mark.deep)])
def test_a_rank_in_c_that_spins_is_named(machine, how):
    fit = begin_c(machine, how)
    wait_until("the hang", lambda: hang_lines(fit), AFTER + 60)
    assert fit.wait(GUARD_SECONDS) == 1, fit.text
    assert "stuck in a different place than most: rank 2" in fit.text, fit.text
    assert {"spins": "spin  still", "receives": "MPI_Recv  libmpi.so"}[how] in fit.text, fit.text


@pytest.mark.deep
@pytest.mark.parametrize("how", ["computes", "multiplies"])
def test_a_program_in_c_that_computes_in_silence_is_left_alone(machine, how):
    fit = begin_c(machine, how)
    assert fit.wait(GUARD_SECONDS) == 0, fit.text
    assert not hang_lines(fit)
