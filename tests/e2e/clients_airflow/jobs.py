"""Airflow's tasks for SageMaker: `jobs.py CASE FOLDER` prints a JSON object as its last line.

Run by build/airflow-venv's interpreter, with the AWS_* variables of the server under test, without
a scheduler and a database.
"""

import json
import logging
import pathlib
import sys

from airflow.exceptions import AirflowException
from airflow.providers.amazon.aws.hooks.s3 import S3Hook
from airflow.providers.amazon.aws.hooks.sagemaker import SageMakerHook
from airflow.providers.amazon.aws.operators.sagemaker import SageMakerTrainingOperator
from airflow.providers.amazon.aws.sensors.sagemaker import SageMakerTrainingSensor

ROLE = "arn:aws:iam::000000000000:role/muster"
BUCKET = "airflow"


def config_of(name: str, script: str, **more) -> dict:
    """The argument `config` of operators and hooks: CreateTrainingJob's request."""
    return {
        "TrainingJobName": name,
        "RoleArn": ROLE,
        "AlgorithmSpecification": {
            "TrainingImage": "host",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["/bin/sh", "-c"],
            "ContainerArguments": [script],
        },
        "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/out"},
        "ResourceConfig": {
            "InstanceCount": 1,
            "InstanceType": "ml.c5.xlarge",
            "VolumeSizeInGB": 1,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 600},
        **more,
    }


def source_of(uri: str) -> dict:
    return {
        "S3DataSource": {
            "S3DataType": "S3Prefix",
            "S3Uri": uri,
            "S3DataDistributionType": "FullyReplicated",
        }
    }


def refusal_of(call, *arguments, **named) -> str:
    try:
        call(*arguments, **named)
    except AirflowException as error:
        return str(error)
    return "none"


def operator(folder):
    """Buckets and uploads, numbers as text, a role's name, two hosts; and the log until the end."""
    data = pathlib.Path(folder, "data.txt")
    data.write_text("some data")
    channel = source_of("s3://airflow/in/data.txt")
    config = config_of(
        "airflow-operator",
        'cat /opt/ml/input/data/train/*; echo " on $(uname -n)"; echo 7 >/opt/ml/model/found',
        S3Operations={
            "S3CreateBucket": [{"Bucket": BUCKET}],
            "S3Upload": [
                {"Path": str(data), "Bucket": BUCKET, "Key": "in/data.txt", "Tar": False},
                {"Path": str(data), "Bucket": BUCKET, "Key": "in-tar/data.tar.gz", "Tar": True},
            ],
        },
        RoleArn="muster",
        InputDataConfig=[{"ChannelName": "train", "DataSource": channel}],
        ResourceConfig={
            "InstanceCount": "2",
            "InstanceType": "ml.c5.xlarge",
            "VolumeSizeInGB": "1",
        },
        StoppingCondition={"MaxRuntimeInSeconds": "600"},
    )
    task = SageMakerTrainingOperator(
        task_id="train", config=config, aws_conn_id=None, check_interval=1
    )
    training = task.execute(context={})["Training"]
    place = training["ModelArtifacts"]["S3ModelArtifacts"].removeprefix(f"s3://{BUCKET}/")
    return {
        "status": training["TrainingJobStatus"],
        "role": training["RoleArn"],
        "keys": sorted(S3Hook(aws_conn_id=None).list_keys(BUCKET)),
        "model": place,
    }


def again(folder):
    """A name that is taken gets a time, or is an error; and an operator that does not wait."""
    S3Hook(aws_conn_id=None).create_bucket(BUCKET + "-again")
    config = config_of("airflow-again", "echo again")
    config["OutputDataConfig"]["S3OutputPath"] = f"s3://{BUCKET}-again/out"
    quick = {"aws_conn_id": None, "check_interval": 1, "print_log": False}
    names = []
    for _ in range(2):
        task = SageMakerTrainingOperator(task_id="train", config=dict(config), **quick)
        names.append(task.execute(context={})["Training"]["TrainingJobName"])
    task = SageMakerTrainingOperator(
        task_id="train", config=dict(config), action_if_job_exists="fail", **quick
    )
    hook = SageMakerHook(aws_conn_id=None)
    listed = hook.list_training_jobs(name_contains="airflow-again", StatusEquals="Completed")
    channel = {"ChannelName": "train", "DataSource": source_of("s3://airflow-no/x")}
    missing = dict(config, InputDataConfig=[channel])
    return {
        "names": names,
        "taken": refusal_of(task.execute, context={}),
        "listed": sorted(each["TrainingJobName"] for each in listed),
        "no bucket": refusal_of(hook.create_training_job, missing),
    }


def hook(folder):
    """A job that fails, and one that is stopped; a sensor for each."""
    S3Hook(aws_conn_id=None).create_bucket(BUCKET + "-hook")
    own = SageMakerHook(aws_conn_id=None)

    def create(name: str, script: str, **how):
        config = config_of(name, script)
        config["OutputDataConfig"]["S3OutputPath"] = f"s3://{BUCKET}-hook/out"
        return own.create_training_job(config, check_interval=1, **how)

    def poke(name: str) -> bool:
        return SageMakerTrainingSensor(task_id="wait", job_name=name, aws_conn_id=None).poke({})

    failed = refusal_of(create, "airflow-fails", "echo before; exit 3", print_log=False)
    create("airflow-long", "echo here; exec sleep 600", wait_for_completion=False)
    found = {
        "failed": [failed, refusal_of(poke, "airflow-fails")],
        "running": own.describe_training_job("airflow-long")["TrainingJobStatus"],
        "poked while it runs": poke("airflow-long"),
    }
    own.get_conn().stop_training_job(TrainingJobName="airflow-long")
    stopped = own.check_status(
        "airflow-long", "TrainingJobStatus", own.describe_training_job, check_interval=1
    )
    return {**found, "stopped": stopped["TrainingJobStatus"]}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    result = globals()[sys.argv[1]](sys.argv[2])
    sys.stderr.flush()
    sys.stdout.write("\n" + json.dumps(result, default=str) + "\n")
