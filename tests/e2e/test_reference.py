"""Job directories through sagemaker-training and through muster, side by side.

src/host/env/reference_test.cc compares how they are read, over answers that
tools/reference_vectors.py recorded.
"""

import json
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

from lab import REPOSITORY, SM
from process import Process
from reference.cases import CASES, Case, hosts, lay_out
from reference.ends import ENDS, End
from training import train_program

REFERENCE = REPOSITORY / "build" / "reference-venv"
RECORDED = REPOSITORY / "tests" / "data" / "reference_environment.jsonl"
GUARD_SECONDS = 120
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

needs_reference = pytest.mark.skipif(
    not (REFERENCE / "bin" / "python").exists(),
    reason="build/reference-venv is missing: `make build/reference-venv/.done`",
)


def sm_env(case: dict, base: pathlib.Path) -> dict:
    """What `sm env` prints, in the form of the recorded answers."""
    env = {
        "PATH": f"{base}/tools:{SYSTEM_PATH}",
        "SAGEMAKER_BASE_DIR": str(base),
        "MUSTER_NUM_CPUS": "1",
        **case["env"],
    }

    def ask(form: str) -> str:
        stdin = ["--stdin"] if case["given"] else []
        done = subprocess.run(
            [SM, "env", form, *stdin],
            env=env,
            input=case["given"],
            capture_output=True,
            text=True,
            timeout=GUARD_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise ValueError(done.returncode, done.stdout, done.stderr)
        return done.stdout.rstrip("\n")

    return {
        "properties": ask("--properties"),
        "env": json.loads(ask("--to-env-vars")),
        "args": json.loads(ask("--to-cmd-args")),
    }


def recorded(name: str, base: pathlib.Path) -> dict:
    """A case of src/host/env/reference_test.cc, which compares all of them, laid out in `base`."""
    lay_out(next(case for case in CASES if case.name == name), base)
    lines = map(json.loads, RECORDED.read_text().replace("@BASE@", str(base)).splitlines())
    return next(line for line in lines if line["name"] == name)


@pytest.mark.parametrize(
    "name", ["all parameters of the platform", "two groups with MPI", "everything given"]
)
def test_sm_env_prints_what_the_reference_answers(tmp_path, name):
    case = recorded(name, tmp_path / "ml")
    reference = case["reference"]
    del reference["side"]
    assert sm_env(case, tmp_path / "ml") == reference


def test_sm_env_refuses_a_broken_job_in_one_line(tmp_path):
    case = recorded("broken hyperparameters.json", tmp_path / "ml")
    with pytest.raises(ValueError) as refused:
        sm_env(case, tmp_path / "ml")
    code, out, error = refused.value.args
    assert (code, out, error.count("\n")) == (1, "", 1), error
    assert "input/config/hyperparameters.json" in error


@needs_reference
@pytest.mark.deep
def test_the_installed_package_answers_as_recorded():
    words = [REFERENCE / "bin" / "python", REPOSITORY / "tools" / "reference_vectors.py", "--check"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=GUARD_SECONDS, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# --- how a job ends ---

SIDES = ("reference", "muster")
# The names that variables had before SM_, as docs/protocols/environment.md lists them.
ELDER = re.compile(r"SAGEMAKER_CHANNELS|SAGEMAKER_CHANNEL_.*|SAGEMAKER_MODEL_DIR|MODEL_DIR", re.S)
# What the package itself puts there, or the interpreter that starts it.
OWN_VARIABLES = ("PYTHONPATH", "PYTHONUNBUFFERED", "LC_CTYPE", "_", "PWD", "OLDPWD", "SHLVL")
FIELDS = re.compile(
    r'(?P<cls>\w+):\nExitCode (?P<ExitCode>\S+)\nErrorMessage "(?P<ErrorMessage>.*?)"'
    r'(\nExtraInfo "(?P<ExtraInfo>.*)")?\nCommand "(?P<Command>.*)"\s*$',
    re.S,
)


def failure_parts(text: str) -> dict:
    match = FIELDS.match(text)
    if match:
        parts = match.groupdict()
        return {"class": parts.pop("cls"), **parts}
    kind, _, rest = text.partition("\n")
    if kind.startswith("Framework Error:"):
        return {"class": "Framework Error", "text": rest}
    return {"class": "ClientError", "text": text}


def submitted(end: End, base: pathlib.Path) -> str:
    """Where the source of a case lies."""
    names = {"folder": "source", "archive": "source.tar.gz", "file": "source/train.py"}
    return str(base / names.get(end.submit, "none"))


def run_to_end(end: End, side: str, folder: pathlib.Path) -> dict:
    """Both sides in the same folder, one after the other, so that every path is the same."""
    base = folder / "ml"
    shutil.rmtree(base, ignore_errors=True)
    values = end.hyperparameters
    if end.program is not None and isinstance(values, dict):
        values = {**values, "sagemaker_program": json.dumps(end.program)}
    if end.submit:
        values = {**values, "sagemaker_submit_directory": json.dumps(submitted(end, base))}
    case = Case(
        end.name,
        values,
        end.resources or hosts("localhost", current="localhost"),
        env=end.env,
        without=end.without,
    )
    lay_out(case, base)
    for name, text in end.files.items():
        path = base / ("source" if end.submit else "code") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (base / "output").mkdir()
    if end.submit == "archive":
        with tarfile.open(submitted(end, base), "w:gz") as archive:
            archive.add(base / "source", ".")
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    env = {
        "HOME": str(base / "home"),
        "LANG": "C.UTF-8",
        "SAGEMAKER_BASE_DIR": str(base),
        **case.env,
        "REPORT": str(report),
        "PATH": f"{base}/tools:{REFERENCE}/bin:{SYSTEM_PATH}",
    }
    program = REFERENCE / "bin" / "train" if side == "reference" else train_program()
    process = Process([program], env=env, cwd=folder, own_session=True)
    code = process.wait(GUARD_SECONDS)
    failure = base / "output" / "failure"
    found = {
        "exit": code,
        "success": (base / "output" / "success").exists(),
        "failure": failure.exists(),
        **(failure_parts(failure.read_text()) if failure.exists() else {}),
        "said": process.text[-3000:],
    }
    if report.exists():
        given = json.loads(report.read_text())
        found["argv"] = given["argv"]
        found["variables"] = {
            name: value
            for name, value in given["variables"].items()
            if name not in OWN_VARIABLES and not (side == "muster" and ELDER.fullmatch(name))
        }
    return found


@needs_reference
@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name)
def test_a_job_ends_the_same(folder, end):
    reference, ours = (run_to_end(end, side, folder) for side in SIDES)
    both = [side.pop("variables", None) for side in (reference, ours)]
    if None not in both:
        for name in both[0].keys() | both[1].keys():
            for side, variables in zip((reference, ours), both):
                side[f"variables.{name}"] = variables.get(name)
    names = (reference.keys() | ours.keys()) - {"said"}
    found = {name for name in names if reference.get(name) != ours.get(name)}
    assert found == set(end.differs), json.dumps(
        {name: [reference.get(name), ours.get(name)] for name in sorted(found | {"said"})}, indent=1
    )
