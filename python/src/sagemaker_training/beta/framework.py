"""`training_env()` and the modules, with the names of sagemaker_containers."""

from sagemaker_training import (
    content_types,
    encoders,
    entry_point,
    environment,
    environment as env,
    errors,
    files,
    functions,
    logging_config as logging,
    mapping,
    modules,
    mpi,
    params,
    process,
    runner,
    trainer,
)
from sagemaker_training.environment import training_env
