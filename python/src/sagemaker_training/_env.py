"""A job's folders, files and training environment; the elder name of `environment`."""

from sagemaker_training.environment import *  # noqa: F401,F403
