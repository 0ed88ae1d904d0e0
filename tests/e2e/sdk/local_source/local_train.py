"""Runs in the hosts of SageMaker's local mode; writes what it found."""

import argparse
import json
import os
import pathlib
import sys

parser = argparse.ArgumentParser()
parser.add_argument("--name")
parser.add_argument("--exit-code", type=int, default=0)
options, _ = parser.parse_known_args()
rank = os.environ.get("OMPI_COMM_WORLD_RANK", "0")
print(f"rank {rank} trains", flush=True)
found = {
    "name": options.name,
    "hosts": len(json.loads(os.environ["SM_HOSTS"])),
    "world": int(os.environ.get("OMPI_COMM_WORLD_SIZE", "1")),
    "data": pathlib.Path(os.environ["SM_CHANNEL_TRAIN"], "train.txt").read_text(),
}
pathlib.Path(os.environ["SM_MODEL_DIR"], f"found-{rank}.json").write_text(json.dumps(found))
pathlib.Path(os.environ["SM_OUTPUT_DATA_DIR"], f"data-{rank}").write_text("written")
sys.exit(options.exit_code)
