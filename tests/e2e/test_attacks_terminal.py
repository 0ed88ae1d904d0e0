"""Users' bytes on a terminal: they cannot order it about, nor look like muster's own lines."""

import json
import os
import re
import subprocess

import pytest

from fit import Machine
from lab import REPOSITORY, SM, VENV
from sm_server import SmServer
from terminal import ORDERS, OWN_COLOUR, check_harmless, on_terminal, quiet
from training import host_environment, train_program

GUARD_SECONDS = 120
EVIL = "\x1b]52;c;eA==\x07\x9b2J\u202e\rnew"

# Lines that would be muster's own, if they stood at a line's beginning.
IMITATIONS = [
    "2026-01-31 12:00:00 Completed - FAKE",
    "algo-1 muster: error: FAKE",
    "algo-2 muster: warning: FAKE",
    "algo-2 rank 0 | FAKE",
    "[1,mpirank:7,algo-2]<stdout>:FAKE",
    "sm fit: FAKE",
    "sm logs: FAKE",
    "Results: FAKE",
    "Model: FAKE",
    "Training seconds: FAKE",
    "Failed: FAKE",
    "  command: FAKE",
]

SCRIPT = f"""
import os, sys
orders = {ORDERS!r}
for name, order in orders.items():
    os.write(1, b"<" + name.encode() + b">" + order + b"<end>\\n")
for line in {IMITATIONS!r}:
    os.write(1, line.encode() + b"\\n")
    os.write(2, b"unfinished\\r" + line.encode() + b"\\r")
os.write(1, b"epoch 1\\nepoch 2\\nepoch 3\\n")  # So that no line of stdout becomes the reason.
os.write(2, b"last words " + b"".join(orders.values()) + b"\\n")
os.write(2, b"2026-01-31 12:00:00 Completed - FAKE\\n")
sys.exit(3)
"""
TAGGED = re.compile(r"^algo-1(?: rank 0)? +[|!] ")
INDENTED = re.compile(r"^    ")


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    machine = Machine(tmp_path_factory.mktemp("terminal"))
    (machine.source / "script.py").write_text(SCRIPT)
    yield machine
    machine.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("terminal-server")) as server:
        yield server


def fit_words(*words) -> list:
    return [SM, "fit", "script.py", "--hyperparameter", f"evil={EVIL}", *words]


@pytest.fixture(scope="module")
def submitted(server, tmp_path_factory):
    """`sm submit --wait` of a job that fails, followed on a terminal."""
    folder = tmp_path_factory.mktemp("submitted")
    (folder / "script.py").write_text(SCRIPT)
    words = [SM, "submit", "script.py", "--name", "evil", "--wait"]
    return on_terminal(words, quiet(server.env()), folder)


@pytest.fixture(scope="module")
def python_shown(submitted, server):
    """`muster.Job.wait()` of the same job."""
    script = "from muster.training import Job; Job('evil').wait()"
    env = {**quiet(server.env()), "PYTHONPATH": str(REPOSITORY / "python/src")}
    return on_terminal([VENV / "bin/python", "-c", script], env)


@pytest.fixture(scope="module")
def shown(request, machine, server):
    """What each command that shows a job's lines or words makes of the same bytes."""
    known = {}

    def run(command: str):
        if command not in known:
            if command == "fit":
                known[command] = on_terminal(
                    fit_words("--output", machine.folder / "out"),
                    quiet(machine.environment()), machine.source,
                )
            elif command == "submit --wait":
                known[command] = request.getfixturevalue("submitted")
            else:
                request.getfixturevalue("submitted")
                words = {"logs": ["logs", "-f", "evil"], "describe": ["describe", "evil"]}[command]
                known[command] = on_terminal([SM, *words], quiet(server.env()))
        return known[command]

    return run


@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("command", ["fit", "submit --wait", "logs"])
def test_a_line_of_a_job_orders_no_terminal_about(shown, command, name):
    told = shown(command)
    lines = [line for line in told.lines if f"<{name}>" in line]
    assert lines, told.text
    for line in lines:
        check_harmless(line)
        assert TAGGED.match(line) or INDENTED.match(line), line  # The latter: as last words.


@pytest.mark.parametrize("command", ["fit", "submit --wait", "logs", "describe"])
def test_nothing_of_a_failed_job_orders_a_terminal_about(shown, command):
    told = shown(command)
    assert told.code == (0 if command == "describe" else 1), told.text
    assert ("exit code 3" if command == "describe" else "last words") in told.text
    check_harmless(told.text)


