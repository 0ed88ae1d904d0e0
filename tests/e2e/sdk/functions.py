"""Functions as jobs, by SageMaker's SDK 2 or 3: `functions.py CASE FOLDER` prints JSON, last.

Run by build/sdk-venv's or build/sdk3-venv's interpreter, with the AWS_* variables of the server
under test; its image `functions` has that SDK, mpi4py and, if it is there, torch.
"""

import json
import pathlib
import sys
import threading

try:
    from sagemaker.core.helper.session_helper import Session
    from sagemaker.core.remote_function import RemoteExecutor, remote
    from sagemaker.mlops.workflow.function_step import step
    from sagemaker.mlops.workflow.pipeline import Pipeline, get_function_step_result
except ImportError:  # SDK 2.
    from sagemaker.remote_function import RemoteExecutor, remote
    from sagemaker.session import Session
    from sagemaker.workflow.function_step import step
    from sagemaker.workflow.pipeline import Pipeline, get_function_step_result
from botocore.exceptions import ClientError

import muster

PLACE = {"image_uri": "functions", "instance_type": "ml.c5.xlarge"}


def settings():
    return {**PLACE, "sagemaker_session": muster.session()}


def quotient(a, b):
    print("in the job:", a, "by", b, flush=True)
    return a / b


def alone(folder):
    return remote(quotient, **settings())(1, 2)


def lacking(folder):
    """A dependency that no index can give and that is not there."""
    file = pathlib.Path(folder, "requirements.txt")
    file.write_text("muster-needs-no-such-package==1.0\n")
    try:
        return remote(quotient, dependencies=str(file), **settings())(1, 2)
    except Exception as error:  # RuntimeEnvironmentError, which each SDK has elsewhere.
        return [type(error).__name__, str(error)]


def executor(folder):
    """What two functions return, and the exception of a third as if it had been raised here."""
    with RemoteExecutor(max_parallel_jobs=3, **settings()) as started:
        futures = [started.submit(quotient, 3, divisor) for divisor in (1, 2, 0)]
    results = [future.result() for future in futures[:2]]
    try:
        return futures[2].result()
    except ZeroDivisionError as error:
        return [*results, str(error)]


def torchrun(folder):
    @remote(use_torchrun=True, instance_count=2, nproc_per_node=2, **settings())
    def workers():
        import torch
        from torch import distributed

        distributed.init_process_group("gloo")
        rank = torch.tensor([distributed.get_rank()])
        distributed.all_reduce(rank)
        print(f"worker {distributed.get_rank()} of {distributed.get_world_size()}.", flush=True)
        return int(rank)

    return workers()


def resolved(value, variables):
    """A pipeline's definition, as the service that muster does not have would resolve it."""
    if isinstance(value, list):
        return [resolved(each, variables) for each in value]
    if not isinstance(value, dict):
        return value
    if "Get" in value:
        return variables[value["Get"]]
    if "Std:Join" in value:
        join = value["Std:Join"]
        return join["On"].join(map(str, resolved(join["Values"], variables)))
    return {name: resolved(each, variables) for name, each in value.items()}


def steps(folder):
    """The jobs of two steps, the second of which takes what the first one returned."""
    session = muster.session()
    first = step(quotient, name="first", **PLACE)(1, 2)
    second = step(quotient, name="second", **PLACE)(first, 2)
    pipeline = Pipeline(name="quotients", steps=[second], sagemaker_session=session)
    try:
        pipeline.upsert("arn:aws:iam::000000000000:role/muster")
    except ClientError as error:
        refused = str(error)
    definition = json.loads(pipeline.definition())
    requests = {each["Name"]: each["Arguments"] for each in definition["Steps"]}
    variables = {"Execution.PipelineExecutionId": "execution1"}
    # SDK 2 takes muster's session for one of its local mode, and asks no server of that for a job.
    reader = Session(boto_session=session.boto_session)
    results = []
    for name in ("first", "second"):
        request = resolved(requests[name], variables)
        output = f"Steps.{name}.OutputDataConfig.S3OutputPath"
        variables[output] = request["OutputDataConfig"]["S3OutputPath"]
        job = f"step-{name}"
        client = session.sagemaker_client
        arn = client.create_training_job(TrainingJobName=job, **request)["TrainingJobArn"]
        pause = threading.Event()
        for _ in range(5000):  # The other cases' jobs run first, four hosts at a time.
            found = client.describe_training_job(TrainingJobName=job)
            if found["TrainingJobStatus"] in ("Completed", "Failed"):
                break
            pause.wait(0.1)
        ran = [{"StepName": name, "Metadata": {"TrainingJob": {"Arn": arn}}}]
        results.append(get_function_step_result(name, ran, "execution1", reader))
    return {"refused": refused, "results": results}


if __name__ == "__main__":
    print("\n" + json.dumps(globals()[sys.argv[1]](sys.argv[2])))
