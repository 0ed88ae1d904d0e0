"""Names of hyperparameters and variables; the elder name of `params`."""

from sagemaker_training.params import *  # noqa: F401,F403
