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

LEARNS = """
import time
print("begun", flush=True)
time.sleep(0.5)
print("loss=0.5", flush=True)
time.sleep(0.2)
print("over", flush=True)
"""

def objects(text: str) -> list[dict]:
    return [json.loads(line) for line in text.splitlines()]


def names(host: dict) -> list[str]:
    return [point["point"] for point in host["points"]]


def test_all_phases_of_all_hosts_are_shown_and_add_up(machine, tmp_path):
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
    words = ("submit", "train.py", "--name", "timed", "--source-dir", tmp_path / "code")
    inputs = ("--input", f"train={tmp_path / 'train-data'}")
    submit = machine.sm(*words, *inputs, "--wait", environment=server.env())
    assert submit.wait(GUARD_SECONDS) == 0, submit.text
    told = machine.sm("timeline", "timed", "--json", environment=server.env())
    assert told.wait(GUARD_SECONDS) == 0, told.text
    [host] = json.loads(told.out.decode())["hosts"]
    assert host["input_bytes"] == 100_000
    assert [name for name in STARTS + ENDS if name not in names(host)] == ["joined", "gathered"]
    for wrong in (("never",), ("timed", "--compare", "never")):
        unknown = machine.sm("timeline", *wrong, environment=server.env())
        assert unknown.wait(GUARD_SECONDS) == 2
        assert "never" in unknown.err.decode()
    words = ("timeline", "timed", "--compare", "timed")
    same = machine.sm(*words, environment=server.env())
    assert same.wait(GUARD_SECONDS) == 0, same.text
    assert "algo-1 against algo-1 of timed:\n" in same.out.decode()
    compared = machine.sm(*words, "--json", environment=server.env())
    assert compared.wait(GUARD_SECONDS) == 0, compared.text
    phases = json.loads(compared.out.decode())["compare"]["phases"]
    assert [phase["point"] for phase in phases] == names(host)
    assert all(phase["ms"] == phase["other_ms"] for phase in phases)


def check_first_metric(host: dict) -> None:
    """The program waits 500 ms before its metric, and 200 ms after it; a mark may be late."""
    order = names(host)
    assert order[order.index("first_line") :][:3] == ["first_line", "first_metric", "last_line"]
    points = {point["point"]: point["ms"] for point in host["points"]}
    assert points["first_metric"] - points["first_line"] >= 250
    assert points["last_line"] - points["first_metric"] >= 100


def test_the_first_metric_divides_what_runs(server, machine, tmp_path):
    (tmp_path / "train.py").write_text(LEARNS)
    hosts = {}
    for name, words in {
        "plain": (),
        "learns": ("--metric", "loss=loss=([0-9.]+)"),
        "never": ("--metric", "accuracy=accuracy=([0-9.]+)"),
    }.items():
        words = ("submit", "train.py", "--name", name, "--source-dir", tmp_path, *words)
        submit = machine.sm(*words, "--wait", environment=server.env())
        assert submit.wait(GUARD_SECONDS) == 0, submit.text
        assert ("\nMetrics: loss 0.5\n" in submit.out.decode()) == (name == "learns")
        told = machine.sm("timeline", name, "--json", environment=server.env())
        assert told.wait(GUARD_SECONDS) == 0, told.text
        [hosts[name]] = json.loads(told.out.decode())["hosts"]
    assert "first_metric" not in names(hosts["plain"]) + names(hosts["never"])
    check_first_metric(hosts["learns"])
    shown = machine.sm("timeline", "learns", environment=server.env())
    assert shown.wait(GUARD_SECONDS) == 0 and "\n  first metric " in shown.out.decode()


def test_a_job_of_this_machine_shows_its_metrics(machine):
    metrics = ("--metric", "loss=loss=([0-9.]+)", "--metric", "never=never=(.*)")
    fit = machine.fit(LEARNS, "--name", "learns", "--timeline", "--json", *metrics)
    assert fit.wait(GUARD_SECONDS) == 0, fit.text
    timeline, end = objects(fit.out.decode())[-2:]
    assert end["metrics"] == {"loss": 0.5}
    [host] = timeline["hosts"]
    check_first_metric(host)
    described = machine.sm("describe", "learns", "--json")
    assert described.wait(GUARD_SECONDS) == 0, described.text
    told = json.loads(described.out.decode())
    [final] = told["FinalMetricDataList"]
    assert (final["MetricName"], final["Value"]) == ("loss", 0.5)
    assert told["AlgorithmSpecification"]["MetricDefinitions"][0]["Regex"] == "loss=([0-9.]+)"
    again = machine.sm("timeline", "learns", "--json")
    assert again.wait(GUARD_SECONDS) == 0, again.text
    assert json.loads(again.out.decode())["hosts"] == [host]
    followed = machine.sm("logs", "-f", "learns")
    assert followed.wait(GUARD_SECONDS) == 0 and "\nMetrics: loss 0.5\n" in followed.out.decode()
    wrong = machine.fit(LEARNS, "--name", "wrong", "--metric", "loss=(")
    assert wrong.wait(GUARD_SECONDS) == 2
    assert 'invalid regex for metric "loss": missing ): (' in wrong.err.decode()
