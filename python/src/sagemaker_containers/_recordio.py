"""RecordIO with SageMaker's Record messages."""

from sagemaker_training.recordio import *  # noqa: F401,F403
