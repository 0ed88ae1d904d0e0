"""What a training container logs of itself: the reference's lines, without secrets."""

import json
import re

from lab import SM

PRINT = "print('hello')"
RECORD = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} sagemaker-training-toolkit "
LOG = {"MUSTER_TRAINING_LOG": "1"}
FOLDED = {"MUSTER_TRAINING_LOG": ""}  # As if it were not set.
PLAIN = {"sagemaker_mpi_enabled": "false"}
NO_MODEL = "WARNING  No model artifact is saved under path "


def told(text: str) -> list[str]:
    """The toolkit's records without their times and the empty lines between."""
    records = re.split(RECORD, text, flags=re.M)[1:]
    return [line for record in records for line in record.splitlines() if line]


def test_the_log_has_the_environment_the_command_and_the_success(training):
    secrets = {"api_key": '"s3cr3t-of-mine"', "epochs": "3"}
    job = training(1, 1, PRINT, {**PLAIN, **secrets}, env=LOG).start().succeed()
    text = job.leader.text
    assert re.search(RECORD + r"INFO     Invoking user script$", text, re.M), text
    shown = json.loads(text[text.index("{", text.index("Training Env:")) :].split("\n\n")[0])
    assert shown["hyperparameters"] == {"api_key": "******", "epochs": 3}
    assert "SM_HP_EPOCHS=3" in text
    assert "python3 script.py --api_key ****** --epochs 3" in text
    assert "s3cr3t-of-mine" not in text
    assert re.search(r"^PYTHONPATH=/\S+/code", text, re.M), text
    assert re.search(RECORD + r"INFO     Reporting training SUCCESS$", text, re.M)


def test_the_environment_is_folded_unless_asked_for(training):
    job = training(1, 1, PRINT, {**PLAIN, "token": '"s3cr3t"'}, env=FOLDED).start().succeed()
    lines = told(job.leader.text)
    assert lines[:2] == [
        "INFO     No GPUs detected (normal if no gpus installed)",
        "INFO     Invoking user script",
    ]
    assert re.fullmatch(
        r"Training Env: \d+ values, environment variables: \d+ "
        r"\(MUSTER_TRAINING_LOG=1 in the job's environment shows them\)",
        lines[2],
    )
    assert lines[3] == "Invoking script with the following command:"
    assert lines[4].endswith("python3 script.py --token ******")
    assert lines[-2].startswith(NO_MODEL) and lines[-2].endswith("/model")
    assert lines[-1] == "INFO     Reporting training SUCCESS"


def test_a_job_with_a_model_gets_no_warning_about_a_missing_one(training):
    write = "import os; open(os.environ['SM_MODEL_DIR'] + '/weights', 'w').close()"
    job = training(1, 1, write, PLAIN, env=FOLDED).start().succeed()
    assert "Reporting training SUCCESS" in job.leader.text
    assert "No model artifact" not in job.leader.text


def test_an_mpi_jobs_log_shows_hosts_counts_and_what_each_rank_runs(training):
    job = training(2, 2, PRINT, {"lr": "0.1"}, env=FOLDED).start().succeed()
    lines = told(job.leader.text)
    for line in (
        "INFO     Starting MPI run as worker node.",
        "INFO     Env Hosts: ['algo-1', 'algo-2'] Hosts: ['algo-1:2', 'algo-2:2'] "
        "process_per_hosts: 2 num_processes: 4",
        "INFO     Network interface name: eth0",
    ):
        assert line in lines, job.story()
    command = lines[lines.index("Invoking script with the following command:") + 1]
    assert command.startswith("mpirun --host algo-1:2,algo-2:2 -np 4 "), command
    ranks = [line for line in lines if line.startswith("each rank runs: ")]
    assert len(ranks) == 1 and ranks[0].endswith("python3 -m mpi4py script.py --lr 0.1"), ranks
    assert job.leader.text.count("JOB MAP") == 1, job.story()
    member = told(job.trains["algo-2"].text)
    waits = [line for line in member if "GPU" not in line]
    assert waits == [
        "INFO     Starting MPI run as worker node.",
        "INFO     Waiting for MPI process to finish.",
        "INFO     MPI process finished.",
        "INFO     Reporting training SUCCESS",
    ]


OPERATOR = """
import subprocess, sys
line = ["mpirun", "--process_per_hosts", "2", "--", "echo", "hello"]
sys.exit(subprocess.run(["SM", *line]).returncode)
"""


def test_an_operators_launch_is_in_its_trains_log(training):
    operator = OPERATOR.replace("SM", str(SM))
    quiet = training(2, 1, operator, PLAIN).start().succeed()
    assert "JOB MAP" not in quiet.leader.text and "each rank runs" not in quiet.leader.text
    job = training(2, 1, operator, PLAIN, env=FOLDED).start().succeed()
    lines = told(job.leader.text)
    assert any(
        line.startswith("INFO     Env Hosts: ['algo-1', 'algo-2'] Hosts: ['algo-1:2', 'algo-2:2']")
        for line in lines
    ), job.story()
    assert any(line.startswith("mpirun --host algo-1:2,algo-2:2 -np 4 ") for line in lines)
    assert lines.count("each rank runs: echo hello") == 1, job.story()
    assert job.leader.text.count("JOB MAP") == 1, job.story()
    assert "INFO     MPI process finished." in job.trains["algo-2"].text


def test_the_log_has_the_failure(training):
    job = training(1, 1, "raise SystemExit(4)", PLAIN, env=LOG).start()
    assert job.wait() == {"algo-1": 1}
    text = job.leader.text
    assert re.search(RECORD + r"ERROR    Reporting training FAILURE$", text, re.M), text
    assert re.search(RECORD + r"ERROR    ExecuteUserScriptError:\nExitCode 4$", text, re.M), text


def test_a_higher_log_level_is_quiet(training):
    level = {"sagemaker_container_log_level": "40"}
    job = training(1, 1, PRINT, {**PLAIN, **level}, env=LOG).start().succeed()
    assert job.leader.text.strip() == "hello"


def test_the_log_can_be_turned_off(training):
    job = training(1, 1, PRINT, PLAIN).start().succeed()
    assert job.leader.text.strip() == "hello"
