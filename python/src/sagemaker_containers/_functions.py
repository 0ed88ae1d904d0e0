"""Calling a user's function with what it asks for."""

from sagemaker_training.functions import *  # noqa: F401,F403
