"""Serving: not supported."""

from sagemaker_containers._serving import refusal

__getattr__ = refusal(__name__)