@pytest.mark.parametrize("command", ["fit", "submit --wait", "logs"])
@pytest.mark.parametrize("line", IMITATIONS)
def test_a_line_of_a_job_looks_like_none_of_musters_own(shown, command, line):
    fakes = [got for got in shown(command).lines if line in got]
    assert fakes, shown(command).text
    for got in fakes:
        assert TAGGED.match(got) or INDENTED.match(got), got


def test_a_reason_with_newlines_is_indented(shown):
    for line in shown("describe").lines:
        assert "FAKE" not in line or line.startswith(" "), line


def test_a_return_ends_a_line_which_keeps_its_tag(machine):
    (machine.source / "bar.py").write_text(
        "import os\nos.write(1, b'10%\\ralgo-2 rank 0 | x\\r' + b'30%\\r\\n')\n"
    )
    told = on_terminal([SM, "fit", "bar.py"], quiet(machine.environment()), machine.source)
    assert told.code == 0, told.text
    # States are written over, each behind its tag; of those that came together the last is shown.
    told_lines = told.text.replace("\r\x1b[K", "\n").splitlines()
    for line in told_lines:
        check_harmless(line)
    got = [re.sub(TAGGED, "", line) for line in told_lines if TAGGED.match(line)]
    assert got == ["algo-2 rank 0 | x", "30%"], told.text


def test_a_jobs_colours_end_with_their_line(machine):
    (machine.source / "colours.py").write_text(
        """
import os
os.write(1, b"<1>\\x1b[1;38;5;208;8mbold\\n<2>after\\n<3>\\x1b[8mhidden\\x1b[38;5;256mx\\n")
os.write(1, b"<4>\\x1b[31:1mx\\x1b[" + b"1;" * 40 + b"mx\\x1b[?5m\\n")
"""
    )
    env = {name: value for name, value in machine.environment().items() if name != "NO_COLOR"}
    words = [SM, "fit", "colours.py", "--output", machine.folder / "own-colours"]
    told = on_terminal(words, env, machine.source)
    got = {}
    for line in told.lines:
        check_harmless(OWN_COLOUR.sub("", line))
        looks = OWN_COLOUR.findall(line)
        assert not looks or looks[-1] == "\x1b[0m", line
        if "<" in line:
            got[line[line.index("<") + 1]] = line[line.index(">") + 1:]
    many = "1;" * 40
    assert got == {
        "1": "\x1b[0;1;38;5;208mbold\x1b[0m",
        "2": "after",
        "3": "hiddenx",
        "4": f"\\x1b[31:1mx\\x1b[{many}mx\\x1b[?5m",
    }, told.text


def test_raw_passes_lines_on(machine):
    raw = on_terminal(
        fit_words("--raw", "--output", machine.folder / "raw"), quiet(machine.environment()),
        machine.source,
    )
    assert ORDERS["sets the title"] in raw.bytes


def test_a_pipe_gets_no_control_sequence_but_with_raw(machine):
    def pipe(*words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*fit_words(*words), "--output", machine.folder / f"pipe{len(words)}"],
            env=machine.environment(), cwd=machine.source, capture_output=True,
            timeout=GUARD_SECONDS, check=False,
        )

    piped = pipe()
    check_harmless(piped.stdout.decode(errors="surrogateescape"))
    assert b"<colour of muster's own><end>\n" in piped.stdout
    assert rb"<clears the screen>\x1b[H\x1b[2J<end>" in piped.stdout
    for line in piped.stderr.decode().splitlines():
        check_harmless(line)  # The verdict is muster's own, wherever it goes.
    raw = pipe("--raw")
    assert all(each in raw.stdout for each in ORDERS.values() if b"\r" not in each)


def test_json_is_escaped_and_one_object_a_line(machine):
    told = on_terminal(
        fit_words("--json", "--output", machine.folder / "json"), quiet(machine.environment()),
        machine.source,
    )
    assert told.code == 1, told.text
    check_harmless(told.text)
    verdict = [line for line in told.lines if line.startswith(("Failed: ", "  "))]
    objects = [json.loads(line) for line in told.lines if line and line not in verdict]
    assert objects[-1]["type"] == "end"
    texts = [each["text"] for each in objects if each["type"] == "line"]
    for name in ("sets the title", "C1 as UTF-8", "a bidirectional override"):
        assert f"<{name}>{ORDERS[name].decode()}<end>" in texts, name


