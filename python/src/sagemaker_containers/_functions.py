"""Calls a user's function with the arguments that it accepts."""

from sagemaker_training.functions import *  # noqa: F401,F403
