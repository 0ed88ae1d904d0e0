"""Logging, with the logger name of sagemaker_containers."""

import logging

from sagemaker_training import logging_config
from sagemaker_training.logging_config import configure_logger


def get_logger():
    """Returns the toolkit's logger."""
    return logging.getLogger("sagemaker-containers")


def log_script_invocation(cmd, env_vars, logger=None):
    """Logs the training environment and the command."""
    logging_config.log_script_invocation(cmd, env_vars, logger or get_logger())
