"""One process on one host: what it was given, as its model."""

import json
import os
import pathlib
import sys

sys.stdout.write(f"alone on {os.environ['SM_CURRENT_HOST']}\n")
channels = {name: os.environ["SM_CHANNEL_" + name.upper()] for name in ("train",)}
found = {
    "arguments": sys.argv[1:],
    "channels": {name: sorted(os.listdir(folder)) for name, folder in channels.items()},
}
pathlib.Path(os.environ["SM_MODEL_DIR"], "found.json").write_text(json.dumps(found))
