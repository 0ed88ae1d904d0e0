"""What a user of muster.train does: `train.py CASE FOLDER` prints what it found as JSON, last."""

import contextlib
import io
import json
import os
import pathlib
import sys

import muster
from muster.server import ClientError
from muster.training import TrainingFailed

SOURCE = pathlib.Path(__file__).with_name("source")


def trained(folder):
    folder = pathlib.Path(folder)
    for name in ("train", "test"):
        (folder / name).mkdir()
        (folder / name / f"{name}.txt").write_text(name)
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        job = muster.train(
            script=str(SOURCE / "train.py"),
            instance_count=2,
            num_of_processes_per_host=2,
            hyperparameters={"epochs": 2, "name": "a 'b'"},
            inputs={"train": folder / "train", "test": folder / "test" / "test.txt"},
            custom_mpi_options="-verbose",
            wait=True,
        )
    model = pathlib.Path(job.download(folder / "model"))
    return {
        "status": job.status,
        "log": shown.getvalue(),
        "model": os.listdir(model),
        **json.loads((model / "found.json").read_text()),
    }


def lab(folder):
    """The Horovod lab's call."""
    job = muster.train(
        horovod_train_script="train.py",
        source_dir=SOURCE,
        instance_count=12,
        num_of_processes_per_host=1,
        horovod_hyperparameters={"epochs": 1},
        inputs={"train": SOURCE / "train.py"},
        logs=False,
    )
    model = pathlib.Path(job.download(pathlib.Path(folder, "model")))
    found = json.loads((model / "found.json").read_text())
    return {"status": job.status, "hosts": len({host for host, _ in job.logs()}), **found}


def refused(folder):
    found = {}
    try:
        muster.train(script="no.py", source_dir=folder)
    except ClientError as error:
        found["no file"] = str(error)
    pathlib.Path(folder, "seven.py").write_text("raise SystemExit(7)\n")
    try:
        muster.train("seven.py", source_dir=folder, num_of_processes_per_host=None, logs=False)
    except TrainingFailed as error:
        found["failed"] = str(error)
    job = muster.train(str(SOURCE / "patient.py"), num_of_processes_per_host=None, wait=False)
    job.stop()
    try:
        job.wait(logs=False)
    except TrainingFailed as error:
        found["stopped"] = error.description["TrainingJobStatus"]
    try:
        muster.session()
    except ClientError as error:
        found["no sagemaker"] = str(error)
    del os.environ["AWS_ENDPOINT_URL"]
    try:
        muster.train(str(SOURCE / "patient.py"))
    except ClientError as error:
        found["no server"] = str(error)
    return found


if __name__ == "__main__":
    print("\n" + json.dumps(globals()[sys.argv[1]](sys.argv[2])))
