"""Job directories through sagemaker-training and through muster, side by side."""

import json
import pathlib
import re
import shutil
import subprocess
import tarfile

import pytest

from lab import REPOSITORY, SM
from process import Process
from reference.cases import CASES, Case, hosts
from reference.ends import ENDS, End
from training import train_program

REFERENCE = REPOSITORY / "build" / "reference-venv"
DRIVER = pathlib.Path(__file__).parent / "reference" / "driver.py"
GUARD_SECONDS = 120
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

needs_reference = pytest.mark.skipif(
    not (REFERENCE / "bin" / "python").exists(),
    reason="build/reference-venv is missing: `make build/reference-venv/.done`",
)


def write(path: pathlib.Path, content) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content if isinstance(content, str) else json.dumps(content))


def lay_out(case: Case, base: pathlib.Path) -> dict[str, str]:
    """Writes the files of a case; the environment of both sides."""
    resources = hosts("algo-1") if case.resources is None else case.resources
    files = {
        "hyperparameters.json": case.hyperparameters,
        "resourceconfig.json": resources,
        "inputdataconfig.json": case.channels,
    }
    for name, content in files.items():
        if name not in case.without:
            write(base / "input" / "config" / name, content)
    (base / "code").mkdir(parents=True)
    tools = base / "tools"
    for name, script in case.tools.items():
        write(tools / name, script)
        (tools / name).chmod(0o755)
    return {
        "PATH": f"{tools}:{SYSTEM_PATH}",
        "HOME": str(base / "home"),
        "LANG": "C.UTF-8",
        "SAGEMAKER_BASE_DIR": str(base),
        **case.env,
    }


def muster(env: dict[str, str], case: Case) -> dict:
    """What `sm env` says, in the driver's form."""

    def ask(*form: str) -> str:
        given = ("--stdin",) if case.given and form[0] != "--json" else ()
        done = subprocess.run(
            [SM, "env", *form, *given],
            env=env,
            input=json.dumps(case.given),
            capture_output=True,
            text=True,
            timeout=GUARD_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            assert done.stderr.count("\n") == 1, f"not one line: {done.stderr}"
            raise ValueError(done.stderr)
        return done.stdout.rstrip("\n")

    try:
        variables = json.loads(ask("--to-env-vars"))
        side = variables if case.given else json.loads(ask("--json"))
        return {
            "properties": ask("--properties"),
            "env": variables,
            "args": json.loads(ask("--to-cmd-args")),
            "side": {
                name: text
                for name, text in side.items()
                if name not in variables and not ELDER.fullmatch(name)
            },
        }
    except ValueError as error:
        return {"error": str(error)}


# The names that variables had before SM_, as docs/protocols/environment.md lists them.
ELDER = re.compile(r"SAGEMAKER_CHANNELS|SAGEMAKER_CHANNEL_.*|SAGEMAKER_MODEL_DIR|MODEL_DIR", re.S)


def differences(reference: dict, ours: dict, case: Case) -> set[str]:
    """The parts that are not equal."""
    if "error" in reference or "error" in ours:
        if "error" in reference and "error" in ours:
            return set()
        return {"accepted" if "error" in reference else "refused"}
    found = set()
    for part in ("properties", "env") + (() if case.given else ("side",)):
        theirs, mine = reference[part], ours[part]
        if part == "properties":
            theirs, mine = json.loads(theirs), json.loads(mine)
            if list(theirs) != list(mine):
                found.add("order of properties")
        for name in theirs.keys() | mine.keys():
            # Texts, so that 1 is not 1.0, nor NaN another than itself.
            if json.dumps(theirs.get(name, "-")) != json.dumps(mine.get(name, "-")):
                found.add(f"{part}.{name}")
    if reference["args"] != ours["args"]:
        found.add("args")
    if not found and reference["properties"] != ours["properties"]:
        found.add("text of properties")
    return found


def value_of(answer: dict, part: str) -> str:
    """For the report of a failed test."""
    where, _, name = part.partition(".")
    whole = answer.get(where, answer)
    whole = json.loads(whole) if isinstance(whole, str) else whole
    value = whole.get(name, whole) if isinstance(whole, dict) and name else whole
    return json.dumps(value)[:300]


@pytest.fixture(scope="module")
def answers():
    """Every case with both answers, by name; the reference gives its own in one process."""
    top = REPOSITORY / "build" / "e2e" / "reference-cases"
    shutil.rmtree(top, ignore_errors=True)
    assert len({case.name for case in CASES}) == len(CASES), "two cases of one name"
    envs = [lay_out(case, top / str(number)) for number, case in enumerate(CASES)]
    asked = [json.dumps({"env": env, "given": case.given}) for env, case in zip(envs, CASES)]
    done = subprocess.run(
        [REFERENCE / "bin" / "python", DRIVER],
        env={"PATH": SYSTEM_PATH, "HOME": str(top), "SAGEMAKER_BASE_DIR": str(top / "import")},
        input="".join(line + "\n" for line in asked),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        timeout=GUARD_SECONDS,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and len(lines) == len(CASES), done.stderr[-4000:]
    yield {
        case.name: (json.loads(line), muster(env, case))
        for case, env, line in zip(CASES, envs, lines)
    }
    shutil.rmtree(top, ignore_errors=True)


@needs_reference
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_job_directory_reads_the_same(answers, case):
    reference, ours = answers[case.name]
    found = differences(reference, ours, case)
    assert found == set(case.differs), "\n".join(
        f"{part}: {value_of(reference, part)} | {value_of(ours, part)}"
        for part in found | set(case.differs)
    )


# --- how a job ends ---

SIDES = ("reference", "muster")
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
    env = lay_out(case, base)
    for name, text in end.files.items():
        write(base / ("source" if end.submit else "code") / name, text)
    (base / "output").mkdir()
    if end.submit == "archive":
        with tarfile.open(submitted(end, base), "w:gz") as archive:
            archive.add(base / "source", ".")
    report = folder / "report.json"
    report.unlink(missing_ok=True)
    env["REPORT"] = str(report)
    env["PATH"] = f"{base}/tools:{REFERENCE}/bin:{SYSTEM_PATH}"
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
