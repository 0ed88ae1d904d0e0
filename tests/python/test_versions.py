"""The packages on every Python of this machine, from 3.7 on."""

import glob
import pathlib
import shutil
import subprocess

import pytest

from ours import our_environment

VERSIONS = [f"3.{minor}" for minor in range(7, 14)]
FOLDER = pathlib.Path(__file__).parent


def interpreter(version: str) -> str | None:
    """A Python of that version: of pyenv, or in PATH."""
    homes = sorted(glob.glob(str(pathlib.Path.home() / f".pyenv/versions/{version}.*/bin/python3")))
    for candidate in [*homes, shutil.which(f"python{version}"), shutil.which("python3")]:
        if candidate is None:
            continue
        words = [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
        said = subprocess.run(words, capture_output=True, text=True, check=False)
        if said.stdout.strip() == version:
            return candidate
    return None


@pytest.mark.parametrize("version", VERSIONS)
def test_the_packages_hold_on(version):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} on this machine")
    tests = ["standard.test_packages", "standard.test_guide", "standard.test_server"]
    done = subprocess.run(
        [python, "-W", "error::SyntaxWarning", "-m", "unittest", "-q", *tests],
        cwd=FOLDER,
        env=our_environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Ran " in done.stderr, done.stderr
