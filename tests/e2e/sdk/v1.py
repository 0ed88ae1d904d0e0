"""What a user of SageMaker's SDK 1.72.1 does: `v1.py CASE FOLDER` prints JSON as its last line.

Run by build/sdk1-venv's interpreter (Python 3.8), with the AWS_* variables of the server under
test.
"""

import json
import os
import pathlib
import sys
import tarfile
import threading

import sagemaker
from sagemaker.tensorflow import TensorFlow

import muster

SOURCE = str(pathlib.Path(__file__).with_name("source"))


def mpi(folder):
    """The guides' names of that time."""
    session = muster.session()
    file = pathlib.Path(folder, "train.txt")
    file.write_text("train")
    estimator = TensorFlow(
        entry_point="train.py",
        source_dir=SOURCE,
        role=sagemaker.get_execution_role(session),
        train_instance_count=2,
        train_instance_type="ml.c5.xlarge",
        framework_version="1.15.2",
        py_version="py3",
        script_mode=True,
        distributions={
            "mpi": {
                "enabled": True,
                "processes_per_host": 2,
                "custom_mpi_options": "-verbose --NCCL_DEBUG=INFO",
            }
        },
        hyperparameters={"epochs": 2},
        sagemaker_session=session,
    )
    estimator.fit({"train": session.upload_data(str(file), key_prefix="data")}, wait=False)
    name = estimator.latest_training_job.name
    pause = threading.Event()
    for _ in range(600):
        job = session.describe_training_job(name)
        if job["TrainingJobStatus"] in ("Completed", "Failed", "Stopped"):
            break
        pause.wait(0.1)
    found = {"status": job["TrainingJobStatus"], "bucket": session.default_bucket()}
    if found["status"] != "Completed":
        return {**found, "reason": job.get("FailureReason")}
    bucket, _, key = estimator.model_data[len("s3://") :].partition("/")
    model = str(pathlib.Path(folder, "model.tar.gz"))
    session.boto_session.client("s3").download_file(bucket, key, model)
    with tarfile.open(model) as tar:
        return {**found, **json.load(tar.extractfile("found.json"))}


def asked(folder):
    """What the expressions in EXPRESSIONS are, line by line, in a notebook's first cell."""
    names = {"muster": muster, "get_execution_role": sagemaker.get_execution_role}
    return [eval(line, names) for line in os.environ["EXPRESSIONS"].splitlines()]


if __name__ == "__main__":
    print("\n" + json.dumps(globals()[sys.argv[1]](sys.argv[2])))
