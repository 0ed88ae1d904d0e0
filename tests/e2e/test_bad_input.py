"""Bad input: one clear line that says file, place and what was expected."""

import json
import os

import pytest

from lab import VENV
from training import GUARD_SECONDS, SCRIPT

HYPER = "input/config/hyperparameters.json"


def write(name: str, text: str):
    def change(base):
        (base / name).write_text(text)

    return change


def hyperparameters(**more):
    """As the SDK sends them: every value is JSON text."""
    given = {"sagemaker_program": SCRIPT, **more}
    return write(HYPER, json.dumps({name: json.dumps(value) for name, value in given.items()}))


def zipped(base):
    """The code is to come from a .zip."""
    (base / "code" / SCRIPT).unlink()
    (base / "source.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    hyperparameters(sagemaker_submit_directory="/opt/ml/source.zip")(base)


def program(name: str, content: bytes | None = None):
    def change(base):
        if content is not None:
            (base / "code" / name).write_bytes(content)
        (base / HYPER).write_text(f'{{"sagemaker_program": "\\"{name}\\""}}')

    return change


# src/job/training/training_test.cc, src/job/launch/plan_test.cc and
# src/host/toolkit/refusals_test.cc have the other files and mistakes.
CASES = {
    # name: (what is wrong, all of what the one line must hold)
    "hyperparameters_not_json": (
        write(HYPER, '{"a": "1",\n "b": }'),
        ["hyperparameters.json", "2"],
    ),
    "unknown_program": (program("missing.py"), ["missing.py"]),
    "not_executable": (program("data.bin", bytes(range(256))), ["data.bin"]),
    "missing_interpreter": (program("job.sh", b"#!/no/such/shell\n"), ["job.sh"]),
    "windows_lines": (
        program("job.sh", b"#!/bin/sh\r\necho must not run\r\n"),
        ["job.sh", "Windows line endings (CR LF)", "run sed -i"],
    ),
    "equals_in_a_name": (
        hyperparameters(**{"a=b": 1}),
        ["hyperparameter a=b: its name contains '='", "rename the hyperparameter"],
    ),
    "long_variable": (
        hyperparameters(text="x" * 131072),
        ["the kernel allows only 131071", "a file in a channel"],
    ),
    "zipped_code": (zipped, ["/opt/ml/source.zip", "create a tar.gz archive with tar czf"]),
}


def assert_one_clear_line(process, words: list[str]) -> None:
    code = process.wait(GUARD_SECONDS)
    assert code > 0, f"exit {code}: {process.text}"
    lines = [line for line in process.text.splitlines() if all(word in line for word in words)]
    assert lines, f"no line holds all of {words}:\n{process.text}"
    for noise in ("Traceback", "terminate called", "core dumped", "Aborted", "what():"):
        assert noise not in process.text
    assert len(process.text.splitlines()) <= 6, f"too many words:\n{process.text}"


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_named(training, case):
    change, words = CASES[case]
    job = training(1, 1, "print('must not run')", {"sagemaker_mpi_enabled": "false"})
    change(job.hosts[0].base)
    job.start()
    assert_one_clear_line(job.leader, words)
    assert "must not run" not in job.leader.text
    assert (job.hosts[0].base / "output" / "failure").exists()


def test_mpirun_not_installed_is_named(training):
    job = training(1, 2, "print('must not run')", env={"PATH": f"{VENV}/bin"})
    assert not os.path.exists(f"{VENV}/bin/mpirun")
    job.start()
    assert_one_clear_line(job.leader, ["mpirun"])


def test_an_unknown_flag_and_a_bad_variable_are_named(training):
    job = training(1, 1, "")
    job.start(args=("--no-such-flag",))
    assert_one_clear_line(job.leader, ["--no-such-flag"])
    job.start(env={"MUSTER_LOST_AFTER": "soon"})
    assert_one_clear_line(job.leader, ["MUSTER_LOST_AFTER", "soon"])
