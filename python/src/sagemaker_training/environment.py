"""A job's folders, configuration files and training environment.

SAGEMAKER_BASE_DIR determines the folders at import time. If neither this variable nor /opt/ml
exists, an empty job is created in ~/sagemaker_local, so that users can run a script by hand.
"""

import configparser
import json
import multiprocessing
import os
import shutil
import socket
import sys
import time

from muster import binary
from sagemaker_training import logging_config, mapping, params

logger = logging_config.get_logger()

SAGEMAKER_BASE_PATH = os.path.join("/opt", "ml")
BASE_PATH_ENV = "SAGEMAKER_BASE_DIR"

HYPERPARAMETERS_FILE = "hyperparameters.json"
RESOURCE_CONFIG_FILE = "resourceconfig.json"
INPUT_DATA_CONFIG_FILE = "inputdataconfig.json"

_is_path_configured = os.path.exists(SAGEMAKER_BASE_PATH) or BASE_PATH_ENV in os.environ
if not _is_path_configured:
    os.environ[BASE_PATH_ENV] = os.path.join(
        os.path.expanduser("~"), "sagemaker_local", "jobs", str(time.time()), "opt", "ml"
    )

base_dir = os.environ.get(BASE_PATH_ENV, SAGEMAKER_BASE_PATH)
code_dir = os.path.join(base_dir, "code")
model_dir = os.path.join(base_dir, "model")
input_dir = os.path.join(base_dir, "input")
input_config_dir = os.path.join(input_dir, "config")
_input_data_dir = os.path.join(input_dir, "data")
output_dir = os.path.join(base_dir, "output")
output_data_dir = os.path.join(output_dir, "data")
output_intermediate_dir = os.path.join(output_dir, "intermediate")
hyperparameters_file_dir = os.path.join(input_config_dir, HYPERPARAMETERS_FILE)
input_data_config_file_dir = os.path.join(input_config_dir, INPUT_DATA_CONFIG_FILE)
resource_config_file_dir = os.path.join(input_config_dir, RESOURCE_CONFIG_FILE)


def _write_json(obj, path):
    with open(path, "w") as file:
        json.dump(obj, file)


def _create_training_directories():
    """Creates an empty job with one host, if no job exists."""
    logger.info("%s not found; creating an empty job in %s", SAGEMAKER_BASE_PATH, base_dir)
    for folder in (model_dir, input_config_dir, output_data_dir):
        os.makedirs(folder)
    _write_json({}, hyperparameters_file_dir)
    _write_json({}, input_data_config_file_dir)
    host = socket.gethostname()
    group = {
        "instance_group_name": "homogeneousCluster",
        "instance_type": "local",
        "hosts": [host],
    }
    _write_json(
        {
            "current_host": host,
            "hosts": [host],
            "current_instance_group": "homogeneousCluster",
            "instance_groups": [group],
        },
        resource_config_file_dir,
    )


if not _is_path_configured:
    _create_training_directories()
os.makedirs(code_dir, exist_ok=True)


def _read_json(path):
    with open(path, "r") as file:
        return json.load(file)


def read_hyperparameters():
    """Reads hyperparameters.json and decodes each value that is JSON."""
    decoded = {}
    for name, value in _read_json(hyperparameters_file_dir).items():
        try:
            value = json.loads(value)
        except (ValueError, TypeError):
            logger.info("Hyperparameter %s is not JSON; using it as a string", name)
        decoded[name] = value
    return decoded


def read_resource_config():
    """Reads resourceconfig.json."""
    return _read_json(resource_config_file_dir)


def read_input_data_config():
    """Reads inputdataconfig.json."""
    return _read_json(input_data_config_file_dir)


def channel_path(channel):
    """Returns the folder with the data of a channel."""
    return os.path.join(_input_data_dir, channel)


def _machine(instance_type="local"):
    """Returns the properties of a job with one host and no input, which describe the machine."""
    resources = {
        "current_host": "localhost",
        "hosts": ["localhost"],
        "current_instance_type": instance_type,
    }
    anything = {"-": None}  # Empty configurations would be read from files, which may not exist.
    return binary.environment("--properties", resources, anything, anything)


def num_neurons(instance_type):
    """Returns the number of Neuron cores of this machine."""
    return _machine(instance_type)["num_neurons"]


def num_gpus():
    """Returns the number of NVIDIA GPUs of this machine."""
    return _machine()["num_gpus"]


def num_cpus():
    """Returns the number of CPUs of this machine."""
    return multiprocessing.cpu_count()


def validate_smddprun():
    """Whether smddprun is on PATH."""
    return shutil.which("smddprun") is not None


def validate_smddpmprun():
    """Whether smddpmprun is on PATH."""
    return shutil.which("smddpmprun") is not None


