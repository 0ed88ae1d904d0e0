"""Logging as the toolkit does it."""

import json
import logging

from muster import binary


def get_logger():
    """The toolkit's logger."""
    return logging.getLogger("sagemaker-training-toolkit")


def configure_logger(level, log_format="%(asctime)s %(name)-12s %(levelname)-8s %(message)s"):
    """Sets the root logger up, unless somebody did before."""
    logging.basicConfig(format=log_format, level=level)
    if level >= logging.INFO:
        for name in ("boto3", "s3transfer", "botocore"):
            logging.getLogger(name).setLevel(level)


def log_script_invocation(cmd, env_vars, logger=None):
    """Says what is about to run: the training environment, its variables, the command.

    Secrets are masked by the rule of `sm`.
    """
    given = {
        "variables": {name: str(value) for name, value in env_vars.items()},
        "command": [str(word) for word in cmd],
    }
    text = binary.ask("env", "--invocation", stdin=json.dumps(given))
    (logger or get_logger()).info("%s", text)
