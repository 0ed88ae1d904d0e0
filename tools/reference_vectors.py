#!/usr/bin/env python3
"""Records how sagemaker-training reads job directories, for the unit test of `sm env`.

usage: build/reference-venv/bin/python tools/reference_vectors.py [--check]

Writes tests/data/reference_environment.jsonl: one case of tests/e2e/reference/cases.py a line, with
the job's files and the package's answer. `--check` writes nothing and fails where the installed
package answers differently.

A line has "name"; "config" and "tools" (file name: text, or {"hex": bytes}); "env"; "given" (what
`sm env --stdin` reads, "" for nothing); "reference" (the answer, or {"error": text}); "differs"
(the known differences: name: reason). In the text of a line, @BASE@ is the job's folder and
@REPEAT 300 x@ is x, 300 times. The package is told that the machine has one processor; record on
a machine without GPUs.
"""

import importlib
import json
import multiprocessing
import os
import pathlib
import re
import sys
import tempfile
import traceback

ROOT = pathlib.Path(__file__).parent.parent
RECORDED = ROOT / "tests" / "data" / "reference_environment.jsonl"
# What the package writes into os.environ besides SM_*.
SIDE_VARIABLES = ("CURRENT_HOST", "SAGEMAKER_JOB_NAME", "SAGEMAKER_REGION")
LONG_RUN = re.compile(r"([^@])\1{99,}")

sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from reference.cases import CASES, Case, lay_out  # noqa: E402


def answer(environment, env: dict, given: dict) -> dict:
    os.environ.clear()
    os.environ.update(env)
    importlib.reload(environment)  # The module's folders are globals.
    try:
        read = environment.Environment(**given)
        return {
            "properties": json.dumps(dict(read)),
            "env": read.to_env_vars(),
            "args": read.to_cmd_args(),
            "side": {name: os.environ[name] for name in SIDE_VARIABLES},
        }
    except Exception as error:  # Whatever it is, train would report it.
        where = traceback.extract_tb(error.__traceback__)[-1]
        return {"error": f"{type(error).__name__}: {error} ({where.name})"}


def answer_in_fork(environment, env: dict, given: dict) -> dict:
    """The package keeps what it knows in globals and in os.environ."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        with os.fdopen(write, "w") as out:
            json.dump(answer(environment, env, given), out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answers:
        text = answers.read()
    os.waitpid(pid, 0)
    return json.loads(text)


def content(text) -> object:
    return {"hex": text.hex()} if isinstance(text, bytes) else text


def recorded(environment, case: Case, base: pathlib.Path) -> str:
    lay_out(case, base)
    env = {
        "PATH": f"{base}/tools:/usr/bin:/bin",
        "HOME": str(base / "home"),
        "SAGEMAKER_BASE_DIR": str(base),
        **case.env,
    }
    line = {
        "name": case.name,
        "config": {name: content(text) for name, text in case.config().items()},
        "tools": case.tools,
        "env": case.env,
        "given": json.dumps(case.given) if case.given else "",
        "reference": answer_in_fork(environment, env, case.given),
        "differs": case.differs,
    }
    text = json.dumps(line)
    assert "@BASE@" not in text and "@REPEAT" not in text, case.name
    text = text.replace(str(base), "@BASE@")
    return LONG_RUN.sub(lambda run: f"@REPEAT {len(run[0])} {run[1]}@", text)


def lines() -> list[str]:
    assert len({case.name for case in CASES}) == len(CASES), "two cases have the same name"
    multiprocessing.cpu_count = lambda: 1
    with tempfile.TemporaryDirectory() as top:
        os.environ["SAGEMAKER_BASE_DIR"] = f"{top}/import"
        from sagemaker_training import environment

        folder = pathlib.Path(top)
        return [
            recorded(environment, case, folder / f"case-{number}")
            for number, case in enumerate(CASES)
        ]


def main() -> int:
    now = lines()
    if "--check" not in sys.argv[1:]:
        RECORDED.write_text("".join(line + "\n" for line in now))
        return 0
    before = RECORDED.read_text().splitlines()
    names = [json.loads(line)["name"] for line in before]
    changed = [case.name for case, line in zip(CASES, now) if line not in before]
    changed += sorted(set(names) - {case.name for case in CASES})
    for name in changed:
        print(f"{RECORDED.name}: {name}: the answer or the case changed")
    if not changed and now != before:
        print(f"{RECORDED.name}: the order of the cases changed")
    return 0 if now == before else 1


if __name__ == "__main__":
    sys.exit(main())
