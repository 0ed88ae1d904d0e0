"""Every operator of `sm` has a function in sagemaker_containers.operators, with its flags."""

import json
import re
import subprocess
import sys

import pytest

from ours import REPOSITORY, SM, our_environment

LAUNCHERS = REPOSITORY / "src/job/launch/launchers.cc"
# The one operator that is not in the table of launchers.cc.
NAMES = ["mpirun", *re.findall(r'\{"([a-z][a-z -]*)", read_\w+\}', LAUNCHERS.read_text())]

# A script that calls an operator is within its job, whose hosts are known.
JOBS_HOSTS = {"hosts", "host", "key_file", "interface", "preflight"}

# "tf multi-worker" is operators.tf.multi_worker; null where there is none.
SIGNATURES = """
import functools, inspect, json, sys
from sagemaker_containers import operators
def parameters(name):
    words = name.replace("-", "_").split()
    found = functools.reduce(lambda own, word: getattr(own, word, None), words, operators)
    return callable(found) and [str(one) for one in inspect.signature(found).parameters.values()]
print(json.dumps({name: parameters(name) for name in sys.argv[1:]}))
"""


@pytest.fixture(scope="module")
def signatures(tmp_path_factory) -> dict:
    env = our_environment(SAGEMAKER_BASE_DIR=str(tmp_path_factory.mktemp("base")))
    words = [sys.executable, "-c", SIGNATURES, *NAMES]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_table_of_launchers_is_read():
    text = LAUNCHERS.read_text()
    assert len(NAMES) == 1 + len(re.findall(r"\bread_\w+\b", text)) >= 7, NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_has_a_function_that_takes_its_flags(signatures, name):
    taken = signatures[name]
    assert taken, f"sagemaker_containers.operators has no function for sm {name}"
    words = [SM, *name.split(), "--help"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    flags = re.findall(r"^  (?:-\w, )?--([a-z_-]+)", done.stdout, re.M)
    flags = {flag.replace("-", "_") for flag in flags} - {"print_plan", "help"} - JOBS_HOSTS
    assert taken[:2] == ["program=None", "args=()"] and taken[-1] == "**hyperparameters"
    assert {each.partition("=")[0] for each in taken[2:-1]} == flags


def test_mpirun_is_the_proposals(signatures):
    wanted = ["program=None", "args=()", "process_per_hosts=None", "custom_mpi_options=''"]
    assert signatures["mpirun"][:4] == wanted


@pytest.mark.parametrize(
    ("call", "want"),
    [
        ("mpirun('no.py')", "program 'no.py' not found: expected a file in {code}, or a command"),
        ("mpirun(3)", "program is 3; expected the name of a file"),
        ("torchrun('train.py', '--lr 1')", "args is the string '--lr 1'; expected a list"),
        ("mxnet.run('../train.py')", "program '../train.py' not found"),
    ],
)
def test_what_cannot_be_run_is_one_clear_line(tmp_path, call, want):
    config = tmp_path / "input" / "config"
    config.mkdir(parents=True)
    (config / "resourceconfig.json").write_text('{"current_host": "a", "hosts": ["a"]}')
    for name in ("hyperparameters.json", "inputdataconfig.json"):
        (config / name).write_text("{}")
    code = tmp_path / "code"
    code.mkdir()
    (code / "train.py").write_text("print('ran')")
    words = [sys.executable, "-c", f"from sagemaker_containers import operators as sm; sm.{call}"]
    env = our_environment(SAGEMAKER_BASE_DIR=str(tmp_path))
    done = subprocess.run(words, env=env, cwd=code, capture_output=True, text=True, check=False)
    wanted = "sagemaker_training.errors.ClientError: " + want.format(code=code)
    assert done.returncode == 1 and done.stdout == "", done.stdout
    assert done.stderr.splitlines()[-1].startswith(wanted), done.stderr
