"""The exceptions, the very classes of sagemaker_training.errors: either name catches."""

from sagemaker_training.errors import *  # noqa: F401,F403
from sagemaker_training.errors import _CalledProcessError, ChannelDoesNotExistError

ChannelDoesNotExistException = ChannelDoesNotExistError
