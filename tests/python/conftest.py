"""Fixtures of the Python packages' tests."""

import json
import pathlib
import subprocess

import pytest

from ours import REPOSITORY, SM, our_environment

BUILDER = REPOSITORY / "build" / "wheel-venv" / "bin" / "python"
REFERENCE = REPOSITORY / "build" / "reference-venv" / "bin" / "python"
PROBE = pathlib.Path(__file__).with_name("probe.py")

# Run by each Python's unittest: test_versions.py.
collect_ignore = ["standard"]


def pytest_sessionstart(session):
    if not SM.exists():
        pytest.exit(f"{SM} is missing: `make sm` builds it", returncode=2)


@pytest.fixture(scope="session")
def dist(tmp_path_factory):
    """What `make wheel` fills."""
    if not BUILDER.exists():
        pytest.skip(f"the wheel's builder is not installed: make {BUILDER.parent.parent}/.done")
    made = tmp_path_factory.mktemp("dist")
    subprocess.run([REPOSITORY / "tools/build-wheel", SM, made], check=True, capture_output=True)
    return made


def _probe(ours: bool, question: str, given, **variables: str):
    """The reference's interpreter and libraries either way; our packages come before its own."""
    env = our_environment(**variables)
    if not ours:
        del env["PYTHONPATH"]
    done = subprocess.run(
        [str(REFERENCE), str(PROBE), question],
        input=json.dumps(given),
        env=env,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.fixture
def ask_both(tmp_path):
    """(reference's answer, ours) to one of the probe's questions."""
    if not REFERENCE.exists():
        pytest.skip(f"the reference is not installed: make {REFERENCE.parent.parent}/.done")

    def ask(question: str, given, **variables: str):
        base = {"SAGEMAKER_BASE_DIR": str(tmp_path / "base"), **variables}
        theirs = _probe(False, question, given, **base)
        return theirs, _probe(True, question, given, **base)

    return ask
