"""Fetches the user's code to this host and runs its entry point."""

import os
import socket
import sys
import threading
import time

from sagemaker_training import (
    _entry_point_type,
    environment,
    errors,
    files,
    logging_config,
    modules,
    process,
    runner,
)

logger = logging_config.get_logger()

_NAMES_SECONDS_MAX = 15 * 60
_PAUSE_SECONDS_FIRST = 0.1
_PAUSE_SECONDS_MAX = 30.0


def run(
    uri,
    user_entry_point,
    args=None,
    env_vars=None,
    wait=True,
    capture_error=False,
    runner_type=runner.ProcessRunnerType,
    extra_opts=None,
):
    """Runs the entry point `user_entry_point` of the code at `uri` with these arguments.

    The toolkit's guide also uses run(user_entry_point, args, env_vars), for code that is already in
    the code folder. The name of a Python script can omit the ".py".

    `env_vars` are set in this process, so the program inherits them. `extra_opts`: see runner.get.
    Returns the program's Popen. Raises ExecuteUserScriptError if it fails; with `capture_error`,
    the exception contains the program's output. See also files.download_and_extract and install.
    """
    if isinstance(user_entry_point, (list, tuple)):
        user_entry_point, args, env_vars = uri, list(user_entry_point), args
        user_entry_point = _script(user_entry_point)
        if not os.path.exists(os.path.join(environment.code_dir, user_entry_point)):
            raise errors.ClientError(
                "entry point %r not found in %s" % (user_entry_point, environment.code_dir)
            )
    else:
        files.download_and_extract(uri=uri, path=environment.code_dir)
        user_entry_point = _script(user_entry_point)
    env_vars = dict(env_vars or {})
    install(name=user_entry_point, path=environment.code_dir, capture_error=capture_error)
    environment.write_env_vars(env_vars)
    if os.environ.get("SM_STUDIO_LOCAL_MODE", "False").lower() != "true":
        _wait_hostname_resolution()
    chosen = runner.get(runner_type, user_entry_point, args, env_vars, extra_opts)
    return chosen.run(wait=wait, capture_error=capture_error)


def install(name, path=environment.code_dir, capture_error=False):
    """Prepares an entry point in the folder.

    Installs a package, or a script's requirements.txt, with pip; sets the mode of a program to
    0777. Raises ClientError for an invalid name, InstallModuleError or InstallRequirementsError if
    pip fails.
    """
    if path not in sys.path:
        sys.path.insert(0, path)
    process.validate_entry_point(name)
    kind = _entry_point_type.get(path, name)
    if kind is _entry_point_type.PYTHON_PACKAGE:
        modules.install(path, capture_error)
    elif kind is _entry_point_type.COMMAND:
        os.chmod(_entry_point_path(path, name), 0o777)
    elif modules.has_requirements(path):
        modules.install_requirements(path, capture_error)


def _script(name):
    """Returns the entry point's file. `name` can be a module, like Environment.module_name."""
    process.validate_entry_point(name)
    path = os.path.join(environment.code_dir, name)
    return name + ".py" if os.path.isfile(path + ".py") and not os.path.exists(path) else name


def _entry_point_path(path, name):
    """Returns the real path. Raises ClientError if a link points outside the folder."""
    folder = os.path.realpath(path)
    target = os.path.realpath(os.path.join(folder, name))
    if os.path.commonpath([folder, target]) != folder:
        raise errors.ClientError(
            "sagemaker_program %r leads outside the code folder, to %s" % (name, target)
        )
    return target


def _wait_hostname_resolution():
    """Waits until all host names resolve, which can be later than the start of the hosts."""
    for host in environment.Environment().hosts:
        _dns_lookup(host)


def _dns_lookup(host):
    deadline = time.monotonic() + _NAMES_SECONDS_MAX
    pause = _PAUSE_SECONDS_FIRST
    never = threading.Event()
    while True:
        try:
            return socket.gethostbyname(host)
        except OSError:
            if time.monotonic() + pause > deadline:
                raise
        never.wait(pause)
        pause = min(2 * pause, _PAUSE_SECONDS_MAX)
