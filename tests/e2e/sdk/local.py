"""Local mode of SageMaker's SDK 2, as its users have it: `local.py CASE FOLDER IMAGE` trains by
docker compose and prints a JSON object as its last line. Run by build/sdk-venv's interpreter.
"""

import json
import pathlib
import secrets
import sys
import tarfile

from sagemaker.estimator import Estimator
from sagemaker.local import LocalSession

CASE, FOLDER, IMAGE = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
MPI = {
    "sagemaker_mpi_enabled": True,
    "sagemaker_mpi_num_of_processes_per_host": 2,
    "sagemaker_mpi_custom_mpi_options": "",
}
CASES = {
    "one": {"instance_count": 1},
    "two": {
        "instance_count": 2,
        "hyperparameters": MPI,
        "environment": {"MUSTER_JOB_KEY": secrets.token_hex(32)},
    },
    "fails": {"instance_count": 1, "hyperparameters": {"exit-code": 7}},
}


def fit() -> Estimator:
    session = LocalSession()
    session.config = {"local": {"local_code": True}}
    case = CASES[CASE]
    estimator = Estimator(
        image_uri=IMAGE,
        role="arn:aws:iam::000000000000:role/muster",
        instance_type="local",
        entry_point="local_train.py",
        source_dir=str(pathlib.Path(__file__).with_name("local_source")),
        output_path=f"file://{FOLDER}",
        sagemaker_session=session,
        **{**case, "hyperparameters": {"name": "a 'b'", **case.get("hyperparameters", {})}},
    )
    (FOLDER / "data").mkdir()
    (FOLDER / "data/train.txt").write_text("the data")
    estimator.fit({"train": f"file://{FOLDER}/data"})
    return estimator


found = {}
try:
    fit()
except RuntimeError as error:
    found["error"] = str(error)
for name in ("model", "output"):
    with tarfile.open(next(FOLDER.rglob(f"{name}.tar.gz"))) as tar:
        files = [member for member in tar.getmembers() if member.isfile()]
        found[name] = {file.name: tar.extractfile(file).read().decode() for file in files}
print(json.dumps(found))
