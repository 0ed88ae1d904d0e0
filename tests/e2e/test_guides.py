"""Lines of the guides, as printed, on hosts of this machine."""

import pytest

from fit import GUARD_SECONDS
from lab import VENV

SUM = """
import os, sys
from mpi4py import MPI
total = MPI.COMM_WORLD.allreduce(1)
level = os.environ.get("TF_LOG_LEVEL")
sys.stdout.write(f"ranks {total} args {sys.argv[1:]} level {level}\\n")  # One write: mpirun mixes.
"""
# The bytes of amazon's walk-through of Horovod on SageMaker, but for its comments.
BY_HAND = """mpirun -np 4 -H $SM_CURRENT_HOST:$SM_NUM_GPUS \\
      -bind-to none -map-by slot \\
      -x NCCL_DEBUG=INFO -x LD_LIBRARY_PATH -x PATH \\
      -mca pml ob1 -mca btl ^openib \\
      python train.py
"""


@pytest.fixture
def entry(machine):
    """Runs a job whose entry point is a shell script with train.py beside it."""

    def run(line: str, *words, code: int = 0):
        (machine.source / "train.py").write_text(SUM)
        script = machine.source / "entrypoint.sh"
        script.write_text("#!/bin/sh\n" + line)
        script.chmod(0o755)
        source = ("--source-dir", machine.source, "--output", machine.output)
        process = machine.sm("fit", script.name, *source, "--python", VENV / "bin/python", *words)
        assert process.wait(GUARD_SECONDS) == code, process.text
        return process

    return run


def test_the_operators_entry_point(entry):
    line = (
        "sm mpirun --process_per_hosts 3 --custom_mpi_options '-X TF_LOG_LEVEL=10' "
        "python train.py --learning-rate 10\n"
    )
    said = entry(line, "--hosts", 2).out.decode()
    assert said.count("ranks 6 args ['--learning-rate', '10'] level 10") == 6, said


@pytest.mark.parametrize("count", ["-np 3", "-n 3", "--num_processes 3"])
def test_a_number_for_the_whole_job_is_taken_as_mpirun_takes_it(entry, count):
    said = entry(f"sm mpirun {count} python train.py\n", "--hosts", 2).out.decode()
    assert said.count("ranks 3 args []") == 3, said


def test_mpirun_by_hand_runs_as_the_hosts_root(entry):
    said = entry(BY_HAND.replace("$SM_CURRENT_HOST:$SM_NUM_GPUS", "localhost:4")).out.decode()
    assert said.count("ranks 4 args []") == 4, said


def test_mpirun_by_hand_for_gpus_that_are_not_there_gets_a_hint(entry):
    said = entry(BY_HAND, code=1).text
    assert "\n  hint: mpirun starts at most N processes for -H HOST:N" in said, said


def test_torchrun_standalone_is_a_job_of_one_host(entry):
    said = entry("sm torchrun --standalone train.py\n", "--hosts", 2, code=1).text
    want = "--standalone supports only one host, but this job has 2; omit this option"
    assert f"sm torchrun: error: {want}" in said, said
