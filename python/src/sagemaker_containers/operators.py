"""Launchers to call from a job's script: `import sagemaker_containers.operators as sm`.

Every host calls them alike. Each runs the job's entry point as a distributed program over all
hosts, with the keywords that are not its own as the program's only hyperparameters, and raises
ExecuteUserScriptError if it fails. They are `sm mpirun`, `sm torchrun`, `sm deepspeed`, `sm tf`
and `sm mxnet`.
"""

import os
import subprocess
import sys

from muster import binary
from sagemaker_training import environment, errors, mapping, params, process, runner


def mpirun(process_per_hosts=None, num_processes=None, custom_mpi_options=None, **hyperparameters):
    """Under MPI: `process_per_hosts` ranks on each host."""
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


def torchrun(nproc_per_node=None, launcher=None, **hyperparameters):
    """Under torchrun, an agent on each host; launcher="direct": without it, ranks alone."""
    flags = {"--nproc-per-node": nproc_per_node, "--launcher": launcher}
    _operate(["torchrun"], flags, [], hyperparameters)


def deepspeed(
    num_gpus=None, master_port=None, no_local_rank=False, launcher=None, **hyperparameters
):
    """Under DeepSpeed's node launcher on each host; launcher="direct": without it, ranks alone."""
    flags = {
        "--num_gpus": num_gpus,
        "--master_port": master_port,
        "--no_local_rank": no_local_rank,
        "--launcher": launcher,
    }
    _operate(["deepspeed"], flags, [], hyperparameters)


class tf(object):  # pylint: disable=invalid-name
    """TensorFlow's ways to train on several hosts."""

    @staticmethod
    def run_distributed_training(
        num_workers=None,
        num_parameter_servers=None,
        chief=False,
        evaluator=False,
        **hyperparameters
    ):
        """Workers and parameter servers."""
        flags = {
            "--num-workers": num_workers,
            "--num-parameter-servers": num_parameter_servers,
            "--chief": chief,
            "--evaluator": evaluator,
        }
        _operate(["tf", "run-distributed-training"], flags, [_python()], hyperparameters)

    @staticmethod
    def multi_worker(num_workers=None, **hyperparameters):
        """Workers alone, as MultiWorkerMirroredStrategy has them."""
        flags = {"--num-workers": num_workers}
        _operate(["tf", "multi-worker"], flags, [_python()], hyperparameters)


class mxnet(object):  # pylint: disable=invalid-name
    """MXNet's parameter servers."""

    @staticmethod
    def run(num_servers=None, num_workers=None, **hyperparameters):
        """A scheduler, servers and workers."""
        flags = {"--num-servers": num_servers, "--num-workers": num_workers}
        _operate(["mxnet", "run"], flags, [_python()], hyperparameters)


def _python():
    return sys.executable or "python3"


def _operate(operator, flags, interpreter, hyperparameters):
    env = environment.Environment()
    command = [binary.program()] + operator
    for name in sorted(flags):
        if flags[name] is True:
            command.append(name)
        elif flags[name] is not None and flags[name] is not False:
            command += [name, str(flags[name])]
    script = process.validate_entry_point(env.user_entry_point)
    program = interpreter + [script] + mapping.to_cmd_args(hyperparameters)
    variables = dict(os.environ)
    variables.update(env.to_env_vars())
    done = subprocess.run(command + program, cwd=environment.code_dir, env=variables, check=False)
    if done.returncode:
        raise errors.ExecuteUserScriptError(" ".join(program), return_code=done.returncode)
