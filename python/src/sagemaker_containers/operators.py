"""Launchers to call from a job's script: `import sagemaker_containers.operators as sm`."""

from sagemaker_training import environment, mapping, params, runner


def mpirun(process_per_hosts=None, num_processes=None, custom_mpi_options=None, **hyperparameters):
    """Runs the job's entry point under MPI on all hosts, with these hyperparameters alone.

    Every host calls it alike. Raises ExecuteUserScriptError if it fails.
    """
    env = environment.Environment()
    options = {
        params.MPI_PROCESSES_PER_HOST: process_per_hosts,
        params.MPI_NUM_PROCESSES: num_processes,
        params.MPI_CUSTOM_OPTIONS: custom_mpi_options,
    }
    chosen = runner.get(
        runner.RunnerType.MPI,
        env.user_entry_point,
        mapping.to_cmd_args(hyperparameters),
        env.to_env_vars(),
        options,
    )
    return chosen.run()
