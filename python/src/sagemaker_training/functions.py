"""Calls a user's function with the arguments that it accepts."""

import collections
import inspect
import sys

from sagemaker_training import mapping

# Python 3.11 removed inspect.ArgSpec.
ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def matching_args(fn, dictionary):
    """Returns the items of `dictionary` that are parameters of `fn`; all, if it has **keywords."""
    spec = getargspec(fn)
    if spec.keywords:
        return dictionary
    return mapping.split_by_criteria(dictionary, spec.args).included


def getargspec(fn):
    """Returns the parameters of `fn` as (args, varargs, keywords, defaults)."""
    spec = inspect.getfullargspec(fn)
    return ArgSpec(spec.args, spec.varargs, spec.varkw, spec.defaults)


def error_wrapper(fn, error_class):
    """Wraps `fn` to raise its exceptions as `error_class(exception)`, with the traceback."""

    def wrapper(*args, **kwargs):
        try:
            return fn(*args, **kwargs)
        except Exception as e:
            raise error_class(e).with_traceback(sys.exc_info()[2])

    return wrapper
