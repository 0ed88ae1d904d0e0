"""Runs programs of the job, with the arguments of sagemaker_containers."""

import sys

from sagemaker_training import process
from sagemaker_training.process import python_executable


def create(cmd, error_class, cwd=None, capture_error=False, **kwargs):
    """Starts a program. Returns its Popen; raises `error_class` if it cannot start."""
    try:
        return process.start(cmd, cwd=cwd, capture_error=capture_error, **kwargs)
    except Exception as e:
        raise error_class(e).with_traceback(sys.exc_info()[2])


def check_error(cmd, error_class, capture_error=False, **kwargs):
    """Runs a program until it ends. Returns its Popen; raises `error_class` if it fails."""
    return process.check_error(cmd, error_class, 1, capture_error=capture_error, **kwargs)


class ProcessRunner(process.ProcessRunner):
    """Runs the entry point as a program of this host."""

    def __init__(self, user_entry_point, args, env_vars):
        super(ProcessRunner, self).__init__(user_entry_point, args, env_vars, 1)
