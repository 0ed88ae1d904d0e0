"""Says that it is there, then waits for SIGTERM and leaves a model."""

import os
import pathlib
import signal
import sys


def stopped(*_):
    pathlib.Path(os.environ["SM_MODEL_DIR"], "stopped").write_text("in good order")
    sys.exit(0)


signal.signal(signal.SIGTERM, stopped)
sys.stdout.write("here I wait\n")
sys.stdout.flush()
while True:
    signal.pause()
