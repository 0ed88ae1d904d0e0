"""A job's folders, configuration files and training environment."""

from sagemaker_containers import _serving
from sagemaker_training.environment import *  # noqa: F401,F403

_refuse = _serving.refusal(__name__)


def __getattr__(name):
    if name == "ServingEnv":
        _refuse(name)
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
