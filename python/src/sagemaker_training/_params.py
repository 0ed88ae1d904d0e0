"""Names of hyperparameters and variables. The old name of `params`."""

from sagemaker_training.params import *  # noqa: F401,F403
