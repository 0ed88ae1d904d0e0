"""What sagemaker-training says of job directories. Runs under its own interpreter.

usage: driver.py < CASES > ANSWERS: one JSON object a line each, in the same order.
A case is {"env": variables}; its files lie under SAGEMAKER_BASE_DIR. Each is read in a fork of its
own: the package keeps what it knows in globals and in os.environ.
"""

import importlib
import json
import os
import sys
import traceback

# What the package writes into os.environ besides SM_*.
SIDE_VARIABLES = ("CURRENT_HOST", "SAGEMAKER_JOB_NAME", "SAGEMAKER_REGION")


def answer(environment, case: dict) -> dict:
    os.environ.clear()
    os.environ.update(case["env"])
    importlib.reload(environment)  # The module's folders are globals.
    given = case.get("given") or {}
    try:
        env = environment.Environment(**given)
        return {
            "properties": json.dumps(dict(env)),
            "env": env.to_env_vars(),
            "args": env.to_cmd_args(),
            "side": {name: os.environ[name] for name in SIDE_VARIABLES},
        }
    except Exception as error:  # Whatever it is, train would report it.
        where = traceback.extract_tb(error.__traceback__)[-1]
        return {"error": f"{type(error).__name__}: {error} ({where.name})"}


def in_fork(environment, case: dict) -> str:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        with os.fdopen(write, "w") as out:
            json.dump(answer(environment, case), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        text = answers.read()
    os.waitpid(pid, 0)
    return text


def main() -> None:
    from sagemaker_training import environment

    for line in sys.stdin:
        print(in_fork(environment, json.loads(line)), flush=True)


if __name__ == "__main__":
    main()
