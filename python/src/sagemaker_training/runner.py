"""The runners of entry points, by name."""

import enum

from sagemaker_training import (
    environment,
    mpi,
    params,
    process,
    pytorch_xla,
    smdataparallel,
    torch_distributed,
)


class RunnerType(enum.Enum):
    """The kinds of runners."""

    MPI = "MPI"
    Process = "Process"
    SMDataParallel = "SMDataParallel"
    PyTorchXLA = "PyTorchXLA"
    TorchDistributed = "TorchDistributed"


ProcessRunnerType = RunnerType.Process
MPIRunnerType = RunnerType.MPI
SMDataParallelRunnerType = RunnerType.SMDataParallel
PyTorchXLARunnerType = RunnerType.PyTorchXLA
TorchDistributedRunnerType = RunnerType.TorchDistributed


def get(identifier, user_entry_point=None, args=None, env_vars=None, extra_opts=None):
    """Returns the runner of this type for this host. If `identifier` is a runner, returns it.

    Arguments that are missing or empty default to the job's. `extra_opts`: launcher hyperparameters
    that override the job's. Raises ValueError for an unknown identifier.
    """
    if isinstance(identifier, process.ProcessRunner):
        return identifier
    env = environment.Environment()
    if identifier not in _MAKERS:
        raise ValueError("Invalid identifier %s" % identifier)
    return _MAKERS[identifier](
        _Wish(
            env,
            user_entry_point or env.user_entry_point,
            args or env.to_cmd_args(),
            env_vars or env.to_env_vars(),
            extra_opts or {},
        )
    )


class _Wish(object):
    def __init__(self, env, user_entry_point, args, env_vars, options):
        self.env = env
        self._options = options
        per_host = self.option(
            params.MPI_PROCESSES_PER_HOST, int(env.num_gpus) or int(env.num_neurons) or 1
        )
        self.common = (user_entry_point, args, env_vars, per_host)

    def option(self, name, default=None):
        value = self._options.get(name)
        return value or self.env.additional_framework_parameters.get(name, default)


def _process(wish):
    return process.ProcessRunner(*wish.common)


def _worker(wish, leader):
    env = wish.env
    worker = mpi.WorkerRunner(*wish.common, env.master_hostname, env.current_host)
    return worker.join(leader._runner, leader._options())


def _mpi(wish):
    env = wish.env
    leader = mpi.MasterRunner(
        *wish.common,
        env.master_hostname,
        env.distribution_hosts,
        wish.option(params.MPI_CUSTOM_OPTIONS, ""),
        env.network_interface_name,
        num_processes=wish.option(params.MPI_NUM_PROCESSES),
        instance_type=env.current_instance_type,
    )
    return leader if env.is_master else _worker(wish, leader)


def _smdataparallel(wish):
    env = wish.env
    leader = smdataparallel.SMDataParallelRunner(
        *wish.common,
        env.master_hostname,
        env.distribution_hosts,
        wish.option(params.SMDATAPARALLEL_CUSTOM_MPI_OPTIONS, ""),
        env.network_interface_name,
    )
    return leader if env.is_master else _worker(wish, leader)


def _torch_distributed(wish):
    env = wish.env
    return torch_distributed.TorchDistributedRunner(
        *wish.common,
        env.master_hostname,
        env.distribution_hosts,
        env.current_host,
        env.network_interface_name,
        instance_type=env.current_instance_type,
    )


def _pytorch_xla(wish):
    env = wish.env
    return pytorch_xla.PyTorchXLARunner(
        *wish.common, env.master_hostname, env.current_host, env.distribution_hosts, env.num_gpus
    )


_MAKERS = {
    RunnerType.Process: _process,
    RunnerType.MPI: _mpi,
    RunnerType.SMDataParallel: _smdataparallel,
    RunnerType.TorchDistributed: _torch_distributed,
    RunnerType.PyTorchXLA: _pytorch_xla,
}
