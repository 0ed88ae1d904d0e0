"""The host's name as the job knows it: `call(40)` is "algo-1".

The reference's module of this name is also a library that ranks preload; muster's `sm` brings its
own where one is needed.
"""

import json

_RESOURCE_CONFIG = "/opt/ml/input/config/resourceconfig.json"


def call(length):
    """`current_host` of resourceconfig.json, as gethostname(2) would say it in `length` bytes."""
    with open(_RESOURCE_CONFIG) as file:
        name = json.load(file)["current_host"]
    return name[: max(0, length - 1)]
