"""`sm stacks`: the stacks of all ranks of a running job, captured outside their containers."""

import json
import os
import re
import shutil
import subprocess

from fit import GUARD_SECONDS
from lab import VENV
from process import wait_until
from sm_server import SmServer

# Rank 2 reads from a pipe that is never written to; all others wait for it.
BARRIER = """
import os
from mpi4py import MPI
def read_batch():
    os.read(os.pipe()[0], 1)
def train():
    if MPI.COMM_WORLD.rank == 2:
        read_batch()
    MPI.COMM_WORLD.Barrier()
print("rank", MPI.COMM_WORLD.rank, flush=True)
train()
"""
THREADS = """
import subprocess, threading
lock = threading.Lock()
def worker():
    with lock:
        pass
lock.acquire()
threading.Thread(target=worker, name="loader").start()
child = subprocess.Popen(["python3", "-c", "import time\\ntime.sleep(1000)"])
print("begun", flush=True)
child.wait()
"""
# A stand-in for NCCL's service for diagnosis (RAS).
RAS = """
import json, socket
ranks = [{"rank": rank, "collective_counts": {"AllReduce": 2 - rank}} for rank in (0, 1)]
answer = {"communicators": [{"hash": "0x1f", "size": 2, "ranks": ranks, "missing_ranks": []}]}
server = socket.create_server(("127.0.0.1", 28028))
print("begun", flush=True)
while True:
    peer, _ = server.accept()
    assert peer.recv(4096).startswith(b"CLIENT PROTOCOL 2\\n")
    peer.sendall(b"SERVER PROTOCOL 2\\nOK\\nOK\\n" + json.dumps(answer).encode() + b"\\n")
    peer.close()
"""
# Dumps of PyTorch's Flight Recorder: rank 1 has not started the operation in which rank 0 waits. A
# third file names a function, which reading it must not call.
FLIGHTS = """
import pathlib, pickle, select
def operation(number, state):
    return {"process_group": ("0", "default_pg"), "collective_seq_id": number, "state": state,
            "profiling_name": "nccl:all_reduce", "is_p2p": False}
def dump(rank, *operations):
    groups = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}
    whole = {"version": "2.10", "pg_config": groups, "entries": list(operations)}
    (folder / f"rank_{rank}").write_bytes(pickle.dumps(whole, 2))
folder = pathlib.Path("/opt/ml/output/data/nccl")
folder.mkdir(parents=True)
dump(0, operation(11, "completed"), operation(12, "started"))
dump(1, operation(11, "completed"))
(folder / "rank_2").write_bytes(b"cos\\nsystem\\n(S'touch /opt/ml/output/data/called'\\ntR.")
print("begun", flush=True)
select.select([], [], [])
"""
FLIGHTS_SHOWN = (
    "Flight Recorder: group 0 (default_pg) of 2 ranks: rank 0 waits in all_reduce 12, "
    "rank 1 completed all_reduce 11"
)


def stacks(machine, job: str, *words: str) -> str:
    told = machine.sm("stacks", job, *words)
    assert told.wait(GUARD_SECONDS) == 0, told.text
    return told.out.decode()


def all_say(fit, count: int, word: str) -> None:
    wait_until(f"{count} x {word}", lambda: fit.out.decode().count(word) >= count, GUARD_SECONDS)


def stop(machine, fit) -> None:
    assert machine.sm("stop", "still", "--wait").wait(GUARD_SECONDS) == 0
    fit.wait(GUARD_SECONDS)


def test_the_rank_that_misses_a_barrier_is_marked(machine):
    fit = machine.fit(BARRIER, "--name", "still", hosts=2, per_host=2)
    all_say(fit, 4, "| rank ")

    def odd() -> bool:
        text = stacks(machine, "still")
        return "rank 2  <- stuck in a different place than most" in text and "ranks 0-1,3\n" in text

    wait_until("rank 2 marked", odd, GUARD_SECONDS)
    text = stacks(machine, "still")
    assert text.startswith("4 ranks on 2 hosts, at 2 places\nranks 0-3\n"), text
    assert "read_batch  script.py:5\n    (waits in " in text, text

    only = stacks(machine, "still", "--host", "algo-1")
    assert "ranks 0-1\n" in only and "rank 2" not in only
    job = json.loads(stacks(machine, "still", "--json"))
    assert [host["host"] for host in job["hosts"]] == ["algo-1", "algo-2"]
    ranks = [p for host in job["hosts"] for p in host["processes"] if p["rank"] >= 0]
    assert sorted(process["rank"] for process in ranks) == [0, 1, 2, 3]
    spinning = [process for process in ranks if process["rank"] != 2]
    assert all(process["threads"][0]["runs"] for process in spinning)
    stop(machine, fit)


