"""Finds, installs and imports Python modules of the user."""

import importlib
import os
import sys

from muster import binary
from sagemaker_training import environment, errors, files, logging_config, process

logger = logging_config.get_logger()

DEFAULT_MODULE_NAME = "default_user_module_name"
CA_REPOSITORY_ARN_ENV = "CA_REPOSITORY_ARN"

_SETUP = """
from setuptools import setup
setup(packages=[''],
      name="%s",
      version='1.0.0',
      include_package_data=True)
"""
_SETUP_CFG = """
[wheel]
universal = 1
"""
_MANIFEST = """
recursive-include . *
recursive-exclude . __pycache__*
recursive-exclude . *.pyc
recursive-exclude . *.pyo
"""


def exists(name):
    """Imports the module. Returns whether that succeeded."""
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def has_requirements(path):
    """Whether the folder has a requirements.txt."""
    return os.path.exists(os.path.join(path, "requirements.txt"))


def prepare(path, name):
    """Makes the folder an installable package, unless it has a setup.py."""
    setup = os.path.join(path, "setup.py")
    if os.path.exists(setup):
        return
    logger.info("%s has no setup.py; creating one for module %s", path, name)
    files.write_file(setup, _SETUP % name)
    files.write_file(os.path.join(path, "setup.cfg"), _SETUP_CFG)
    files.write_file(os.path.join(path, "MANIFEST.in"), _MANIFEST)


def install(path, capture_error=False):
    """Installs the package in the folder, with its requirements.txt, for this interpreter."""
    words = ["."] + (["-r", "requirements.txt"] if has_requirements(path) else [])
    logger.info("Installing module.")
    _pip_install(words, errors.InstallModuleError, path, capture_error)


def install_requirements(path, capture_error=False):
    """Installs the packages in the folder's requirements.txt for this interpreter."""
    logger.info("Installing dependencies from requirements.txt")
    words = ["-r", "requirements.txt"]
    _pip_install(words, errors.InstallRequirementsError, path, capture_error)


def _pip_install(words, error_class, path, capture_error):
    command = [process.python_executable(), "-m", "pip", "install"] + words
    env = dict(os.environ)
    if "-r" in words and env.get(CA_REPOSITORY_ARN_ENV):
        # Not with -i: all users of the machine can read command lines, and the URL has a token.
        env["PIP_INDEX_URL"] = _get_codeartifact_index()
    process.check_error(command, error_class, 1, cwd=path, capture_error=capture_error, env=env)


def import_module(uri, name=DEFAULT_MODULE_NAME):
    """Fetches code, installs it as module `name`, and imports or reloads it.

    Raises ImportModuleError if the import fails.
    """
    files.download_and_extract(uri, environment.code_dir)
    prepare(environment.code_dir, name)
    install(environment.code_dir)
    try:
        importlib.invalidate_caches()
        return importlib.reload(importlib.import_module(name))
    except Exception as e:
        raise errors.ImportModuleError(e).with_traceback(sys.exc_info()[2])


def _get_codeartifact_index():
    try:
        return binary.ask("toolkit", "codeartifact-index").strip()
    except binary.ToolkitError as error:
        raise RuntimeError("failed to configure pip to use codeartifact: %s" % error) from None
