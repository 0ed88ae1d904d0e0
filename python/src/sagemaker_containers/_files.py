"""Files of a job, and its code."""

from sagemaker_training.files import *  # noqa: F401,F403
