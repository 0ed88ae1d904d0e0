"""Says in JSON what the sagemaker_training at hand does. Run by the reference's Python and by ours.

usage: probe.py QUESTION, with the question's input as JSON on standard input.
"""

import contextlib
import importlib
import inspect
import io
import json
import os
import sys
import types

# Plain values that the reference's modules import from elsewhere.
_IMPORTED = (
    "SM_EFA_NCCL_INSTANCES SM_EFA_RDMA_INSTANCES SM_TRAINING_COMPILER_PATHS PIPE amount"
).split()


def _signature(thing):
    try:
        return str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "?"


def _describe(thing):
    if inspect.isclass(thing):
        methods = {
            name: _signature(value)
            for name, value in vars(thing).items()
            if callable(value) and (not name.startswith("_") or name == "__init__")
        }
        parents = [parent.__name__ for parent in thing.__mro__[1:-1]]
        members = [str(member) for member in thing] if hasattr(thing, "__members__") else []
        found = [name for name, value in vars(thing).items() if isinstance(value, property)]
        return {
            "methods": methods,
            "parents": parents,
            "members": members,
            "properties": sorted(found),
        }
    if callable(thing):
        return _signature(thing)
    try:
        return json.loads(json.dumps(thing))
    except TypeError:
        return type(thing).__name__


def names(modules):
    """Every public name of the modules that is not itself a module or some other package's."""
    answer = {}
    for name in modules:
        module = importlib.import_module(name)
        own = answer[name] = {}
        for key, value in vars(module).items():
            home = getattr(value, "__module__", None)
            foreign = isinstance(home, str) and not home.startswith("sagemaker_training")
            imported = key in _IMPORTED and name != "sagemaker_training"
            if key.startswith("_") or isinstance(value, types.ModuleType) or foreign or imported:
                continue
            own[key] = _describe(value)
    return answer


def call(calls):
    """The results, or the exceptions, of calls: [module, function, arguments, keywords]."""
    return [_result(*one) for one in calls]


def _result(module, function, args, keywords):
    try:
        thing = importlib.import_module(module)
        for part in function.split("."):
            thing = getattr(thing, part)
        value = thing(*args, **keywords)
        if isinstance(value, BaseException):
            return {"error": type(value).__name__, "text": str(value)}
        return {"value": json.loads(json.dumps(value, default=repr))}
    except Exception as error:
        return {"raises": type(error).__name__}


def recordio(matrices):
    """Matrices as RecordIO, in hexadecimal: [rows, type, whether sparse, labels or None]."""
    import numpy
    import scipy.sparse

    from sagemaker_training import encoders
    from sagemaker_training import recordio as module

    answer = []
    for rows, kind, sparse, labels in matrices:
        matrix = numpy.array(rows, dtype=kind)
        matrix = scipy.sparse.csr_matrix(matrix) if sparse else matrix
        labels = None if labels is None else numpy.array(labels)
        try:
            data = encoders.array_to_recordio_protobuf(matrix, labels)
        except Exception as error:
            answer.append({"raises": type(error).__name__, "text": str(error)})
            continue
        records = list(module._read_recordio(io.BytesIO(data)))
        answer.append({"data": data.hex(), "records": [record.hex() for record in records]})
    return answer


def environment(jobs):
    """What Environment says of each job: [base folder, variables, the three arguments]."""
    answer = []
    for base, variables, arguments in jobs:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            os.environ.update(variables, SAGEMAKER_BASE_DIR=base)
            with os.fdopen(writer, "w") as out:
                with contextlib.redirect_stdout(io.StringIO()):
                    said = _environment(arguments)
                out.write(json.dumps(said))
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as said:
            answer.append(json.loads(said.read()))
        os.waitpid(child, 0)
    return answer


def _environment(arguments):
    from sagemaker_training import environment as module

    try:
        env = module.Environment(**arguments)
    except Exception as error:
        return {"raises": type(error).__name__}
    said = {
        "properties": dict(env),
        "variables": env.to_env_vars(),
        "arguments": env.to_cmd_args(),
        "s3_output": env.sagemaker_s3_output(),
        "names": env.properties(),
        "length": len(env),
        "text": str(env),
        "groups_of_config": env.get_distribution_instance_groups_from_resource_config(),
        "methods": {
            name: getattr(env, name)()
            for name in (
                "get_current_instance_group_hosts",
                "get_distribution_hosts",
                "get_instance_groups",
                "get_instance_groups_dict",
                "get_master_hostname",
            )
        },
        "set": {
            name: os.environ.get(name)
            for name in ("SAGEMAKER_JOB_NAME", "CURRENT_HOST", "SAGEMAKER_REGION")
        },
    }
    env.hyperparameters["added"] = [1, "a"]
    said["arguments_later"] = env.to_cmd_args()
    said["variables_later"] = env.to_env_vars()
    return said


if __name__ == "__main__":
    questions = {"names": names, "call": call, "environment": environment, "recordio": recordio}
    answer = questions[sys.argv[1]](json.load(sys.stdin))
    print("\n" + json.dumps(answer, sort_keys=True))
