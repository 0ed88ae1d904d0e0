"""Dictionaries as arguments and variables."""

from sagemaker_training.mapping import *  # noqa: F401,F403
