"""The runner of PyTorch/XLA on GPUs (SageMaker Training Compiler)."""

import importlib.util

from sagemaker_training import _entry_point_type, environment, errors, logging_config, process

logger = logging_config.get_logger()

_IMAGES = "https://github.com/aws/deep-learning-containers/blob/master/available_images.md"


class PyTorchXLARunner(process.LaunchedRunner):
    """Runs the entry point, a Python script, with torch_xla's xla_spawn."""

    _runner = "pytorch_xla"

    MESH_SERVICE_PORT = 53957
    WORKER_PORT = 43857

    def __init__(
        self,
        user_entry_point,
        args,
        env_vars,
        processes_per_host,
        master_hostname,
        current_host,
        hosts,
        num_gpus,
    ):
        super(PyTorchXLARunner, self).__init__(user_entry_point, args, env_vars, processes_per_host)
        self._master_hostname = master_hostname
        self._current_host = current_host
        self._hosts = hosts
        self._num_gpus = num_gpus
        self._num_hosts = len(self._hosts)
        self._rank = self._hosts.index(self._current_host)

    def _setup(self):
        if not self._num_gpus > 0:
            self._refuse("no GPU found on %s" % self._current_host)
        if not _installed("torch_xla"):
            self._refuse("torch_xla is not installed; images that contain it: %s" % _IMAGES)
        if not _installed("torch_xla.distributed.xla_spawn"):
            self._refuse("torch_xla is not SageMaker's; images that contain it: %s" % _IMAGES)

    @staticmethod
    def _refuse(why):
        raise errors.SMTrainingCompilerConfigurationError("Distributed training on PT-XLA: " + why)

    def _create_command(self):
        kind = _entry_point_type.get(environment.code_dir, self._user_entry_point)
        if kind is not _entry_point_type.PYTHON_PROGRAM:
            self._refuse(
                "sagemaker_program is %r; expected a Python script without a setup.py next to it"
                % self._user_entry_point
            )
        command = self._python_command() + ["-m", "torch_xla.distributed.xla_spawn"]
        command += ["--num_gpus", str(self._num_gpus)]
        return command + [process.validate_entry_point(self._user_entry_point)] + self._args


def _installed(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
