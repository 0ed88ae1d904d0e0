"""Operators as functions: `import sagemaker_containers.operators as sm` in a job's entry point."""

import json
import re

import pytest

from image import STANDINS
from lab import REPOSITORY
from test_operators import sm_on_path
from training import host_environment

ENTRY = "entrypoint.py"
IMPORT = "import sagemaker_containers.operators as sm\n"
# The proposal's two lines: nothing in them names the program.
PROPOSAL = """\
import sagemaker_containers.operators as sm

sm.mpirun(process_per_hosts=3, learning_rate=10)
"""
RANK = """
import sys
from mpi4py import MPI
world = MPI.COMM_WORLD
world.Barrier()
print("rank", world.Get_rank(), "of", world.Get_size(), sys.argv[1:], flush=True)
"""
TASK = """
import json, os, signal, sys
env = os.environ
if "TF_CONFIG" in env:
    task = json.loads(env["TF_CONFIG"])["task"]
    print("task", task["type"], task["index"], sys.argv[1:3], flush=True)
    if task["type"] == "ps":
        signal.pause()
elif "DMLC_ROLE" in env:
    print("task", env["DMLC_ROLE"], sys.argv[1:], flush=True)
elif "WORLD_SIZE" in env:
    print("task", env["RANK"], "of", env["WORLD_SIZE"], sys.argv[1:], flush=True)
else:
    print("task on", env["CURRENT_HOST"], sys.argv[1:], flush=True)
"""


@pytest.fixture
def job(training):
    """Makes a job whose entry point is `entry`, in Python, with `files` beside it."""

    def make(count: int, entry: str, files: dict[str, str], **hyperparameters):
        given = {"sagemaker_program": json.dumps(ENTRY), "sagemaker_mpi_enabled": "false"}
        given.update((name, json.dumps(value)) for name, value in hyperparameters.items())
        env = {
            "PATH": f"{sm_on_path()}:{host_environment('')['PATH']}",
            "PYTHONPATH": f"{REPOSITORY / 'python/src'}:{STANDINS}",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return training(count, 1, "", given, env, files={ENTRY: entry, **files})

    return make


def said(job) -> str:
    return "".join(train.text for train in job.trains.values())


@pytest.mark.parametrize("count", [1, 2])
def test_the_proposals_two_lines_run_as_written(job, count):
    one = job(count, PROPOSAL, {"train.py": RANK}, lr=0.1).start().succeed()
    for rank in range(3 * count):
        assert f"rank {rank} of {3 * count} ['--learning_rate', '10']" in said(one), one.story()
    one.assert_quiet()


def test_without_a_train_py_one_line_says_so_and_no_rank_starts(job):
    two = job(2, PROPOSAL, {"other.py": RANK}).start()
    assert 0 not in two.wait().values(), two.story()
    line = (
        "no program passed, and no train.py found next to entrypoint.py in /opt/ml/code; pass the "
        'program to run, for example "my_script.py"'
    )
    assert "sagemaker_training.errors.ClientError: " + line in said(two).splitlines(), two.story()
    assert line in two.failure("algo-1"), two.failure("algo-1")
    assert "mpirun" not in said(two).replace("sm.mpirun(", "").replace("in mpirun", ""), two.story()
    two.assert_quiet()


@pytest.mark.parametrize(
    ("call", "want"),
    [
        ("sm.mpirun('other.py', ['a b'], 2, '-x V=1')", "['a b']"),
        ("sm.mpirun('other.py', ['a b'], process_per_hosts=2, lr=3)", "['a b', '--lr', '3']"),
        ("sm.mpirun('python', ['other.py', 7], 2, num_processes=2)", "['7']"),
        ("sm.mpirun(program='other.py', process_per_hosts=2)", "['--epochs', '8']"),
    ],
)
def test_a_named_program_gets_its_arguments_or_else_the_jobs(job, call, want):
    one = job(1, IMPORT + call, {"other.py": RANK, "train.py": ""}, epochs=8).start().succeed()
    for rank in range(2):
        assert f"rank {rank} of 2 {want}" in said(one), one.story()


def test_what_cannot_be_run_is_one_clear_line(job):
    one = job(1, IMPORT + "sm.mpirun('no.py')", {"train.py": "print('ran')"}).start()
    assert one.wait()["algo-1"] != 0
    wanted = "sagemaker_training.errors.ClientError: program 'no.py' not found: expected a file in"
    lines = {each for each in said(one).splitlines() if each.startswith(wanted)}
    assert len(lines) == 1 and "ran\n" not in said(one), one.story()


OPERATORS = {
    "torchrun": (
        'sm.torchrun(launcher="direct", nproc_per_node=2, learning_rate=10)',
        ["task 0 of 4", "task 1 of 4", "task 2 of 4", "task 3 of 4"],
    ),
    "deepspeed": (
        'sm.deepspeed(launcher="direct", num_gpus=2, no_local_rank=True, learning_rate=10)',
        ["task 0 of 4", "task 1 of 4", "task 2 of 4", "task 3 of 4"],
    ),
    "parameter servers": (
        "sm.tf.run_distributed_training(num_workers=2, num_parameter_servers=1, learning_rate=10)",
        ["task ps 0", "task worker 0", "task worker 1"],
    ),
    "multi-worker": (
        "sm.tf.multi_worker(learning_rate=10)",
        ["task worker 0", "task worker 1"],
    ),
    "mxnet": ("sm.mxnet.run(learning_rate=10)", ["task worker", "task worker"]),
    "mxnet, named": ("sm.mxnet.run('train.py', learning_rate=10)", ["task worker", "task worker"]),
    "run": ("sm.run(learning_rate=10)", ["task on algo-1", "task on algo-2"]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_each_operator_runs_the_train_py_beside_its_caller(job, name):
    call, wanted = OPERATORS[name]
    entry = f"{IMPORT}{call}\nprint('all tasks are done', flush=True)\n"
    two = job(2, entry, {"train.py": TASK}).start().succeed()
    heard = re.findall(r"task [^[\n]*(?= \['--learning_rate', '10'\])", said(two))
    if name == "parameter servers":  # The job does not wait for servers, so their line can be lost.
        heard = sorted({*heard, "task ps 0"})
    assert sorted(heard) == wanted, two.story()
    assert said(two).count("all tasks are done") == 2, two.story()
    two.assert_quiet()


def test_an_operator_raises_what_failed(job):
    entry = """
import sagemaker_containers.operators as sm
from sagemaker_training import errors
try:
    sm.torchrun(launcher="direct", nproc_per_node=1)
except errors.ExecuteUserScriptError as error:
    print("raised", error.return_code, flush=True)
"""
    rank = "import os, sys\nsys.exit(int(os.environ['RANK']) * 3)\n"
    two = job(2, entry, {"train.py": rank}).start().succeed()
    assert said(two).count("raised 3") == 2, two.story()


def test_a_caller_that_is_not_the_entry_point_runs_the_entry_point(job):
    """A framework's module calls; the user's script is what runs."""
    framework = IMPORT + "def main():\n    sm.mpirun(process_per_hosts=2)\n"
    one = job(1, RANK, {"own_framework.py": framework, "train.py": ""}, lr=1)
    one.env["SAGEMAKER_TRAINING_MODULE"] = "own_framework:main"
    one.env["PYTHONPATH"] += ":/opt/ml/code"
    one.start().succeed()
    for rank in range(2):
        assert f"rank {rank} of 2 ['--lr', '1']" in said(one), one.story()