def _configured_region():
    """Returns the region that AWS tools would use on this machine, or None."""
    named = os.environ.get("AWS_DEFAULT_REGION")
    if named:
        return named
    profile = os.environ.get("AWS_PROFILE") or os.environ.get("AWS_DEFAULT_PROFILE") or "default"
    files = configparser.ConfigParser(interpolation=None)
    try:
        files.read(os.path.expanduser(os.environ.get("AWS_CONFIG_FILE", "~/.aws/config")))
    except (configparser.Error, UnicodeDecodeError):
        return None
    section = profile if profile == "default" else "profile " + profile
    return files.get(section, "region", fallback=None)


def _value(name, doc):
    """A property that `sm` computed."""
    return property(lambda self: self._values[name], doc=doc)


class Environment(mapping.MappingMixin):
    """The training environment of this host, also as a mapping of its properties.

    It is a snapshot: the files are not read again. Callers can change its dictionaries and lists;
    `to_cmd_args` and `to_env_vars` then use the changed values.
    """

    additional_framework_parameters = _value(
        "additional_framework_parameters",
        "Hyperparameters whose names start with sagemaker_ and that the toolkit does not use.",
    )
    channel_input_dirs = _value("channel_input_dirs", "The folder of each channel, by name.")
    current_host = _value("current_host", "This host's name, e.g. algo-1.")
    current_instance_group = _value("current_instance_group", "Name of this host's instance group.")
    current_instance_group_hosts = _value(
        "current_instance_group_hosts", "Hosts in this host's instance group."
    )
    current_instance_type = _value("current_instance_type", "Instance type of this host.")
    distribution_hosts = _value("distribution_hosts", "Hosts that take part in the distribution.")
    distribution_instance_groups = _value(
        "distribution_instance_groups", "Instance groups that take part in the distribution."
    )
    framework_module = _value(
        "framework_module", "Value of SAGEMAKER_TRAINING_MODULE, module:function."
    )
    hosts = _value("hosts", "Names of all hosts, sorted.")
    hyperparameters = _value("hyperparameters", "The script's hyperparameters, decoded.")
    input_config_dir = _value("input_config_dir", "Folder with the configuration files.")
    input_data_config = _value("input_data_config", "Contents of inputdataconfig.json.")
    input_dir = _value("input_dir", "Parent folder of the configuration and the channels.")
    instance_groups = _value("instance_groups", "Names of all instance groups.")
    instance_groups_dict = _value("instance_groups_dict", "All instance groups, by name.")
    is_hetero = _value("is_hetero", "Whether there is more than one instance group.")
    is_master = _value("is_master", "Whether this host is the leader.")
    is_modelparallel_enabled = _value("is_modelparallel_enabled", "Whether the job requests SMP.")
    is_smddpmprun_installed = _value("is_smddpmprun_installed", "Whether smddpmprun is on PATH.")
    is_smddprun_installed = _value("is_smddprun_installed", "Whether smddprun is on PATH.")
    job_name = _value("job_name", "Value of TRAINING_JOB_NAME.")
    log_level = _value("log_level", "Log level of the toolkit, as a number.")
    master_hostname = _value("master_hostname", "Name of the leader.")
    model_dir = _value("model_dir", "Folder for the model.")
    module_dir = _value("module_dir", "Source of the user's code, a folder or URI.")
    module_name = _value("module_name", "The entry point without .py.")
    network_interface_name = _value(
        "network_interface_name", "Network interface for traffic between hosts."
    )
    num_cpus = _value("num_cpus", "Number of CPUs of this host.")
    num_gpus = _value("num_gpus", "Number of NVIDIA GPUs of this host.")
    num_neurons = _value("num_neurons", "Number of Neuron cores of this host.")
    output_data_dir = _value("output_data_dir", "Folder for other output files.")
    output_dir = _value("output_dir", "Folder with `success`, `failure` and output_data_dir.")
    output_intermediate_dir = _value(
        "output_intermediate_dir", "Files in this folder are uploaded to S3 while the job runs."
    )
    resource_config = _value("resource_config", "Contents of resourceconfig.json.")
    topology = _value("topology", "Hosts and capacity units of an UltraServer, or empty.")
    user_entry_point = _value("user_entry_point", "The user's program, in the code folder.")

    def __init__(self, resource_config=None, input_data_config=None, hyperparameters=None):
        """Arguments that are missing or empty are read from the job's files.

        Like sagemaker-training, this sets SAGEMAKER_JOB_NAME, CURRENT_HOST and SAGEMAKER_REGION.
        """
        resource_config = resource_config or read_resource_config()
        input_data_config = input_data_config or read_input_data_config()
        hyperparameters = hyperparameters or read_hyperparameters()
        for needed in ("hosts", "current_host"):
            resource_config[needed]  # KeyError if missing, as in sagemaker-training.

        self._values = binary.environment(
            "--properties", resource_config, input_data_config, hyperparameters
        )
        split = mapping.split_by_criteria(
            hyperparameters, params.SAGEMAKER_HYPERPARAMETERS, params.SAGEMAKER_PREFIX
        )
        # The caller's own objects, which JSON may not be able to represent.
        self._values["resource_config"] = resource_config
        self._values["input_data_config"] = input_data_config
        self._values["hyperparameters"] = split.excluded
        self._values["additional_framework_parameters"] = {
            name: value
            for name, value in split.included.items()
            if name not in params.SAGEMAKER_HYPERPARAMETERS
        }
        self._sagemaker_s3_output = split.included.get(params.S3_OUTPUT_LOCATION_PARAM)

        region = split.included.get(params.REGION_NAME_PARAM, _configured_region())
        os.environ[params.JOB_NAME_ENV] = split.included.get(params.JOB_NAME_PARAM, "")
        os.environ[params.CURRENT_HOST_ENV] = self.current_host
        os.environ[params.REGION_NAME_ENV] = region or ""

    def sagemaker_s3_output(self):
        """Returns the URL of the job's output in S3, or None."""
        return self._sagemaker_s3_output

    def to_cmd_args(self, hyperparameters=None):
        """Returns the hyperparameters, the job's by default, as command-line arguments."""
        return mapping.to_cmd_args(
            self.hyperparameters if hyperparameters is None else hyperparameters
        )

    def to_env_vars(self):
        """Returns a new dictionary with the variables SM_* and older names of some of them."""
        values = {name: self[name] for name in _VARIABLES}
        values.update(_renamed(self))
        if self.topology:
            values["topology"] = self.topology
        for name, path in self.channel_input_dirs.items():
            values["channel_%s" % name] = path
        for name, value in self.hyperparameters.items():
            values["hp_%s" % name] = value
        variables = mapping.to_env_vars(values)
        variables.update(_elder_variables(self))
        return variables

    # Methods that duplicate properties, as in sagemaker-training.

    def get_current_instance_group(self):
        """Returns `current_instance_group` of resourceconfig.json."""
        return self.resource_config["current_instance_group"]

    def get_current_instance_group_hosts(self):
        """Returns the hosts of this host's group."""
        return self.current_instance_group_hosts

    def get_distribution_hosts(self):
        """Returns the hosts that take part in the distribution."""
        return self.distribution_hosts

    def get_distribution_instance_groups_from_resource_config(self):
        """Returns this host's group if the job is distributed, else an empty list."""
        asked = any(self.additional_framework_parameters.get(name) for name in _DISTRIBUTIONS)
        return [self.current_instance_group] if asked else []

    def get_instance_groups(self):
        """Returns the names of all instance groups."""
        return self.instance_groups

    def get_instance_groups_dict(self):
        """Returns all instance groups, by name."""
        return self.instance_groups_dict

    def get_master_hostname(self):
        """Returns the name of the leader, the first host."""
        return self.master_hostname


