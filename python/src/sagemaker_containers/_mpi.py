"""The MPI runners, with the arguments of sagemaker_containers."""

from sagemaker_training import mpi


class WorkerRunner(mpi.WorkerRunner):
    """The runner of a host other than the leader."""

    def __init__(self, user_entry_point, args, env_vars, master_hostname):
        super(WorkerRunner, self).__init__(
            user_entry_point, args, env_vars, None, master_hostname, None
        )


class MasterRunner(mpi.MasterRunner):
    """The runner of the leader."""

    def __init__(
        self,
        user_entry_point,
        args,
        env_vars,
        master_hostname,
        hosts,
        process_per_host,
        custom_mpi_options,
        network_interface_name,
        interval=1,
        timeout_in_seconds=60 * 60,
        num_processes=None,
    ):
        super(MasterRunner, self).__init__(
            user_entry_point,
            args,
            env_vars,
            process_per_host,
            master_hostname,
            hosts,
            custom_mpi_options,
            network_interface_name,
            interval,
            timeout_in_seconds,
            num_processes,
        )