QUOTED = {
    "an unknown command": [SM, EVIL],
    "fit: a script": [SM, "fit", EVIL],
    "fit: an unknown option": [SM, "fit", "x.py", "--" + EVIL],
    "fit: a number": [SM, "fit", "x.py", "--hosts", EVIL],
    "fit: a name": [SM, "fit", "script.py", "--name", EVIL],
    "fit: an input": [SM, "fit", "script.py", "--input", f"train=/no/{EVIL}"],
    "fit: an interpreter": [SM, "fit", "script.py", "--python", f"/no/{EVIL}"],
    "fit: a name that is no UTF-8": [SM, "fit", b"\x9b2J\xff.py"],
    "jobs: a status": [SM, "jobs", "--status", EVIL],
    "jobs: a part of a name": [SM, "jobs", "--name", EVIL],
    "describe: a job": [SM, "describe", EVIL],
    "logs: a job": [SM, "logs", EVIL],
    "stop: a job": [SM, "stop", EVIL],
    "submit: a name": [SM, "submit", "script.py", "--name", EVIL],
    "submit: a file": [SM, "submit", "--json-file", EVIL],
    "submit: an S3 address": [SM, "submit", "script.py", "--input", f"t=s3://{EVIL}"],
    "completion: a shell": [SM, "completion", EVIL],
    "key: an id": [SM, "key", "delete", EVIL],
    "server: an address": [SM, "server", "--listen", EVIL],
    "server: a config": [SM, "server", "--config", EVIL],
    "env: a flag": [SM, "env", "--" + EVIL],
    "mpirun: a flag": [SM, "mpirun", "--" + EVIL, "x"],
    "train: a flag": [train_program(), "--" + EVIL],
}


@pytest.mark.parametrize("case", QUOTED)
def test_an_error_that_quotes_orders_no_terminal_about(machine, server, tmp_path, case):
    (tmp_path / "script.py").write_text("")
    env = {**server.env(), **machine.environment(), **server.keys}
    told = on_terminal(QUOTED[case], quiet({**env, "AWS_ENDPOINT_URL": server.url}), tmp_path)
    assert told.code in (0, 1, 2, 3) and told.text.strip(), told.text
    check_harmless(told.text)
    if "\\x" in told.text:
        assert not re.search(r"^new", told.text, re.M), told.text


def test_an_endpoint_that_is_odd_is_quoted_harmlessly(machine, tmp_path):
    env = {**machine.environment(), "AWS_ENDPOINT_URL": f"http://{EVIL}:1",
           "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    check_harmless(on_terminal([SM, "jobs"], quiet(env), tmp_path).text)


def test_doctor_names_odd_paths_harmlessly(machine, tmp_path):
    odd = tmp_path / EVIL.replace("/", "")
    odd.mkdir()
    (odd / "python3").symlink_to("/usr/bin/python3")
    env = {**machine.environment(), "PATH": f"{odd}:{os.environ['PATH']}"}
    env["MUSTER_STATE"] = str(odd)
    told = on_terminal([SM, "doctor"], quiet(env))
    assert "\\x1b]52" in told.text
    check_harmless(told.text)
    check_harmless(on_terminal([SM, "doctor", "--json"], quiet(env)).text)


@pytest.mark.parametrize("name", ORDERS)
def test_python_shows_a_jobs_lines_harmlessly(python_shown, name):
    lines = [line for line in python_shown.lines if f"<{name}>" in line]
    assert lines, python_shown.text
    for line in lines:
        check_harmless(line)
        assert line.startswith(("algo-1: ", "    ")), line


def test_python_raises_a_failure_harmlessly(python_shown):
    assert "TrainingFailed: training job evil: Failed: " in python_shown.text
    check_harmless(python_shown.text)
    for line in python_shown.lines:
        assert "FAKE" not in line or line.startswith(("algo-1: ", "    ")), line


def test_train_shows_its_scripts_lines_harmlessly_on_a_terminal(training):
    job = training(1, 2, SCRIPT, {"evil": json.dumps(EVIL)}, env={"MUSTER_TRAINING_LOG": "1"})
    environment = host_environment(job.key, job.env)
    told = on_terminal(job.hosts[0].enter([train_program()]), environment)
    assert told.code != 0 and "last words" in told.text, told.text
    for name in ORDERS:
        assert f"<{name}>" in told.text
    check_harmless(told.text)
