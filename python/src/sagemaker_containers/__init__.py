"""The training API of sagemaker_containers, the predecessor of sagemaker_training, on muster."""


def training_env():
    """Returns the training environment of this host."""
    from sagemaker_containers import _env

    return _env.TrainingEnv()
