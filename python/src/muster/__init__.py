"""muster's Python side: it finds the `sm` program of the same wheel and asks it.

    muster.session()   a sagemaker.Session for the muster server that the AWS_* variables name
    muster.train(...)  one training job on that server
"""

__version__ = "0.1.0"


def session(**options):
    """A `sagemaker.Session` that is ready: muster.sdk_session.session tells more."""
    from muster import sdk_session

    return sdk_session.session(**options)


def train(script, **options):
    """Trains on the server; a muster.training.Job. muster.training.train tells more."""
    from muster import training

    return training.train(script, **options)
