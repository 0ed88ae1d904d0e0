"""Media types that the encoders support."""

from sagemaker_training.content_types import *  # noqa: F401,F403
