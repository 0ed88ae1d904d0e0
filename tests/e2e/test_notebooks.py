"""The notebooks of examples/notebooks, run from top to bottom by a kernel against `sm server`.

`make test-sdk` runs them, in the environment of SageMaker's SDK 2.
"""

import json
import re
import shutil

import pytest

from frameworks import interpreter as framework
from lab import REPOSITORY, SM, VENV
from process import Process
from sm_server import SmServer
from test_server_sdk import HERE, interpreter

pytestmark = pytest.mark.sdk

EXAMPLES = REPOSITORY / "examples"
NOTEBOOK_SECONDS = 600
BUCKET = "sagemaker-us-east-1-000000000000"
ROLE = "arn:aws:iam::000000000000:role/muster"
IN_SUBNET = "{'SecurityGroupIds': ['sg-0a1b2c3d'], 'Subnets': ['subnet-0a1b2c3d']}"
# In a /opt of its own: what --notebook writes there is the user's machine's.
START = """
mkdir work && mount -t tmpfs none work && mkdir work/upper work/work
mount -t overlay -o "lowerdir=/opt,upperdir=work/upper,workdir=work/work" overlay /opt
lines=$("$SM" env --client --write sagemaker.yaml --notebook) && eval "$lines" && exec "$@"
"""


def run(folder, name: str, python) -> dict[str, str]:
    """What the notebook's cells showed."""
    if not (REPOSITORY / "build" / "sdk-venv" / ".notebooks-done").exists():
        pytest.skip("no kernel: make build/sdk-venv/.notebooks-done")
    words = [interpreter("sdk-venv"), HERE / "notebook.py", folder / "examples/notebooks" / name]
    shutil.copytree(EXAMPLES, folder / "examples", ignore=shutil.ignore_patterns("data", "out*"))
    jobs = {"images": {"*/tensorflow-training:*": {"python": str(python)}}}
    with SmServer(folder, jobs=jobs) as server:
        python_path = str(REPOSITORY / "python" / "src")
        env = {**server.env(), "SM": str(SM), "PYTHONPATH": python_path, "HOME": str(folder)}
        process = Process(["unshare", "--mount", "sh", "-euc", START, "sh", *words], env, folder)
        try:
            assert process.wait(NOTEBOOK_SECONDS) == 0, process.text
        finally:
            process.end()
    return json.loads(process.out.splitlines()[-1])


def test_the_notebooks_are_committed_without_what_they_showed():
    names = sorted(path.name for path in (EXAMPLES / "notebooks").glob("*.ipynb"))
    assert names == ["horovod-script-mode.ipynb", "mpi.ipynb"]
    for name in names:
        for cell in json.loads((EXAMPLES / "notebooks" / name).read_text())["cells"]:
            assert not cell.get("outputs") and cell.get("execution_count") is None, cell["id"]


def test_the_mpi_notebook(folder):
    """SageMaker's own session and role: nothing in it is muster's."""
    found = run(folder, "mpi.ipynb", VENV / "bin" / "python")
    assert found["session"].split()[-2:] == [ROLE, BUCKET]
    assert found["data"].split()[-1] == f"s3://{BUCKET}/mpi-notebook/numbers"
    for rank in range(4):
        host = f"algo-{rank // 2 + 1}"
        assert found["fit"].count(f"hello from rank {rank} of 4 on {host}: 400 numbers") == 1
    assert " Completed - " in found["fit"]
    assert found["model"].splitlines()[-1] == "{'ranks': 4, 'numbers': 1600, 'mean': 1599.0}"
    assert re.search(r"\bmean +1599\.0$", found["metrics"], re.M), found["metrics"]
    assert IN_SUBNET in found["vpc"]
    assert found["wait"].count("Completed 1599.0") == 2
    for rank in range(8):
        assert found["logs"].count(f"ahoy from rank {rank} of 8 on ") == 1


@pytest.mark.framework
def test_the_horovod_notebook(folder):
    """Keras and Horovod learn, small and then on two hosts."""
    found = run(folder, "horovod-script-mode.ipynb", framework("tf"))
    assert found["session"].split()[-2:] == [ROLE, BUCKET]
    assert found["upload"].count(f"s3://{BUCKET}/horovod-notebook/") == 2
    for rank in range(2):
        assert f"rank {rank} of 2: loss " in found["fit"]
    assert " Completed - " in found["fit"]
    assert re.fullmatch(r"\[.*'model.h5'.*\] True", found["model"].strip()), found["model"]
    assert re.search(r"\baccuracy +(0\.[89]\d*|1\.0)$", found["metrics"], re.M), found["metrics"]
    status, accuracy = found["wait"].split()[-2:]
    assert status == "Completed" and float(accuracy) > 0.9
    assert found["attach"].strip().endswith("/output/model.tar.gz")
    for rank in range(4):
        assert f"rank {rank} of 4: loss " in found["logs"]
    assert IN_SUBNET in found["vpc"] and found["vpc"].split()[-1] == "Stopped"
