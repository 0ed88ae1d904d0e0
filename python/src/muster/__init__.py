"""muster's Python side: it finds the `sm` program of the same wheel and asks it.

    muster.session()   a sagemaker.Session for the muster server that the AWS_* variables name
    muster.train(...)  one training job on that server
"""


def __getattr__(name):
    """`__version__`: that of `sm`, with which the packages come."""
    if name == "__version__":
        from muster import binary

        return binary.ask("--version").split()[-1]
    raise AttributeError("module 'muster' has no attribute %r" % name)


def session(**options):
    """A `sagemaker.Session` that is ready: muster.sdk_session.session tells more."""
    from muster import sdk_session

    return sdk_session.session(**options)


def train(script=None, *places, **options):
    """Trains on the server; a muster.training.Job. muster.training.train tells more."""
    from muster import training

    return training.train(script, *places, **options)
