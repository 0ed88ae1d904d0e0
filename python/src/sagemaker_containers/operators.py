"""Launchers to call from a job's script: `import sagemaker_containers.operators as sm`.

Every host must make the same call. The call runs a program on all hosts. It raises
ExecuteUserScriptError if the program fails, or ClientError if it cannot start. The launchers are
`sm mpirun`, `sm torchrun`, `sm deepspeed`, `sm tf`, `sm mxnet` and `sm run`. All of them accept

    program   a file in the code folder, which this interpreter runs, or any other command, as on
              the command line. None: the job's entry point, or, if the entry point itself makes
              the call, the train.py next to it.
    args      the program's arguments, a list of strings

and the launcher's own flags as keywords. Other keywords are hyperparameters of the program, which
follow `args` as `--name value`. Without `args` and hyperparameters, the program is passed the
job's hyperparameters.
"""

import os
import shutil
import subprocess
import sys

from muster import binary
from sagemaker_training import environment, errors, mapping, params, process, runner

_BESIDE = "train.py"


def mpirun(
    program=None,
    args=(),
    process_per_hosts=None,
    custom_mpi_options="",
    num_processes=None,
    numa=False,
    **hyperparameters
):
    """Runs a program under MPI, with `process_per_hosts` ranks on each host. `numa`: runs each rank
    on the processors next to its GPU."""
    call = _Call(program, args, hyperparameters)
    if call.script is None or numa:
        return call.operate(
            ["mpirun"],
            process_per_hosts=process_per_hosts,
            custom_mpi_options=custom_mpi_options or None,
            num_processes=num_processes,
            numa=numa,
        )
    options = {
        params.MPI_PROCESSES_PER_HOST: process_per_hosts,
        params.MPI_NUM_PROCESSES: num_processes,
        params.MPI_CUSTOM_OPTIONS: custom_mpi_options,
    }
    variables = call.env.to_env_vars()
    return runner.get(runner.RunnerType.MPI, call.script, call.args, variables, options).run()


def torchrun(program=None, args=(), nproc_per_node=None, launcher=None, **hyperparameters):
    """Runs a script under torchrun. launcher="direct": starts the ranks without torchrun."""
    call = _Call(program, args, hyperparameters)
    call.operate(["torchrun"], nproc_per_node=nproc_per_node, launcher=launcher)


def deepspeed(
    program=None,
    args=(),
    num_gpus=None,
    master_port=None,
    module=False,
    no_python=False,
    no_local_rank=False,
    bind_cores_to_rank=False,
    bind_core_list=None,
    enable_each_rank_log=None,
    launcher=None,
    **hyperparameters
):
    """Runs a script under DeepSpeed's node launcher. launcher="direct": starts ranks without it."""
    _Call(program, args, hyperparameters).operate(
        ["deepspeed"],
        num_gpus=num_gpus,
        master_port=master_port,
        module=module,
        no_python=no_python,
        no_local_rank=no_local_rank,
        bind_cores_to_rank=bind_cores_to_rank,
        bind_core_list=bind_core_list,
        enable_each_rank_log=enable_each_rank_log,
        launcher=launcher,
    )


class tf(object):  # pylint: disable=invalid-name
    """Distributed training with TensorFlow."""

    @staticmethod
    def run_distributed_training(
        program=None,
        args=(),
        num_workers=None,
        num_parameter_servers=None,
        chief=False,
        evaluator=False,
        config_only=False,
        **hyperparameters
    ):
        """Starts workers and parameter servers."""
        _Call(program, args, hyperparameters, _python()).operate(
            ["tf", "run-distributed-training"],
            num_workers=num_workers,
            num_parameter_servers=num_parameter_servers,
            chief=chief,
            evaluator=evaluator,
            config_only=config_only,
        )

    @staticmethod
    def multi_worker(program=None, args=(), num_workers=None, **hyperparameters):
        """Starts workers only, for MultiWorkerMirroredStrategy."""
        call = _Call(program, args, hyperparameters, _python())
        call.operate(["tf", "multi-worker"], num_workers=num_workers)


class mxnet(object):  # pylint: disable=invalid-name
    """Distributed training with MXNet."""

    @staticmethod
    def run(program=None, args=(), num_servers=None, num_workers=None, **hyperparameters):
        """Starts a scheduler, parameter servers and workers."""
        call = _Call(program, args, hyperparameters, _python())
        call.operate(["mxnet", "run"], num_servers=num_servers, num_workers=num_workers)


def run(program=None, args=(), **hyperparameters):
    """Runs a program once on each host. If one fails, the others are stopped."""
    _Call(program, args, hyperparameters, _python()).operate(["run"])


class _Call(object):
    """A script in the code folder, or another command, with its arguments."""

    def __init__(self, program, args, hyperparameters, interpreter=()):
        """`interpreter`: the words that an operator needs before a script."""
        if isinstance(args, str):
            raise errors.ClientError("args is the string %r; expected a list of arguments" % args)
        self.env = environment.Environment()
        self.script, self._command = _find(_unnamed(self.env) if program is None else program)
        if self.script is not None:
            self._command = list(interpreter) + [self.script]
        self.args = [str(word) for word in args] + mapping.to_cmd_args(hyperparameters)
        if not self.args:
            self.args = self.env.to_cmd_args()

    def operate(self, operator, **flags):
        """Runs this operator of `sm`. Flags that are None or False are omitted."""
        line = [binary.program()] + operator
        for name in sorted(flags):
            if flags[name] is True:
                line.append("--" + name)
            elif flags[name] is not None and flags[name] is not False:
                line += ["--" + name, str(flags[name])]
        words = self._command + self.args
        variables = dict(os.environ)
        variables.update(self.env.to_env_vars())
        done = subprocess.run(line + words, cwd=environment.code_dir, env=variables, check=False)
        if done.returncode:
            raise errors.ExecuteUserScriptError(" ".join(words), return_code=done.returncode)


def _python():
    return [sys.executable or "python3"]


def _find(program):
    """Returns (script in the code folder, None) or (None, words of a command).

    Raises ClientError if the program is neither.
    """
    if not isinstance(program, str):
        raise errors.ClientError(
            "program is %r; expected the name of a file in %s (pass numbers by name, for example "
            "process_per_hosts=3)" % (program, environment.code_dir)
        )
    if os.path.isfile(os.path.join(environment.code_dir, program)) and not os.path.isabs(program):
        return process.validate_entry_point(program), None
    if shutil.which(program):
        return None, [program]
    raise errors.ClientError(
        "program %r not found: expected a file in %s, or a command on PATH"
        % (program, environment.code_dir)
    )


def _unnamed(env):
    """Returns the program for a call without one."""
    entry = env.user_entry_point
    if entry and not _is_running(entry):
        return entry
    caller = entry or os.path.relpath(_main_file(), environment.code_dir)
    program = os.path.join(os.path.dirname(caller), _BESIDE)
    if not os.path.isfile(os.path.join(environment.code_dir, program)):
        raise errors.ClientError(
            "no program passed, and no %s found next to %s in %s; pass the program to run, for "
            'example "my_script.py"' % (_BESIDE, caller, environment.code_dir)
        )
    return program


def _is_running(entry):
    """Whether this process runs the entry point, as a file or with `python -m`."""
    if _main_file() == os.path.realpath(os.path.join(environment.code_dir, entry)):
        return True
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    module = entry[:-3] if entry.endswith(".py") else entry
    return spec is not None and spec.name == module.replace("/", ".")


def _main_file():
    return os.path.realpath(getattr(sys.modules["__main__"], "__file__", ""))
