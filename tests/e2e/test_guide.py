"""The toolkit guide's framework module and variables, under `train`.

The guide's examples in Python itself: tests/python/standard/test_guide.py.
"""

import json

import pytest

from lab import REPOSITORY
from test_operators import sm_on_path
from training import host_environment

NAMES = (
    "SAGEMAKER_CHANNELS SAGEMAKER_CHANNEL_TRAINING SAGEMAKER_MODEL_DIR MODEL_DIR "
    "SM_CHANNEL_TRAINING"
).split()
DATA = "/opt/ml/input/data/training"
WANTED = ["training", DATA, "/opt/ml/model", "/opt/ml/model", DATA]
SAYS = f"""
import json, os, sys
sys.stdout.write("has " + json.dumps([os.environ.get(name) for name in {NAMES}]) + "\\n")
"""

# As printed, but for "entry_point" without its "_" there, and a first `env`, which nothing makes.
FRAMEWORK = """
from sagemaker_training.beta import framework

env = framework.training_env()

# name of the user entry point from sagemaker hyperparameter
user_entry_point = env.module_name

# local or S3 URI location of the source.tar.gz file
module_dir = env.module_dir


def train(env):
  env = framework.environment.Environment()
  framework.entry_point.run(module_dir,
                           user_entry_point,
                           env.to_cmd_args(),
                           env.to_env_vars())
"""


def said(job) -> list:
    lines = [line.partition("has ")[2] for line in job.leader.text.splitlines() if "has [" in line]
    return [json.loads(line) for line in lines]


@pytest.fixture
def job(training):
    """A job of one host with a channel `training`."""

    def make(script: str, env=None, **hyperparameters):
        made = training(1, 2, script, hyperparameters, env, files={"module.py": FRAMEWORK})
        config = made.hosts[0].base / "input/config/inputdataconfig.json"
        config.write_text('{"training": {}}')
        return made

    return make


def test_a_script_has_the_elder_names_of_variables(job):
    one = job(SAYS, sagemaker_mpi_enabled="false").start().succeed()
    assert said(one) == [WANTED], one.story()


def test_ranks_have_them_and_an_image_keeps_its_model_dir(job):
    one = job(SAYS, {"MODEL_DIR": "/mine"}).start().succeed()
    assert said(one) == [[*WANTED[:3], "/mine", DATA]] * 2, one.story()


def test_a_frameworks_train_gets_the_environment_and_its_script_the_variables(job):
    env = {
        "SAGEMAKER_TRAINING_MODULE": "module:train",
        "PATH": f"{sm_on_path()}:{host_environment('')['PATH']}",
        "PYTHONPATH": f"{REPOSITORY / 'python/src'}:/opt/ml/code",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    one = job(SAYS, env, sagemaker_mpi_enabled="false")
    (one.hosts[0].base / "code/module.py").write_text(FRAMEWORK + SAYS)
    one.start().succeed()
    nothing = [None] * len(NAMES)
    assert said(one) == [nothing, WANTED], one.story()
    for path in ("success", "output/success"):
        assert (one.hosts[0].base / path).read_text() == ""
