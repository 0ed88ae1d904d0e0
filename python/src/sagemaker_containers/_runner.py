"""The runners of entry points, by name."""

from sagemaker_training.runner import *  # noqa: F401,F403
