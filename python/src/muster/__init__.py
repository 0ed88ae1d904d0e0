"""The Python API of muster. The wheel also contains the `sm` program.

    muster.session()   returns a sagemaker.Session for the server in the AWS_* variables
    muster.train(...)  runs a training job on that server
"""


def __getattr__(name):
    """`__version__` is the version of `sm`, which the wheel contains."""
    if name == "__version__":
        from muster import binary

        return binary.ask("--version").split()[-1]
    raise AttributeError("module 'muster' has no attribute %r" % name)


def session(**options):
    """Returns a `sagemaker.Session` for the server; see muster.sdk_session.session."""
    from muster import sdk_session

    return sdk_session.session(**options)


def train(script=None, *places, **options):
    """Runs a training job on the server; see muster.training.train. Returns a training.Job."""
    from muster import training

    return training.train(script, *places, **options)
