"""Logging; the logger has the elder package's name."""

import logging

from sagemaker_training import logging_config
from sagemaker_training.logging_config import configure_logger


def get_logger():
    """The toolkit's logger."""
    return logging.getLogger("sagemaker-containers")


def log_script_invocation(cmd, env_vars, logger=None):
    """Says what is about to run."""
    logging_config.log_script_invocation(cmd, env_vars, logger or get_logger())
