"""`sm timeline`, `sm trace`, `sm fit --timeline`: what each host did, and when."""

import json

import pytest

from fit import GUARD_SECONDS
from lab import VENV
from sm_server import SmServer

STARTS = ["launched", "root", "inputs", "begun", "joined", "gathered", "checked", "code"]
ENDS = ["worked", "rank", "first_line", "last_line", "ended", "stored"]
MPI = """
from mpi4py import MPI
print("rank", MPI.COMM_WORLD.Get_rank(), flush=True)
"""


def objects(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def names(host: dict) -> list[str]:
    return [point["point"] for point in host["points"]]


def test_all_phases_of_all_hosts_are_told_and_add_up(machine, tmp_path):
    words = ("--name", "line", "--timeline", "--json")
    fit = machine.fit(MPI, *words, hosts=2, per_host=2)
    assert fit.wait(GUARD_SECONDS) == 0, fit.text
    told = objects(fit.out.decode())
    assert told[-1]["type"] == "end"
    timeline = told[-2]
    assert timeline["type"] == "timeline" and timeline["job"] == "line"
    assert [host["host"] for host in timeline["hosts"]] == ["algo-1", "algo-2"]
    for host in timeline["hosts"]:
        assert names(host) == STARTS + ENDS
        times = [point["ms"] for point in host["points"]]
        assert times == sorted(times) and times[0] >= timeline["submitted_ms"]
    again = machine.sm("timeline", "line", "--json")
    assert again.wait(GUARD_SECONDS) == 0, again.text
    assert json.loads(again.out.decode())["hosts"] == timeline["hosts"]

    file = tmp_path / "trace.json"
    trace = machine.sm("trace", "line", "-o", file)
    assert trace.wait(GUARD_SECONDS) == 0, trace.text
    events = json.loads(file.read_text())["traceEvents"]
    for number, host in enumerate(timeline["hosts"], 1):
        phases = [event for event in events if event["pid"] == number and event["ph"] == "X"]
        whole = host["points"][-1]["ms"] - timeline["submitted_ms"]
        assert sum(event["dur"] for event in phases) == 1000 * whole
        for one, next_one in zip(phases, phases[1:]):
            assert one["ts"] + one["dur"] == next_one["ts"]


def test_a_person_sees_phases_with_their_seconds(machine):
    fit = machine.fit("print('x')\n", "--name", "seen", "--timeline")
    assert fit.wait(GUARD_SECONDS) == 0, fit.text
    for phase in ("root file system", "container", "first line", "results"):
        assert f"\n  {phase} " in fit.out.decode(), fit.out.decode()
    assert "to the first line" in fit.out.decode().split("Results:")[1]
    alone = machine.sm("timeline", "seen", "--host", "algo-1")
    assert alone.wait(GUARD_SECONDS) == 0 and "\nalgo-1\n" in alone.out.decode()


def test_what_there_is_not_is_named(machine):
    fit = machine.fit("print('x')\n", "--name", "seen")
    assert fit.wait(GUARD_SECONDS) == 0, fit.text
    for words, says in (
        (("timeline", "other"), "other"),
        (("timeline", "seen", "--host", "algo-2"), "algo-2"),
        (("trace", "seen", "-o", "/nowhere/file"), "/nowhere/file"),
    ):
        refused = machine.sm(*words, environment={"AWS_ENDPOINT_URL": ""})
        assert refused.wait(GUARD_SECONDS) in (2, 3), refused.text
        assert says in refused.err.decode()


@pytest.fixture
def server(tmp_path):
    with SmServer(tmp_path, jobs={"python": str(VENV / "bin" / "python")}) as server:
        yield server


def test_a_servers_job_brings_inputs_code_and_packages(server, machine, tmp_path):
    (tmp_path / "train-data").mkdir()
    (tmp_path / "train-data" / "a").write_bytes(b"x" * 100_000)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "train.py").write_text("print('here')\n")
    words = ("submit", "timed", "--script", "train.py", "--source-dir", tmp_path / "code")
    inputs = ("--input", f"train={tmp_path / 'train-data'}")
    submit = machine.sm(*words, *inputs, "--wait", environment=server.env())
    assert submit.wait(GUARD_SECONDS) == 0, submit.text
    told = machine.sm("timeline", "timed", "--json", environment=server.env())
    assert told.wait(GUARD_SECONDS) == 0, told.text
    [host] = json.loads(told.out.decode())["hosts"]
    assert host["input_bytes"] == 100_000
    assert [name for name in STARTS + ENDS if name not in names(host)] == ["joined", "gathered"]
    unknown = machine.sm("timeline", "never", environment=server.env())
    assert unknown.wait(GUARD_SECONDS) == 2
    assert "never" in unknown.err.decode()
