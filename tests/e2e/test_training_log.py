"""What a training container logs of itself: the reference's lines, without secrets."""

import json
import re

PRINT = "print('hello')"
RECORD = r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} sagemaker-training-toolkit "
LOG = {"MUSTER_TRAINING_LOG": "1"}
PLAIN = {"sagemaker_mpi_enabled": "false"}


def test_the_log_tells_the_environment_the_command_and_the_success(training):
    secrets = {"api_key": '"s3cr3t-of-mine"', "epochs": "3"}
    job = training(1, 1, PRINT, {**PLAIN, **secrets}, env=LOG).start().succeed()
    text = job.leader.text
    assert re.search(RECORD + r"INFO     Invoking user script$", text, re.M), text
    shown = json.loads(text[text.index("{", text.index("Training Env:")) :].split("\n\n")[0])
    assert shown["hyperparameters"] == {"api_key": "******", "epochs": 3}
    assert "SM_HP_EPOCHS=3" in text
    assert "python3 script.py --api_key ****** --epochs 3" in text
    assert "s3cr3t-of-mine" not in text
    assert re.search(RECORD + r"INFO     Reporting training SUCCESS$", text, re.M)


def test_the_log_tells_the_failure(training):
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
