"""Placeholders for the serving API, which muster does not support."""


def refusal(module):
    """Returns a __getattr__ for a module, which raises an error that names the attribute."""

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(
            "%s.%s: muster supports training only; serving requires sagemaker-inference or "
            "the original sagemaker_containers" % (module, name)
        )

    return __getattr__
