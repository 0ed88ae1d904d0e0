"""The ways to run an entry point, by name."""

from sagemaker_training.runner import *  # noqa: F401,F403
