"""What stands for the serving side, which muster does not have."""


def refusal(module):
    """A module's __getattr__ that names what is missing, when it is touched and not before."""

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotImplementedError(
            "%s.%s: muster is for training; serving needs sagemaker-inference or "
            "sagemaker_containers itself" % (module, name)
        )

    return __getattr__
