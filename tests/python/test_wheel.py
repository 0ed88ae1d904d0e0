"""The wheel is one that PyPI would take, and says of itself what is true."""

import email
import re
import subprocess
import zipfile

import pytest

from ours import REPOSITORY, SM

TWINE = REPOSITORY / "build" / "twine-venv" / "bin" / "twine"
BUILDER = REPOSITORY / "build" / "wheel-venv" / "bin" / "python"


@pytest.fixture(scope="module")
def metadata(dist):
    """What a registry reads of the wheel."""
    with zipfile.ZipFile(next(dist.glob("muster_train-*.whl"))) as wheel:
        name = next(each for each in wheel.namelist() if each.endswith(".dist-info/METADATA"))
        return email.message_from_string(wheel.read(name).decode())


def test_twine_has_no_complaint(dist):
    if not TWINE.exists():
        pytest.skip(f"twine is not installed: make {TWINE.parent.parent}/.done")
    words = [TWINE, "check", "--strict", *dist.glob("muster_train-*.whl")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "PASSED" in done.stdout, done.stdout + done.stderr


def test_the_wheel_says_what_it_is(metadata):
    said = subprocess.run([SM, "version"], capture_output=True, text=True, check=True).stdout
    assert metadata["Version"] in said
    assert metadata["Summary"] and metadata["License"] == "Apache-2.0"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert metadata.get_payload().startswith("# muster for Python")
    assert metadata.get_all("Requires-Dist") and "Project-URL" not in metadata


def test_its_classifiers_are_pypi_s(metadata):
    words = [BUILDER, "-c", "import trove_classifiers as t; print(*t.classifiers, sep='\\n')"]
    known = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    said = metadata.get_all("Classifier")
    assert said and set(said) <= set(known)


def test_its_description_links_to_no_file_of_the_repository(metadata):
    """A registry shows the description where there is none."""
    links = re.findall(r"\]\(([^)]*)\)", metadata.get_payload())
    assert [link for link in links if not link.startswith("https://")] == []
