"""Why a job failed, as a card: who was first, when, whom that took along, what to do."""

import json

import pytest

from fit import GUARD_SECONDS
from lab import VENV
from sm_server import SmServer

ONE_FAILS = """
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
if world.Get_rank() == 3:
    print("step 12", flush=True)
    raise ValueError("bad batch")
world.Barrier()
"""
PORT = """
import socket
first, second = socket.socket(), socket.socket()
first.bind(("127.0.0.1", 0))
second.bind(first.getsockname())
"""


def description(machine, job: str, **env) -> dict:
    told = machine.sm("describe", job, "--json", **env)
    assert told.wait(GUARD_SECONDS) == 0, told.text
    return json.loads(told.out.decode())


def test_the_first_failure_is_reported_with_its_victims(machine):
    fit = machine.fit(ONE_FAILS, "--name", "card", hosts=2, per_host=2)
    assert fit.wait(GUARD_SECONDS) == 1, fit.text
    said = fit.err.decode()
    assert "after algo-2's start, while running\n" in said
    assert "  then: 3 other ranks ended because of it, within " in said
    cause = description(machine, "card")["MusterCause"]
    assert (cause["host"], cause["rank"], cause["process"]) == ("algo-2", 3, "rank 3")
    assert cause["outcome"] == {"kind": "exited", "number": 1}
    assert cause["doing"] == "running" and cause["victims"] == 3
    assert cause["last_lines"].splitlines()[-1] == "ValueError: bad batch"
    assert cause["topic"] == "exit-code" and cause["after_ms"] > 0


def test_what_is_known_to_help_is_said(machine):
    fit = machine.fit(PORT)
    assert fit.wait(GUARD_SECONDS) == 1, fit.text
    assert "  hint: another program on this host uses the port" in fit.err.decode()


@pytest.fixture
def server(tmp_path):
    with SmServer(tmp_path, jobs={"python": str(VENV / "bin" / "python")}) as server:
        yield server


def test_a_server_keeps_the_card(machine, server, tmp_path):
    (tmp_path / "train.py").write_text(PORT)
    words = ("submit", "train.py", "--name", "card", "--source-dir", tmp_path, "--wait")
    submit = machine.sm(*words, environment=server.env())
    assert submit.wait(GUARD_SECONDS) == 1, submit.text
    assert "  hint: another program on this host uses the port" in submit.err.decode()
    cause = description(machine, "card", environment=server.env())["MusterCause"]
    assert cause["host"] == "algo-1" and cause["outcome"] == {"kind": "exited", "number": 1}
    assert server.stop() == 0
    server.start()
    again = description(machine, "card", environment=server.env())
    assert again["MusterCause"] == cause
