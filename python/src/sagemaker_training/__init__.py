"""The API of sagemaker-training, on muster. muster's python/README.md lists the differences."""

import importlib

# Words that identify the error in a failed program's output: the error message starts at the first
# line that contains one of them.
_PYTHON_ERRORS_ = (
    "BaseException Exception ArithmeticError AssertionError AttributeError BlockingIOError "
    "BrokenPipeError BufferError ChildProcessError ConnectionAbortedError ConnectionError "
    "ConnectionRefusedError ConnectionResetError EOFError EnvironmentError FileExistsError "
    "FileNotFoundError FloatingPointError IOError ImportError IndentationError IndexError "
    "InterruptedError IsADirectoryError KeyError LookupError MemoryError ModuleNotFoundError "
    "NameError NotADirectoryError NotImplementedError OSError OverflowError PermissionError "
    "ProcessLookupError RecursionError ReferenceError RuntimeError SyntaxError SystemError "
    "TabError TimeoutError TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError "
    "UnicodeError UnicodeTranslateError ValueError ZeroDivisionError"
).split() + [
    "Invalid requirement",
    "ResourceExhaustedError",
    "OutOfRangeError",
    "InvalidArgumentError",
]

_MPI_ERRORS_ = ["mpirun.real", "ORTE"]

# Instance types with Elastic Fabric Adapter, and those whose adapter supports RDMA.
SM_EFA_NCCL_INSTANCES = [
    "ml.g4dn.8xlarge",
    "ml.g4dn.12xlarge",
    "ml.g5.48xlarge",
    "ml.p3dn.24xlarge",
    "ml.p4d.24xlarge",
    "ml.p4de.24xlarge",
    "ml.p5.48xlarge",
    "ml.p5e.48xlarge",
    "ml.trn1.32xlarge",
    "ml.p6e-gb200.36xlarge",
]

SM_EFA_RDMA_INSTANCES = [
    "ml.p4d.24xlarge",
    "ml.p4de.24xlarge",
    "ml.p5.48xlarge",
    "ml.p5e.48xlarge",
    "ml.trn1.32xlarge",
    "ml.p6e-gb200.36xlarge",
]

# Paths in a traceback that indicate an error of SageMaker Training Compiler.
SM_TRAINING_COMPILER_PATHS = [
    "tensorflow/compiler/xla",
    "tensorflow/compiler/tf2xla",
    "tensorflow/python/compiler/xla",
    "torch_xla/",
]


def training_env(resource_config=None, input_data_config=None, hyperparameters=None):
    """Returns the training environment of this host, or of a job with these configurations."""
    from sagemaker_training import environment

    return environment.Environment(resource_config, input_data_config, hyperparameters)


def __getattr__(name):
    """Imports modules on demand, for example `sagemaker_training.environment`."""
    full = "%s.%s" % (__name__, name)
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
    raise AttributeError("module %r has no attribute %r" % (__name__, name))