# Properties whose variable has the same name in upper case.
_VARIABLES = (
    "current_host current_instance_group current_instance_group_hosts current_instance_type "
    "distribution_instance_groups framework_module hosts input_config_dir input_data_config "
    "input_dir instance_groups instance_groups_dict is_hetero log_level model_dir module_dir "
    "module_name network_interface_name num_cpus num_gpus num_neurons output_data_dir output_dir "
    "output_intermediate_dir resource_config user_entry_point"
).split()

_DISTRIBUTIONS = (
    params.MPI_ENABLED,
    params.PARAMETER_SERVER_ENABLED,
    "sagemaker_distributed_dataparallel_enabled",
    "sagemaker_pytorch_ddp_enabled",
    params.PYTORCH_XLA_MULTI_WORKER_ENABLED,
    params.MULTI_WORKER_MIRRORED_STRATEGY_ENABLED,
    "sagemaker_torch_distributed_enabled",
    "sagemaker_deepspeed_enabled",  # Specific to muster.
    "sagemaker_use_mpi",  # Set by the Chainer estimator.
)


def _renamed(env):
    return {
        "hps": env.hyperparameters,
        "framework_params": env.additional_framework_parameters,
        "channels": sorted(env.channel_input_dirs),
        "training_env": dict(env),
        "user_args": env.to_cmd_args(),
    }


def _elder_variables(env):
    """Returns variables with the names from before SM_*, as in the toolkit's guide."""
    variables = {
        "SAGEMAKER_CHANNELS": ",".join(sorted(env.channel_input_dirs)),
        "SAGEMAKER_MODEL_DIR": env.model_dir,
        "MODEL_DIR": os.environ.get("MODEL_DIR", env.model_dir),  # An image may have its own.
    }
    for name, path in env.channel_input_dirs.items():
        variables["SAGEMAKER_CHANNEL_%s" % name.upper()] = path
    return variables


# Names of sagemaker_containers.
TrainingEnv = Environment


def training_env(resource_config=None, input_data_config=None, hyperparameters=None):
    """Returns an Environment."""
    return Environment(resource_config, input_data_config, hyperparameters)


def write_env_vars(env_vars=None):
    """Sets environment variables for programs started later, and PYTHONPATH to sys.path."""
    env_vars = env_vars or {}
    env_vars["PYTHONPATH"] = ":".join(sys.path)
    os.environ.update(env_vars)
