"""Training in this process. The old name of `trainer`."""

from sagemaker_training.trainer import *  # noqa: F401,F403
