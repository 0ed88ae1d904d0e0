"""What a user of SageMaker's SDK 3 does: `v3.py CASE FOLDER` prints a JSON object as its last line.

Run by build/sdk3-venv's interpreter, with the AWS_* variables of the server under test.
"""

import json
import logging
import pathlib
import sys
import tarfile

from sagemaker.core.helper.session_helper import Session
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, InputData, SourceCode
from sagemaker.train.distributed import MPI, Torchrun

import muster

SOURCE = str(pathlib.Path(__file__).with_name("source"))
ROLE = "arn:aws:iam::000000000000:role/muster"


def trained(folder, entry, distributed, instances, session, image="host"):
    logging.basicConfig(level=logging.INFO)  # Where this SDK shows a job's lines.
    file = pathlib.Path(folder, "train.txt")
    file.write_text("train")
    trainer = ModelTrainer(
        sagemaker_session=session,
        role=ROLE,
        training_image=image,
        # The SDK's names end in the second: cases that run at once need names of their own.
        base_job_name=entry.removesuffix(".py"),
        source_code=SourceCode(source_dir=SOURCE, entry_script=entry),
        distributed=distributed,
        compute=Compute(instance_type="ml.c5.xlarge", instance_count=instances),
        hyperparameters={"epochs": 2, "name": "a b"},
    )
    trainer.train([InputData(channel_name="train", data_source=str(file))])
    job = trainer._latest_training_job
    url = job.model_artifacts.s3_model_artifacts
    bucket, _, key = url.removeprefix("s3://").partition("/")
    model = pathlib.Path(folder, "model.tar.gz")
    session.s3_resource.Bucket(bucket).download_file(key, str(model))
    with tarfile.open(model) as tar:
        found = json.load(tar.extractfile("found.json"))
    return {"status": job.training_job_status, **found}


def basic(folder):
    """The SDK's own session with `sm env --client`'s file."""
    return trained(folder, "alone.py", None, 1, Session())


def mpi(folder):
    return trained(folder, "train.py", MPI(process_count_per_node=2), 2, muster.session())


def torchrun(folder):
    distributed = Torchrun(process_count_per_node=2)
    return trained(folder, "workers.py", distributed, 2, muster.session(), "torch")


if __name__ == "__main__":
    print("\n" + json.dumps(globals()[sys.argv[1]](sys.argv[2])))
