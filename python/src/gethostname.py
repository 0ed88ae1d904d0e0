"""The host's name in the job: `call(40)` returns "algo-1".

In sagemaker-training, this module is also a library that ranks preload. `sm` contains its own
library and preloads it if necessary.
"""

import json

_RESOURCE_CONFIG = "/opt/ml/input/config/resourceconfig.json"


def call(length):
    """Returns `current_host` of resourceconfig.json, cut to `length` bytes as in gethostname(2)."""
    with open(_RESOURCE_CONFIG) as file:
        name = json.load(file)["current_host"]
    return name[: max(0, length - 1)]
