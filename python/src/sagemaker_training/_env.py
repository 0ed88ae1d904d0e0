"""A job's folders, files and training environment. The old name of `environment`."""

from sagemaker_training.environment import *  # noqa: F401,F403
