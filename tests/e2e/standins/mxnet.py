"""What sagemaker_mxnet_container needs of MXNet: that importing it under DMLC_ROLE is a server.

A server or scheduler leaves word that it is there, and stays until it is killed, as the real one.
"""

import os
import signal

__version__ = "0.0-standin"

if os.environ.get("DMLC_ROLE") in ("server", "scheduler"):
    wanted = ("DMLC_NUM_WORKER", "DMLC_NUM_SERVER", "DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT")
    values = " ".join(os.environ[name] for name in wanted)
    with open("/opt/ml/output/data/" + os.environ["DMLC_ROLE"], "w") as file:
        file.write(values)
    while True:
        signal.pause()
