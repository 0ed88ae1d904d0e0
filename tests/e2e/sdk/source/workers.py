"""A rank of torchrun's: says who it is; the first leaves what it was given as a model."""

import json
import os
import pathlib
import sys

rank, world = os.environ["RANK"], os.environ["WORLD_SIZE"]
sys.stdout.write(f"rank {rank} of {world}\n")
if rank == "0":
    folder = os.environ["SM_CHANNEL_TRAIN"]
    found = {
        "arguments": sys.argv[1:],
        "channels": {"train": sorted(os.listdir(folder))},
        "world": int(world),
        "master": os.environ["MASTER_ADDR"],
    }
    pathlib.Path(os.environ["SM_MODEL_DIR"], "found.json").write_text(json.dumps(found))
