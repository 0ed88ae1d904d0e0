"""The runner of torchrun: one agent per host. The host knows the agent's ranks."""

import os

from sagemaker_training import _entry_point_type, environment, errors, logging_config, process

TORCH_DISTRIBUTED_MODULE = "torchrun"
MASTER_PORT = "7777"

logger = logging_config.get_logger()


class TorchDistributedRunner(process.CollectiveRunner):
    """Runs the entry point, a Python script, with torchrun."""

    _runner = "torch_distributed"

    def __init__(
        self,
        user_entry_point,
        args,
        env_vars,
        processes_per_host,
        master_hostname,
        hosts,
        current_host,
        network_interface_name,
        instance_type="ml.trn1.2xlarge",
    ):
        super(TorchDistributedRunner, self).__init__(
            user_entry_point, args, env_vars, processes_per_host
        )
        self._master_hostname = master_hostname
        self._hosts = hosts
        self._current_host = current_host
        self._network_interface_name = network_interface_name
        self._instance_type = instance_type

    def _create_command(self):
        kind = _entry_point_type.get(environment.code_dir, self._user_entry_point)
        if kind is not _entry_point_type.PYTHON_PROGRAM:
            raise errors.ClientError(
                "sagemaker_program is %r; torchrun requires a Python script without a setup.py"
                % self._user_entry_point
            )
        command = [TORCH_DISTRIBUTED_MODULE, "--nnodes", str(len(self._hosts))]
        command += ["--nproc_per_node", str(self._processes_per_host)]
        if len(self._hosts) > 1:
            command += ["--master_addr", str(self._master_hostname)]
            command += ["--master_port", MASTER_PORT]
            command += ["--node_rank", str(self._hosts.index(self._current_host))]
        if os.environ.get("RUN_NEURON_PARALLEL_COMPILE") == "1":
            command.insert(0, "neuron_parallel_compile")
        return command + [process.validate_entry_point(str(self._user_entry_point))] + self._args

    def _error_classes(self):
        return errors.ExecuteUserScriptError

    def run(self, capture_error=True, wait=True):
        """See ProcessRunner.run. Note that the order of the arguments differs."""
        return super(TorchDistributedRunner, self).run(wait=wait, capture_error=capture_error)
