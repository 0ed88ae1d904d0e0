"""What a user of SageMaker's SDK 2 does: `v2.py CASE FOLDER` prints a JSON object as its last line.

Run by build/sdk-venv's interpreter, with the AWS_* variables of the server under test.
"""

import contextlib
import io
import json
import pathlib
import sys
import tarfile
import threading

import sagemaker
from botocore.exceptions import ClientError
from sagemaker.analytics import TrainingJobAnalytics
from sagemaker.chainer import Chainer
from sagemaker.pytorch import PyTorch
from sagemaker.sklearn import SKLearn
from sagemaker.tensorflow import TensorFlow

import muster

SOURCE = str(pathlib.Path(__file__).with_name("source"))
ROLE = "arn:aws:iam::000000000000:role/muster"
MPI = {"mpi": {"enabled": True, "processes_per_host": 2, "custom_mpi_options": "-verbose"}}
COMMON = {
    "source_dir": SOURCE,
    "instance_count": 3,
    "hyperparameters": {"epochs": 2, "name": "a 'b'"},
}


def uploaded(session, folder):
    """The channels, as the notebooks make them."""
    inputs = {}
    for name in ("train", "test"):
        file = pathlib.Path(folder, f"{name}.txt")
        file.write_text(name)
        inputs[name] = session.upload_data(str(file), key_prefix=f"data/{name}")
    return inputs


def found_in(estimator, session, folder):
    session.download_data(folder, *place_of(estimator.model_data))
    with tarfile.open(pathlib.Path(folder, "model.tar.gz")) as tar:
        return json.load(tar.extractfile("found.json"))


def place_of(url):
    bucket, _, key = url.removeprefix("s3://").partition("/")
    return bucket, key


def logs_of(session, job):
    """What SageMaker's Session.logs_for_job prints."""
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        session.logs_for_job(job)
    return shown.getvalue()


def tensorflow(folder):
    """muster's session; the image's name; the local instance type."""
    session = muster.session()
    estimator = TensorFlow(
        entry_point="train.py",
        role=sagemaker.get_execution_role(session),
        image_uri="host",
        instance_type="local",
        distribution=MPI,
        sagemaker_session=session,
        **COMMON,
    )
    estimator.fit(uploaded(session, folder))
    return {"model_data": estimator.model_data, **found_in(estimator, session, folder)}


def pytorch(folder):
    """SageMaker's own session with `sm env --client`'s file; AWS's name of the image."""
    session = sagemaker.Session()
    estimator = PyTorch(
        entry_point="train.py",
        role=ROLE,
        framework_version="2.1",
        py_version="py310",
        instance_type="ml.c5.xlarge",
        distribution=MPI,
        metric_definitions=[{"Name": "loss", "Regex": "loss=([0-9.]+);"}],
        sagemaker_session=session,
        subnets=["subnet-01"],
        security_group_ids=["sg-01"],
        tags=[{"Key": "team", "Value": "blue"}],
        **COMMON,
    )
    estimator.fit(uploaded(session, folder))
    job = estimator.latest_training_job.name
    frame = TrainingJobAnalytics(job, metric_names=["loss"], sagemaker_session=session).dataframe()
    attached = PyTorch.attach(job, sagemaker_session=session)
    description = session.describe_training_job(job)
    return {
        "image": estimator.training_image_uri(),
        "bucket": session.default_bucket(),
        "model_data": estimator.model_data,
        "attached": [attached.model_data, attached.hyperparameters()["name"]],
        "losses": frame["value"].tolist(),
        "final": [[m["MetricName"], m["Value"]] for m in description["FinalMetricDataList"]],
        "logs": logs_of(session, job),
        **found_in(estimator, session, folder),
    }


def fitted(estimator, session, folder):
    """A fit that spares the SDK's pauses: started, then looked at until its end."""
    estimator.fit(uploaded(session, folder), wait=False)
    name = estimator.latest_training_job.name
    ends = ("Completed", "Failed", "Stopped")
    until(lambda: session.describe_training_job(name)["TrainingJobStatus"] in ends)
    logs = logs_of(session, name)
    return {"logs": logs, **found_in(estimator, session, folder)}


def chainer(folder):
    """ChainerMN's own names for MPI, on two hosts."""
    session = muster.session()
    estimator = Chainer(
        entry_point="train.py",
        role=ROLE,
        framework_version="5.0.0",
        py_version="py3",
        instance_type="ml.c5.xlarge",
        use_mpi=True,
        num_processes=3,
        process_slots_per_host=2,
        additional_mpi_options="-x NCCL_DEBUG=WARN",
        sagemaker_session=session,
        **{**COMMON, "instance_count": 2},
    )
    return fitted(estimator, session, folder)


def sklearn(folder):
    """One host and no distribution, as scikit-learn's guide has it."""
    session = muster.session()
    estimator = SKLearn(
        entry_point="alone.py",
        role=sagemaker.get_execution_role(session),
        framework_version="1.0-1",
        instance_type="ml.c5.xlarge",
        sagemaker_session=session,
        **{**COMMON, "instance_count": 1},
    )
    return fitted(estimator, session, folder)


def patient(session):
    estimator = PyTorch(
        entry_point="patient.py",
        role=ROLE,
        image_uri="host",
        instance_type="ml.c5.xlarge",
        sagemaker_session=session,
        **{**COMMON, "instance_count": 2},
    )
    estimator.fit(wait=False)
    return estimator


def until(condition):
    pause = threading.Event()
    for _ in range(600):
        if condition():
            return
        pause.wait(0.1)
    raise AssertionError("nothing in 60 s")


def stop(folder):
    """Started without waiting, seen, stopped, attached."""
    session = muster.session(default_bucket="another-bucket")
    estimator = patient(session)
    job = estimator.latest_training_job
    until(lambda: logs_of(session, job.name).count("here I wait") == 2)
    running = session.describe_training_job(job.name)
    job.stop()
    until(lambda: job.describe()["TrainingJobStatus"] == "Stopped")
    try:
        job.stop()
    except ClientError as error:
        again = str(error)
    session.download_data(folder, *place_of(estimator.model_data))
    with tarfile.open(pathlib.Path(folder, "model.tar.gz")) as tar:
        names = tar.getnames()
    return {
        "again": again,
        "running": [running["TrainingJobStatus"], running["SecondaryStatus"]],
        "transitions": [t["Status"] for t in job.describe()["SecondaryStatusTransitions"]],
        "model": names,
        "model_data": estimator.model_data,
    }


if __name__ == "__main__":
    print("\n" + json.dumps(globals()[sys.argv[1]](sys.argv[2])))
