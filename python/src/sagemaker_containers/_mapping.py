"""Converts dictionaries to arguments and environment variables."""

from sagemaker_training.mapping import *  # noqa: F401,F403
