"""Script mode: hyperparameters that ask for parameter servers or mirrored workers start them."""

import pytest

from frameworks import HUSH, SECONDS, example_job, interpreter, trained
from test_operators import sm_on_path
from training import host_environment

SERVERS = {"sagemaker_parameter_server_enabled": "true"}
MIRRORED = {"sagemaker_multi_worker_mirrored_strategy_enabled": "true"}

# Chief and worker add to a variable that lies on a parameter server, and see the other's part.
COUNT = """
import json, os
import tensorflow as tf
v1 = tf.compat.v1
v1.disable_eager_execution()
config = json.loads(os.environ["TF_CONFIG"])
task = config["task"]
spec = tf.train.ClusterSpec(config["cluster"])
server = tf.distribute.Server(spec, job_name=task["type"], task_index=task["index"])
with v1.device(v1.train.replica_device_setter(cluster=spec)):
    count = v1.get_variable("count", [], initializer=v1.zeros_initializer())
add = v1.assign_add(count, 1.0)
with v1.train.MonitoredTrainingSession(server.target, is_chief=task["type"] == "chief") as session:
    session.run(add)
    while session.run(count) < 2:
        pass
    print(task["type"], task["index"], "counts", int(session.run(count)), "on", count.device,
          flush=True)
"""


@pytest.mark.framework
def test_tensorflows_parameter_servers(training):
    path = f"{interpreter('tf').parent}:{sm_on_path()}:{host_environment('')['PATH']}"
    hyperparameters = {"sagemaker_mpi_enabled": "false", **SERVERS}
    job = training(2, 1, COUNT, hyperparameters, {"PATH": path, **HUSH}).start().succeed(SECONDS)
    for task in ("chief 0", "worker 0"):
        assert f"{task} counts 2 on /job:ps" in job.story()
    job.assert_quiet()


@pytest.mark.framework
def test_tensorflows_mirrored_workers(training):
    job = example_job(training, "tf", "digits/tf_multi_worker.py", **MIRRORED)
    trained(job, 2, "model.h5")


@pytest.mark.framework
def test_mxnets_parameter_servers(training):
    trained(example_job(training, "mxnet", "digits/mxnet_dist.py", **SERVERS), 2, "model.params")


@pytest.mark.parametrize("asked", [SERVERS, MIRRORED])
def test_without_a_framework_the_script_runs_once_on_every_host(training, asked):
    script = "import os\nprint('alone', 'TF_CONFIG' in os.environ, flush=True)\n"
    job = training(2, 1, script, {"sagemaker_mpi_enabled": "false", **asked}).start().succeed()
    assert job.story().count("alone False") == 2, job.story()
    assert "no framework for them can be imported" in job.leader.text, job.story()
    job.assert_quiet()
