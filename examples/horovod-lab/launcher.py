#!/usr/bin/env python3
"""Starts a Horovod job as one call: `train(horovod_train_script="train_hvd.py", ...)`.

The hosts are `sm fit`'s: containers on this machine, of the image that the Dockerfile beside this
file makes, or of the machine's own programs with muster's `train` as the first.
"""

import argparse
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class TrainingFailed(RuntimeError):
    """The job did not complete. `exit_code` is that of `sm fit`: 1 is the script's own failure."""

    def __init__(self, exit_code, output):
        super().__init__(f"the training job ended with {exit_code}; what it left: {output}")
        self.exit_code = exit_code


def train(
    horovod_train_script,
    instance_count=1,
    num_of_processes_per_host=1,
    *,
    hyperparameters=None,
    inputs=None,
    mpi_options="",
    output="output",
    source_dir=HERE,
    python=None,
    image=None,
    sm="sm",
):
    """Trains on `instance_count` hosts; the folder with the model when that is done.

    `hyperparameters` become arguments of the script, `inputs` (name: folder) its channels;
    `output` is a folder that is new or empty. Hosts are made of `image`, or of this machine with
    the interpreter `python`. Raises TrainingFailed.
    """
    command = [sm, "fit", horovod_train_script, "--source-dir", source_dir, "--mpi"]
    command += ["--hosts", instance_count, "--processes-per-host", num_of_processes_per_host]
    command += ["--output", output]
    if image:
        command += ["--image", image]
    if python:
        command += ["--python", python]
    if mpi_options:
        command += ["--custom-mpi-options", mpi_options]
    for name, value in (hyperparameters or {}).items():
        command += ["--hyperparameter", f"{name}={json.dumps(value)}"]
    for name, folder in (inputs or {}).items():
        command += ["--input", f"{name}={folder}"]
    done = subprocess.run([str(word) for word in command], check=False)
    if done.returncode != 0:
        raise TrainingFailed(done.returncode, output)
    return pathlib.Path(output, "model")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("script", nargs="?", default="train_hvd.py")
    parser.add_argument("--instance-count", type=int, default=2)
    parser.add_argument("--num-of-processes-per-host", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--data", default="data", help="folder with train/ and test/")
    parser.add_argument("--output", default="output")
    parser.add_argument("--python", help="the interpreter that has Horovod")
    parser.add_argument("--image", help="an image of this machine, by sm image import or pull")
    parser.add_argument("--sm", default="sm", help="muster's program")
    args = parser.parse_args()
    try:
        model = train(
            horovod_train_script=args.script,
            instance_count=args.instance_count,
            num_of_processes_per_host=args.num_of_processes_per_host,
            hyperparameters={"epochs": args.epochs},
            inputs={name: pathlib.Path(args.data, name) for name in ("train", "test")},
            # Ranks that wait give the processor away: here they are more than there are cores.
            mpi_options="--mca mpi_yield_when_idle 1",
            output=args.output,
            python=args.python,
            image=args.image,
            sm=args.sm,
        )
    except TrainingFailed as failed:
        print(failed, file=sys.stderr)
        return failed.exit_code
    print("model:", *sorted(model.iterdir()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
