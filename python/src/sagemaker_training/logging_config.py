"""Logging as in sagemaker-training."""

import json
import logging

from muster import binary


def get_logger():
    """Returns the toolkit's logger."""
    return logging.getLogger("sagemaker-training-toolkit")


def configure_logger(level, log_format="%(asctime)s %(name)-12s %(levelname)-8s %(message)s"):
    """Configures the root logger, unless it already is."""
    logging.basicConfig(format=log_format, level=level)
    if level >= logging.INFO:
        for name in ("boto3", "s3transfer", "botocore"):
            logging.getLogger(name).setLevel(level)


def log_script_invocation(cmd, env_vars, logger=None):
    """Logs the training environment, its variables and the command. `sm` masks secrets."""
    given = {
        "variables": {name: str(value) for name, value in env_vars.items()},
        "command": [str(word) for word in cmd],
    }
    text = binary.ask("env", "--invocation", stdin=json.dumps(given))
    (logger or get_logger()).info("%s", text)
