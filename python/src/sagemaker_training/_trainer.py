"""Training in this process; the elder name of `trainer`."""

from sagemaker_training.trainer import *  # noqa: F401,F403
