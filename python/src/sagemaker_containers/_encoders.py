"""Converts arrays to bytes and back."""

from sagemaker_training.encoders import *  # noqa: F401,F403