def test_threads_and_started_processes_have_trees_of_their_own(machine):
    fit = machine.fit(THREADS, "--name", "still")
    all_say(fit, 1, "begun")
    wait_until("a child", lambda: "they started" in stacks(machine, "still"), GUARD_SECONDS)
    native = stacks(machine, "still", "--native")
    assert "worker  script.py:5" in native and "could not be read" not in native, native
    assert re.search(r"<module>  script.py:11\n(.*\n)* +wait(4|id|pid)  libc", native), native
    text = stacks(machine, "still")
    assert "could not be read" not in text, text
    assert "other threads\n" in text and "worker  script.py:5" in text, text
    assert "processes that they started\n" in text, text
    stop(machine, fit)
    gone = machine.sm("stacks", "still")
    assert gone.wait(GUARD_SECONDS) == 2
    assert "still has ended, so it has no processes" in gone.text


def test_what_nccl_says_is_shown(machine):
    fit = machine.fit(RAS, "--name", "still")
    all_say(fit, 1, "begun")
    text = stacks(machine, "still")
    want = "NCCL: communicator 0x1f of 2 ranks: AllReduce: rank 0 started 2, rank 1 started 1\n"
    assert text.endswith(want), text
    (host,) = json.loads(stacks(machine, "still", "--json"))["hosts"]
    assert host["nccl"]["collectives"] == "open", host
    stop(machine, fit)


def test_what_the_flight_recorder_dumped_is_shown(machine):
    fit = machine.fit(FLIGHTS, "--name", "still")
    all_say(fit, 1, "begun")
    text = stacks(machine, "still")
    assert text.endswith(FLIGHTS_SHOWN + "\n"), text
    (host,) = json.loads(stacks(machine, "still", "--json"))["hosts"]
    assert [each["rank"] for each in host["flights"]] == [0, 1], host
    stop(machine, fit)
    assert not list(machine.output.rglob("called"))


def test_py_spy_is_that_of_the_jobs_own_python_environment(machine):
    """`pip install py-spy` in a virtual environment below a home that only its user may enter."""
    home = machine.source.parent / "own"
    home.mkdir(mode=0o700)
    subprocess.run([VENV / "bin/python", "-m", "venv", "--without-pip", home / "venv"], check=True)
    (machine.source / "script.py").write_text(THREADS)
    path = os.pathsep.join(each for each in machine.environment()["PATH"].split(os.pathsep)
                           if not os.path.exists(f"{each}/py-spy"))
    fit = machine.sm("fit", "script.py", "--source-dir", machine.source, "--name", "still",
                     "--python", home / "venv/bin/python", environment={"PATH": path})
    all_say(fit, 1, "begun")
    text = stacks(machine, "still")
    assert "py-spy: not found" in text and "worker" not in text, text
    shutil.copy(VENV / "bin/py-spy", home / "venv/bin/py-spy")
    text = stacks(machine, "still")
    assert "worker  script.py:5" in text and "py-spy" not in text, text
    stop(machine, fit)


def test_a_server_returns_the_stacks_of_its_jobs(machine, tmp_path):
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text(THREADS)
    with SmServer(tmp_path, jobs={"python": str(VENV / "bin" / "python")},
                  env={"PATH": f"{VENV}/bin:{os.environ['PATH']}"}) as server:
        words = ("submit", "train.py", "--name", "still", "--source-dir", tmp_path / "code")
        submit = machine.sm(*words, environment=server.env())
        assert submit.wait(GUARD_SECONDS) == 0, submit.text

        def told() -> str:
            stacks = machine.sm("stacks", "still", environment=server.env())
            stacks.wait(GUARD_SECONDS)
            return stacks.text

        wait_until("stacks", lambda: "worker  train.py:5" in told(), GUARD_SECONDS)
        stop = machine.sm("stop", "still", "--wait", environment=server.env())
        assert stop.wait(GUARD_SECONDS) == 0, stop.text
        assert "still: the job has no running host" in told()
