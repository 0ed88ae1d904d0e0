"""The kinds of entry points."""

from sagemaker_training._entry_point_type import (
    _EntryPointType,
    COMMAND,
    get,
    PYTHON_PACKAGE,
    PYTHON_PROGRAM,
)
