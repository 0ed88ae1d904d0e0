"""Jobs of the examples, in the environments that `make frameworks` builds."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from lab import REPOSITORY
from test_operators import sm_on_path
from training import GUARD_SECONDS, Training, host_environment

EXAMPLES = REPOSITORY / "examples"
SECONDS = 5 * GUARD_SECONDS
RESULT = re.compile(
    r"(?:rank|worker) (\d+) of (\d+): loss ([\d.]+) to ([\d.]+), accuracy ([\d.]+)"
    r"(?:, weights (\w+))?"
)
HUSH = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    # Ranks that wait give the processor away: the test's hosts share a few.
    "OMPI_MCA_mpi_yield_when_idle": "1",
}


def interpreter(framework: str) -> pathlib.Path:
    python = REPOSITORY / "build" / "frameworks" / framework / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{python} is missing: `make frameworks` builds it")
    return python


def example_job(
    training,
    framework: str,
    entry: str,
    hosts: int = 2,
    processes: int = 1,
    channels: pathlib.Path | None = None,
    **hyperparameters,
) -> Training:
    """Starts an example, FOLDER/FILE; `channels` is a folder with one folder for each channel."""
    example = EXAMPLES / entry
    path = [interpreter(framework).parent, sm_on_path(), host_environment("")["PATH"]]
    folders = (EXAMPLES / "digits", example.parent)
    paths = [path for folder in folders for path in folder.iterdir()]
    files = {path.name: path.read_text() for path in paths if path.suffix in (".py", ".sh")}
    mpi = {"sagemaker_mpi_enabled": json.dumps(example.name.startswith(("horovod_", "mnist_")))}
    job = training(
        hosts,
        processes,
        "",
        {"sagemaker_program": json.dumps(example.name), **mpi, **hyperparameters},
        {"PATH": ":".join(map(str, path)), **HUSH},
        files,
    )
    if channels:
        lay_channels(job, channels)
    return job.start()


def lay_channels(job: Training, channels: pathlib.Path) -> None:
    """As input/data and input/config/inputdataconfig.json of every host."""
    channel = {"TrainingInputMode": "File", "S3DistributionType": "FullyReplicated"}
    told = {path.name: channel for path in channels.iterdir()}
    for host in job.hosts:
        shutil.copytree(channels, host.base / "input" / "data", dirs_exist_ok=True)
        (host.base / "input" / "config" / "inputdataconfig.json").write_text(json.dumps(told))


def make_data(folder: pathlib.Path) -> pathlib.Path:
    """The channels train and test of horovod-mnist."""
    script = EXAMPLES / "horovod-mnist" / "make_data.py"
    subprocess.run([interpreter("tf"), script, folder / "data"], check=True)
    return folder / "data"


def check_results(text: str, count: int, learned: bool = True) -> set[str]:
    """Every rank said that it learned (or but how far it came); the weights' checksums."""
    found = sorted(RESULT.findall(text), key=lambda result: int(result[0]))
    assert [int(rank) for rank, *_ in found] == list(range(count)), text
    for _, size, first, last, accuracy, _ in found:
        assert int(size) == count
        good = float(last) < float(first) / 2 and float(accuracy) > 0.9
        assert good or not learned, text
    return {weights for *_, weights in found}


def trained(job: Training, count: int, model: str, learned: bool = True) -> pathlib.Path:
    """All ranks did, with the same weights if they say them; the model file, moved away."""
    job.succeed(SECONDS)
    weights = check_results(job.story(), count, learned)
    assert len(weights) == 1, job.story()
    job.assert_quiet()
    # MXNet's rank 0 may be on any host.
    found = [path for host in job.hosts for path in (host.base / "model").glob(model)]
    assert len(found) == 1, found
    kept = job.hosts[0].folder / f"{job.key[:8]}-{model}"
    return found[0].rename(kept)


def assert_close(framework: str, one: pathlib.Path, two: pathlib.Path) -> None:
    """The model files hold the same weights within a tolerance (weights.py)."""
    words = [interpreter(framework), pathlib.Path(__file__).parent / "weights.py", one, two]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
