"""Calling a user's function with what it asks for."""

import collections
import inspect
import sys

from sagemaker_training import mapping

# The standard library dropped its own in Python 3.11.
ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def matching_args(fn, dictionary):
    """The items of `dictionary` that `fn` has a parameter for; all, if it takes **keywords."""
    spec = getargspec(fn)
    if spec.keywords:
        return dictionary
    return mapping.split_by_criteria(dictionary, spec.args).included


def getargspec(fn):
    """The parameters of `fn` as (args, varargs, keywords, defaults)."""
    spec = inspect.getfullargspec(fn)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def error_wrapper(fn, error_class):
    """`fn`, but whatever it raises comes out as `error_class(exception)` with its traceback."""

    def wrapper(*args, **kwargs):
        try:
            return fn(*args, **kwargs)
        except Exception as e:
            raise error_class(e).with_traceback(sys.exc_info()[2])

    return wrapper
