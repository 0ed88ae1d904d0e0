"""Uploads files to S3 while the job runs."""

from sagemaker_training.intermediate_output import *  # noqa: F401,F403
