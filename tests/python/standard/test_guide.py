"""The first examples of the toolkit's guide, and of its elder's, with their lines as printed.

Source: README of aws/sagemaker-training-toolkit, README.rst of aws/sagemaker-containers at 2.4.4.
"""

import json
import os
import subprocess
import sys
import unittest

from standard.job import BASE, Captured, JobTest  # Before the packages.

from sagemaker_training import environment, errors, files, params, trainer
import sagemaker_training._env
import sagemaker_training._params
import sagemaker_training._trainer

READ = """
import sagemaker_training

env = sagemaker_training.environment.Environment()

# get the path of the channel 'training' from the ``inputdataconfig.json`` file
training_dir = env.channel_input_dirs['training']

# get a the hyperparameter 'training_data_file' from ``hyperparameters.json`` file
file_name = env.hyperparameters['training_data_file']

# get the folder where the model should be saved
model_dir = env.model_dir
"""

# What follows the two lines in which the guides and their versions differ.
RUN = """
# {'channel-input-dirs': {'training': '/opt/ml/input/training'}, 'model_dir': '/opt/ml/model', ...}

# reading hyperparameters as a dictionary
hyperparameters = env.hyperparameters
# {'batch-size': 128, 'model_dir': '/opt/ml/model'}

# reading hyperparameters as script arguments
args = env.to_cmd_args(hyperparameters)
# ['--batch-size', '128', '--model_dir', '/opt/ml/model']

# reading the training environment as env vars
env_vars = env.to_env_vars()
# {'SAGEMAKER_CHANNELS':'training', \n#  'SAGEMAKER_CHANNEL_TRAINING':'/opt/ml/input/training',
#  'MODEL_DIR':'/opt/ml/model', ...}

# executes user entry point named user_script.py as follow:
#
# SAGEMAKER_CHANNELS=training SAGEMAKER_CHANNEL_TRAINING=/opt/ml/input/training \\
# SAGEMAKER_MODEL_DIR=/opt/ml/model python user_script.py --batch-size 128 --model_dir /opt/ml/model
entry_point.run('user_script.py', args, env_vars)
"""
RUNS = {
    "today's": """
import sagemaker_training
from sagemaker_training.beta.framework import entry_point

env = sagemaker_training.environment.Environment()
""",
    "one before": """
import sagemaker_training
from sagemaker_training import entry_point

env = sagemaker_training.training_env()
""",
    "the elder's": """
import sagemaker_containers
from sagemaker_containers.beta.framework import entry_point

env = sagemaker_containers.training_env()
""",
}

# The guide has "framework.entry point" and no line that makes the first `env`.
TRAINING_PACKAGE = """
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

USER_SCRIPT = """
import json, os, sys
names = ("SAGEMAKER_CHANNELS", "SAGEMAKER_CHANNEL_TRAINING", "SAGEMAKER_MODEL_DIR", "MODEL_DIR")
print(json.dumps([sys.argv[1:], [os.environ[name] for name in names]]))
"""


class GuideTest(JobTest):
    def setUp(self):
        super(GuideTest, self).setUp()
        self.give("inputdataconfig.json", {"training": {}})
        self.model = os.path.join(BASE, "model")
        self.data = os.path.join(BASE, "input/data/training")
        given = {"training_data_file": '"data.npz"', "batch-size": "128", "model_dir": self.model}
        self.give("hyperparameters.json", given)
        self.script("user_script.py", USER_SCRIPT)

    def python(self, *words, **variables):
        """Runs this Python where the packages are; what it printed."""
        env = dict(os.environ, PYTHONPATH=":".join(sys.path), **variables)
        done = subprocess.run(
            (sys.executable,) + words,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=BASE,
        )
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode()

    def heard(self, text):
        arguments, variables = json.loads(text.splitlines()[-1])
        wanted = ["--batch-size", "128", "--model_dir", self.model]
        self.assertEqual(arguments, wanted + ["--training_data_file", "data.npz"])
        self.assertEqual(variables, ["training", self.data, self.model, self.model])

    def test_a_script_reads_its_environment(self):
        said = self.python("-c", READ + "print(training_dir, file_name, model_dir)")
        self.assertEqual(said, "%s data.npz %s\n" % (self.data, self.model))

    def test_an_entry_point_is_run_where_the_code_is_in_place(self):
        for name in sorted(RUNS):
            self.heard(self.python("-c", RUNS[name] + RUN))

    def test_a_training_package_s_train_gets_the_environment(self):
        self.script("a_package.py", TRAINING_PACKAGE)
        variables = {
            "SAGEMAKER_TRAINING_MODULE": "a_package:train",
            "SAGEMAKER_PROGRAM": "user_script.py",
        }
        sys.path.insert(0, environment.code_dir)
        for words in (
            ("-m", "muster.framework", "a_package:train"),
            ("-m", "sagemaker_training.cli.train"),
        ):
            self.heard(self.python(*words, **variables))

    def test_train_leaves_success_where_the_guide_says_and_where_the_reference_does(self):
        self.give("hyperparameters.json", {"sagemaker_program": '"user_script.py"'})
        with Captured():
            with self.assertRaises(SystemExit) as caught:
                trainer.train()
        self.assertEqual(caught.exception.code, 0)
        for path in ("success", "output/success"):
            self.assertEqual(files.read_file(os.path.join(BASE, path)), "")


class ElderNamesTest(JobTest):
    def test_modules_have_their_elder_names(self):
        elder = sagemaker_training
        self.assertIs(elder._env.TrainingEnv, environment.TrainingEnv)
        self.assertIsInstance(environment.TrainingEnv(), environment.Environment)
        self.assertIs(elder._trainer.train, trainer.train)
        self.assertEqual(elder._params.USER_PROGRAM_PARAM, params.USER_PROGRAM_PARAM)
        with self.assertRaises(AttributeError):
            elder.no_such_name

    def test_several_channels_and_a_variable_of_the_image_s_own(self):
        self.give("inputdataconfig.json", {"train": {}, "eval-1": {}})
        os.environ["MODEL_DIR"] = "/mine"
        variables = environment.Environment().to_env_vars()
        self.assertEqual(variables["SAGEMAKER_CHANNELS"], "eval-1,train")
        self.assertEqual(variables["SAGEMAKER_CHANNEL_EVAL-1"], environment.channel_path("eval-1"))
        self.assertEqual(variables["SAGEMAKER_MODEL_DIR"], environment.model_dir)
        self.assertEqual(variables["MODEL_DIR"], "/mine")

    def test_arguments_are_made_of_any_mapping(self):
        env = environment.Environment()
        self.assertEqual(env.to_cmd_args({"a": 1}), ["-a", "1"])
        self.assertEqual(env.to_cmd_args({}), [])

    def test_a_script_that_is_not_in_place_is_one_clear_line(self):
        from sagemaker_training import entry_point

        with self.assertRaises(errors.ClientError) as caught:
            entry_point.run("no_script.py", [], {})
        wanted = "entry point 'no_script.py' not found in " + environment.code_dir
        self.assertEqual(str(caught.exception), wanted)

    def test_only_a_function_that_needs_one_argument_gets_the_environment(self):
        def nothing():
            return ()

        def one(env):
            return (env,)

        def optional(env=None):
            return (env,)

        def anything(*args, **keywords):
            return args

        for function, wanted in ((nothing, False), (one, True), (optional, False)):
            self.assertEqual(trainer._takes_one(function), wanted)
        self.assertFalse(trainer._takes_one(anything))
        self.assertFalse(trainer._takes_one(dict))


if __name__ == "__main__":
    unittest.main()
