"""Runs a training job in this process, like `train` of sagemaker-training.

The `train` program of an image is muster's own, which runs a framework's module with
muster.framework. Use `train()` here only to call it from Python.
"""

import importlib
import inspect
import os
import sys
import traceback

from sagemaker_training import (
    entry_point,
    environment,
    errors,
    files,
    intermediate_output,
    logging_config,
    params,
    runner,
    SM_TRAINING_COMPILER_PATHS,
)

logger = logging_config.get_logger()

SUCCESS_CODE = 0
DEFAULT_FAILURE_CODE = 1


def run_framework(framework_module, env):
    """Imports "module:function" and calls the function, with `env` if it has one parameter.

    Configures logging after the import, so that a framework can configure it itself.
    """
    module_name, function_name = framework_module.split(":")
    module = importlib.import_module(module_name)
    logging_config.configure_logger(env.log_level)
    logger.info("Imported framework %s", module_name)
    function = getattr(module, function_name)
    if _takes_one(function):
        function(env)
    else:
        function()


def _takes_one(function):
    """Whether the function requires exactly one positional argument."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # Python does not know, for example for some functions in C.
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each for each in parameters if each.default is each.empty]
    return len([each for each in needed if each.kind in positional]) == 1


def report_failure(error):
    """Writes the failure file for the current exception. Returns the exit code."""
    if isinstance(error, errors.ClientError):
        text, code = str(error), DEFAULT_FAILURE_CODE
    else:
        trace = traceback.format_exc()
        compiler = any(path in trace for path in SM_TRAINING_COMPILER_PATHS)
        whose = "SMTrainingCompiler" if compiler else "Framework"
        text = "%s Error: \n%s\n%s" % (whose, trace, error)
        code = _exit_code(getattr(error, "errno", DEFAULT_FAILURE_CODE))
    files.write_failure_file(text)
    logger.error("Reporting training FAILURE")
    logger.error(text)
    return code


def _exit_code(number):
    """Returns the number if it is a valid exit code for a failure, else 1."""
    try:
        return int(number) if 0 < int(number) < 256 else DEFAULT_FAILURE_CODE
    except (ValueError, TypeError):
        return DEFAULT_FAILURE_CODE


def _run_script(env):
    logging_config.configure_logger(env.log_level)
    takes_part = env.current_instance_group in env.distribution_instance_groups
    mpi = env.additional_framework_parameters.get(params.MPI_ENABLED) and takes_part
    entry_point.run(
        env.module_dir,
        env.user_entry_point,
        env.to_cmd_args(),
        env.to_env_vars(),
        runner_type=runner.RunnerType.MPI if mpi else runner.RunnerType.Process,
    )


def train():
    """Runs the job in SAGEMAKER_BASE_DIR, writes `success` or `failure`, and exits."""
    sync = None
    code = SUCCESS_CODE
    try:
        env = environment.Environment()
        sync = intermediate_output.start_sync(
            env.sagemaker_s3_output(),
            os.environ.get("AWS_REGION", os.environ.get(params.REGION_NAME_ENV)),
            endpoint_url=os.environ.get(params.S3_ENDPOINT_URL),
        )
        if env.framework_module:
            run_framework(env.framework_module, env)
        else:
            _run_script(env)
        logger.info("Reporting training SUCCESS")
        files.write_success_file()
    except Exception as error:
        code = report_failure(error)
    finally:
        if sync:
            sync.join()
    _exit_processes(code)


def _exit_processes(exit_code):
    if exit_code != SUCCESS_CODE:
        logger.error("Encountered exit_code %s", exit_code)
    sys.exit(exit_code)
