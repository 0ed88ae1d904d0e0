"""The exceptions. They are the classes of sagemaker_training.errors: both names catch them."""

from sagemaker_training.errors import *  # noqa: F401,F403
from sagemaker_training.errors import _CalledProcessError, ChannelDoesNotExistError

ChannelDoesNotExistException = ChannelDoesNotExistError
