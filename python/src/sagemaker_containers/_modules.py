"""Python modules of the user, including functions that sagemaker_training removed."""

import os
import warnings

from sagemaker_containers import _env, _errors, _files, _logging, _process
from sagemaker_training import modules
from sagemaker_training.files import s3_download
from sagemaker_training.modules import (
    DEFAULT_MODULE_NAME,
    exists,
    has_requirements,
    install,
    prepare,
)


def download_and_install(uri, name=DEFAULT_MODULE_NAME, cache=True):
    """Fetches code and installs it as module `name`. `cache`: not if the module exists."""
    if cache and exists(name):
        return
    with _files.tmpdir() as folder:
        path = os.path.join(folder, "module_dir")
        _files.download_and_extract(uri, path)
        prepare(path, name)
        install(path)


def run(module_name, args=None, env_vars=None, wait=True, capture_error=False):
    """Runs `python -m module_name`. Returns its Popen; raises ExecuteUserScriptError."""
    command = [_process.python_executable(), "-m", module_name] + list(args or [])
    _logging.log_script_invocation(command, env_vars or {})
    start = _process.check_error if wait else _process.create
    return start(command, _errors.ExecuteUserScriptError, capture_error=capture_error)


def import_module(uri, name=DEFAULT_MODULE_NAME, cache=None):
    """Fetches code, installs it as module `name`, and imports or reloads it."""
    _warn_of_cache(cache)
    return modules.import_module(uri, name)


def run_module(
    uri, args, env_vars=None, name=DEFAULT_MODULE_NAME, cache=None, wait=True, capture_error=False
):
    """Fetches code, installs it as module `name`, and runs it."""
    _warn_of_cache(cache)
    env_vars = dict(env_vars or {})
    _files.download_and_extract(uri, _env.code_dir)
    prepare(_env.code_dir, name)
    install(_env.code_dir)
    _env.write_env_vars(env_vars)
    return run(name, args, env_vars, wait, capture_error)


def _warn_of_cache(cache):
    if cache is not None:
        warnings.warn("the cache parameter no longer has any effect", DeprecationWarning)
