"""The kinds of entry points."""

import enum
import os


class _EntryPointType(enum.Enum):
    PYTHON_PACKAGE = "PYTHON_PACKAGE"
    PYTHON_PROGRAM = "PYTHON_PROGRAM"
    COMMAND = "COMMAND"


PYTHON_PACKAGE = _EntryPointType.PYTHON_PACKAGE
PYTHON_PROGRAM = _EntryPointType.PYTHON_PROGRAM
COMMAND = _EntryPointType.COMMAND


def get(path, name):
    """Returns the kind of the entry point `name` in the folder `path`."""
    if name.endswith(".sh"):
        return COMMAND
    if "setup.py" in os.listdir(path):
        return PYTHON_PACKAGE
    return PYTHON_PROGRAM if name.endswith(".py") else COMMAND
