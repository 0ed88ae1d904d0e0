"""The names that framework packages import."""

from sagemaker_containers import _content_types as content_types
from sagemaker_containers import _encoders as encoders
from sagemaker_containers import _env as env
from sagemaker_containers import _errors as errors
from sagemaker_containers import _files as files
from sagemaker_containers import _functions as functions
from sagemaker_containers import _logging as logging
from sagemaker_containers import _mapping as mapping
from sagemaker_containers import _modules as modules
from sagemaker_containers import _mpi as mpi
from sagemaker_containers import _params as params
from sagemaker_containers import _process as process
from sagemaker_containers import _runner as runner
from sagemaker_containers import _server as server
from sagemaker_containers import _trainer as trainer
from sagemaker_containers import _transformer as transformer
from sagemaker_containers import _worker as worker
from sagemaker_containers import entry_point


def training_env(resource_config=None, input_data_config=None, hyperparameters=None):
    """Returns the training environment of this host, or of a job with these configurations."""
    return env.TrainingEnv(resource_config, input_data_config, hyperparameters)
