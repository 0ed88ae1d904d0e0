"""The elder names by pip: stubs that bring muster, and win over what PyPI has under these names."""

import subprocess
import sys
import zipfile

import pytest

from ours import REPOSITORY

# What released packages ask for, and what of PyPI's that takes.
RANGES = [
    ("sagemaker-training", "5.1.4", "5.999.0+muster"),
    ("sagemaker-training<6.0.0,>=5.0.0", "5.1.4", "5.999.0+muster"),
    ("sagemaker-training>=3.5.2", "5.1.4", "5.999.0+muster"),
    ("sagemaker-training<=4.8.3,>=4.3.0", "4.8.3", "4.8.3+muster"),
    ("sagemaker-containers", "2.8.6.post2", "2.999.0+muster"),
    ("sagemaker-containers>=2.8.6", "2.8.6.post2", "2.999.0+muster"),
    ("sagemaker-training-toolkit", None, "5.999.0+muster"),
]


def pip(python, *words) -> str:
    line = [python, "-m", "pip", "--disable-pip-version-check", *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("wanted", "published", "version"), RANGES)
def test_a_range_takes_the_stub_before_what_is_published(
    dist, tmp_path, wanted, published, version
):
    name = wanted.partition("<")[0].partition(">")[0]
    own = dist / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    if published:  # PyPI's, as far as pip looks: a wheel's name and metadata.
        other = tmp_path / own.name.replace(version, published)
        with zipfile.ZipFile(own) as source, zipfile.ZipFile(other, "w") as made:
            for each in source.namelist():
                text = source.read(each).decode().replace(version, published)
                made.writestr(each.replace(version, published), text)
    links = ["--find-links", dist, "--find-links", tmp_path]
    taken = tmp_path / "taken"
    pip(sys.executable, "download", "-q", "--no-index", "--no-deps", *links, "-d", taken, wanted)
    assert [path.name for path in taken.iterdir()] == [own.name]


def test_the_names_bring_the_packages(dist, tmp_path):
    python = tmp_path / "venv/bin/python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    links = ["--no-index", "--find-links", dist]
    pip(python, "install", "-q", *links, "sagemaker-containers")
    words = [python, "-c", "import sagemaker_containers, muster; print(muster.__file__)"]
    done = subprocess.run(words, cwd="/", capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(tmp_path / "venv/lib")), done.stdout
    assert (tmp_path / "venv/bin/sm").exists()
    pip(python, "install", "-q", *links, "sagemaker-training", "sagemaker-training-toolkit")
    shown = pip(python, "show", "sagemaker-training", "sagemaker-training-toolkit")
    assert shown.count("\nRequires: muster-train\n") == 2, shown
    pip(python, "check")


def test_the_stubs_are_the_same_twice(dist, tmp_path):
    subprocess.run([REPOSITORY / "tools/build-stubs", tmp_path], check=True)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_bytes() for path in dist.glob("sagemaker_*.whl")}
    assert len(made) == 4
