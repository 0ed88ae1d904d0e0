"""The MPI runners. Each host runs one; `sm` gathers the hosts and the leader starts mpirun.

There is no sshd, no status file and no polling for orted: all hosts exit when the program exits.
"""

from inspect import isclass

from sagemaker_training import errors, logging_config, params, process
from sagemaker_training.smdataparallel import get_dataparallel_exception_classes

logger = logging_config.get_logger()

MPI_FINISHED_STATUS_FILE = "/tmp/done"  # Only sagemaker-training writes it.
DEFAULT_ERROR_CLASS = errors.ExecuteUserScriptError


def get_modelparallel_exception_classes():
    """Returns the exception names of SageMaker's model-parallel library, if it is installed."""
    found = []
    try:
        from smdistributed.modelparallel.backend import exceptions

        found += [name for name in dir(exceptions) if isclass(getattr(exceptions, name))]
    except ImportError:
        pass
    try:
        from smdistributed.modelparallel.torch import exceptions as torch_exceptions

        found += [
            name for name in dir(torch_exceptions) if isclass(getattr(torch_exceptions, name))
        ]
    except ImportError:
        pass
    return found or [DEFAULT_ERROR_CLASS]


class _MpiRunner(process.CollectiveRunner):
    _runner = "mpi"

    def _error_classes(self):
        found = super(_MpiRunner, self)._error_classes() + get_dataparallel_exception_classes()
        if process.environment.Environment().is_modelparallel_enabled:
            found += get_modelparallel_exception_classes()
        return found


class WorkerRunner(_MpiRunner):
    """The runner of a host other than the leader."""

    def __init__(
        self, user_entry_point, args, env_vars, processes_per_host, master_hostname, current_host
    ):
        super(WorkerRunner, self).__init__(user_entry_point, args, env_vars, processes_per_host)
        self._master_hostname = str(master_hostname)
        self._current_host = str(current_host)
        self._launcher_options = {}

    def _options(self):
        return dict(self._launcher_options, **super(WorkerRunner, self)._options())

    def join(self, runner, options):
        """Makes this host take part in a launch, with the leader's options."""
        self._runner = runner
        self._launcher_options = options
        return self


class MasterRunner(_MpiRunner):
    """The runner of the leader."""

    def __init__(
        self,
        user_entry_point,
        args,
        env_vars,
        processes_per_host,
        master_hostname,
        hosts,
        custom_mpi_options,
        network_interface_name,
        interval=1,
        timeout_in_seconds=60 * 60,
        num_processes=None,
        instance_type="ml.p3.16xlarge",
    ):
        super(MasterRunner, self).__init__(user_entry_point, args, env_vars, processes_per_host)
        self._master_hostname = master_hostname
        self._hosts = hosts
        self._num_processes = num_processes
        self._custom_mpi_options = custom_mpi_options
        self._network_interface_name = network_interface_name
        self._interval = interval
        self._instance_type = instance_type
        self.timeout_in_seconds = timeout_in_seconds

    def _options(self):
        options = super(MasterRunner, self)._options()
        options[params.MPI_NUM_PROCESSES] = self._num_processes
        options[params.MPI_CUSTOM_OPTIONS] = self._custom_mpi_options or None
        return options
