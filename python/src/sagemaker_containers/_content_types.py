"""Media types that the encoders know."""

from sagemaker_training.content_types import *  # noqa: F401,F403
