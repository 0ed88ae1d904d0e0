"""Training in this process."""

from sagemaker_training.trainer import *  # noqa: F401,F403
