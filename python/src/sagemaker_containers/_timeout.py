"""A time limit for a block of code."""

from sagemaker_training.timeout import *  # noqa: F401,F403
