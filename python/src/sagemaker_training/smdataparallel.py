"""The runner of SageMaker's data-parallel library: mpirun with the options for smddprun."""

from inspect import isclass

from sagemaker_training import errors, logging_config, params, process

logger = logging_config.get_logger()

MPI_FINISHED_STATUS_FILE = "/tmp/done"  # Only sagemaker-training writes it.
DEFAULT_ERROR_CLASS = errors.ExecuteUserScriptError


def get_dataparallel_exception_classes():
    """Returns the exception names of SageMaker's data-parallel library, if it is installed."""
    found = []
    try:
        from smdistributed.dataparallel import exceptions

        found = [name for name in dir(exceptions) if isclass(getattr(exceptions, name))]
    except Exception:  # The import can raise any exception where the library cannot run.
        pass
    return found or [DEFAULT_ERROR_CLASS]


class SMDataParallelRunner(process.CollectiveRunner):
    """Each host has one runner. Only the leader's runner has the options."""

    _runner = "smdataparallel"

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
    ):
        super(SMDataParallelRunner, self).__init__(
            user_entry_point, args, env_vars, processes_per_host
        )
        self._master_hostname = master_hostname
        self._hosts = hosts
        self._custom_mpi_options = custom_mpi_options
        self._network_interface_name = network_interface_name
        self._interval = interval
        self.timeout_in_seconds = timeout_in_seconds

    def _options(self):
        options = super(SMDataParallelRunner, self)._options()
        options[params.SMDATAPARALLEL_CUSTOM_MPI_OPTIONS] = self._custom_mpi_options or None
        return options

    def _error_classes(self):
        return process.get_debugger_exception_classes() + get_dataparallel_exception_classes()
