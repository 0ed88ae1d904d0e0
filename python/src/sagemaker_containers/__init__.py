"""The training side of sagemaker_containers, the elder sagemaker_training, on muster."""


def training_env():
    """The training environment of this host."""
    from sagemaker_containers import _env

    return _env.TrainingEnv()
