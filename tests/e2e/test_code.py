"""Code delivery: where a job's code comes from, what is installed before it runs."""

import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import textwrap
import zipfile

import pytest

from lab import VENV
from s3_server import S3Server
from training import train_program

HELLO = "import sys\nprint('hello', *sys.argv[1:], flush=True)\n"


def archive(members: dict[str, str], mode: int = 0o644) -> bytes:
    """A tar.gz as the SDK makes it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            info.mode = mode
            tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


class Job:
    """A job of one host on this machine, below a folder of its own."""

    def __init__(self, folder: pathlib.Path):
        self.base = folder / "ml"
        config = self.base / "input" / "config"
        config.mkdir(parents=True)
        (config / "inputdataconfig.json").write_text("{}")
        (config / "resourceconfig.json").write_text(
            json.dumps({"current_host": "algo-1", "hosts": ["algo-1"]})
        )
        self.config = config

    def train(self, entry="train.py", submit=None, env=None, **hyperparameters):
        values = {"sagemaker_program": entry, "sagemaker_submit_directory": submit}
        given = {name: value for name, value in {**values, **hyperparameters}.items() if value}
        (self.config / "hyperparameters.json").write_text(
            json.dumps({name: json.dumps(value) for name, value in given.items()})
        )
        return subprocess.run(
            [train_program()],
            env={
                "PATH": f"{VENV}/bin:/usr/bin:/bin",
                "HOME": str(self.base),
                "SAGEMAKER_BASE_DIR": str(self.base),
                "MUSTER_TRAINING_LOG": "0",
                "TRAINING_JOB_NAME": "job-of-mine",
                **(env or {}),
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    @property
    def failure(self) -> str:
        path = self.base / "output" / "failure"
        return path.read_text() if path.exists() else ""


@pytest.fixture
def job(folder):
    return Job(folder)


@pytest.fixture
def server():
    with S3Server() as server:
        yield server


def ran(done, *words) -> None:
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["hello", *words], done.stdout


# --- where it comes from ---


def test_code_comes_from_a_folder(job, folder):
    (folder / "source" / "pkg").mkdir(parents=True)
    (folder / "source" / "train.py").write_text("import pkg.part\n" + HELLO)
    (folder / "source" / "pkg" / "part.py").write_text("")
    ran(job.train(submit=str(folder / "source"), epochs=3), "--epochs", "3")
    assert (job.base / "code" / "train.py").exists()


def test_code_comes_from_an_archive(job, folder):
    (folder / "sourcedir.tar.gz").write_bytes(archive({"train.py": HELLO}))
    ran(job.train(submit=str(folder / "sourcedir.tar.gz")))


def test_code_comes_from_s3(job, server):
    server.put("bucket", "jobs/sourcedir.tar.gz", archive({"train.py": HELLO}))
    ran(job.train(submit="s3://bucket/jobs/sourcedir.tar.gz", env=server.env()))
    # Once there it is not fetched again.
    ran(job.train(submit="s3://bucket/jobs/sourcedir.tar.gz", env=server.env()))
    assert server.count("GET", "jobs/sourcedir.tar.gz") == 1


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "S3_ENDPOINT_URL"])
def test_the_endpoint_may_be_named_otherwise(job, server, name):
    server.put("bucket", "s.tar.gz", archive({"train.py": HELLO}))
    env = server.env()
    env[name] = env.pop("AWS_ENDPOINT_URL_S3")
    ran(job.train(submit="s3://bucket/s.tar.gz", env=env))


def test_program_and_folder_may_come_by_variables(job, folder):
    (folder / "source").mkdir()
    (folder / "source" / "other.py").write_text(HELLO)
    env = {"SAGEMAKER_PROGRAM": "other.py", "SAGEMAKER_SUBMIT_DIRECTORY": str(folder / "source")}
    ran(job.train(entry=None, env=env))


def test_a_hostile_archive_stays_in_the_code_folder(job, folder):
    (folder / "s.tar.gz").write_bytes(archive({"../../escaped.py": "x", "train.py": HELLO}))
    done = job.train(submit=str(folder / "s.tar.gz"))
    ran(done)
    assert "escaped.py" in done.stderr, "what was changed is said"
    assert not list(folder.glob("escaped.py")) and not (job.base / "escaped.py").exists()


@pytest.mark.parametrize(
    ("submit", "want"),
    [
        ("s3://bucket/none.tar.gz", "s3://bucket/none.tar.gz: no such key"),
        ("s3://bucket", "s3://bucket"),
        ("/no/such/place", "/no/such/place"),
    ],
)
def test_unavailable_code_is_one_clear_line(job, server, submit, want):
    server.put("bucket", "other", b"")
    done = job.train(submit=submit, env=server.env())
    assert done.returncode == 1
    assert want in job.failure and job.failure.count("\n") == 0, job.failure
    assert not list((job.base / "code").iterdir())


def test_a_truncated_archive_leaves_nothing(job, folder):
    (folder / "s.tar.gz").write_bytes(archive({"train.py": HELLO * 1000})[:-30])
    done = job.train(submit=str(folder / "s.tar.gz"))
    assert done.returncode == 1
    assert "s.tar.gz: " in job.failure, job.failure
    assert not list((job.base / "code").iterdir())


# --- entry points ---


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ("train.sh", 'echo hello "$@"\n'),
        ("train.sh", '#!/bin/bash\necho hello "$@"\n'),
        ("bin/train", '#!/bin/sh\necho hello "$@"\n'),
        ("train.pl", '#!/usr/bin/perl\nprint "hello @ARGV\\n";\n'),
    ],
)
def test_an_entry_point_of_any_kind_runs_without_its_x_bit(job, folder, entry, text):
    (folder / "s.tar.gz").write_bytes(archive({entry: text}))
    ran(job.train(entry=entry, submit=str(folder / "s.tar.gz"), a="b"), "-a", "b")


# --- what it needs ---


@pytest.fixture
def python(folder):
    """An interpreter into which a test may install."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    return {
        "PATH": f"{folder}/venv/bin:/usr/bin:/bin",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder / "wheels"),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def write_wheel(folder: pathlib.Path, name: str, text: str) -> None:
    """The smallest wheel: one module."""
    info = f"{name}-1.0.dist-info"
    files = {
        f"{name}.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        for path, content in files.items():
            wheel.writestr(path, content)


def test_requirements_are_installed_first(job, folder, python):
    write_wheel(folder / "wheels", "needed", "word = 'needed'\n")
    members = {
        "requirements.txt": "needed==1.0\n",
        "train.py": "import needed\nprint('hello', needed.word)\n",
    }
    (folder / "s.tar.gz").write_bytes(archive(members))
    done = job.train(submit=str(folder / "s.tar.gz"), env=python)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "hello needed" in done.stdout


def test_requirements_that_cannot_be_installed_are_named(job, folder, python):
    members = {"requirements.txt": "no-such-package-of-mine\n", "train.py": HELLO}
    (folder / "s.tar.gz").write_bytes(archive(members))
    done = job.train(submit=str(folder / "s.tar.gz"), env=python)
    assert done.returncode == 1
    assert job.failure.startswith("InstallRequirementsError:\nExitCode 1\n"), job.failure
    assert "no-such-package-of-mine" in job.failure
    assert "hello" not in done.stdout


# A build backend in the tree, so that pip needs none from an index.
BACKEND = """
    import pathlib, zipfile
    def build_wheel(folder, settings=None, metadata=None):
        name = "mine-1.0-py3-none-any.whl"
        info = "mine-1.0.dist-info/"
        files = {"mine/" + p.name: p.read_text() for p in pathlib.Path("mine").glob("*.py")}
        files[info + "METADATA"] = "Metadata-Version: 2.1\\nName: mine\\nVersion: 1.0\\n"
        files[info + "WHEEL"] = "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n"
        files[info + "RECORD"] = "".join(f"{p},,\\n" for p in files) + info + "RECORD,,\\n"
        with zipfile.ZipFile(pathlib.Path(folder) / name, "w") as wheel:
            for path, text in files.items():
                wheel.writestr(path, text)
        return name
"""
PACKAGE = {
    "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\n'
    'backend-path = ["."]\n',
    "backend.py": textwrap.dedent(BACKEND),
    "mine/__init__.py": "",
    "mine/train.py": HELLO,
}


@pytest.mark.parametrize("more", [{"setup.py": ""}, {}])
def test_a_package_is_installed_and_run_as_a_module(job, folder, python, more):
    (folder / "s.tar.gz").write_bytes(archive({**PACKAGE, **more}))
    entry = "mine/train.py" if more else "mine.train"
    done = job.train(entry=entry, submit=str(folder / "s.tar.gz"), env=python)
    assert done.returncode == 0, done.stderr + done.stdout
    assert done.stdout.splitlines()[-1] == "hello"


def test_a_package_that_cannot_be_built_is_named(job, folder, python):
    broken = {**PACKAGE, "setup.py": "", "backend.py": "raise RuntimeError('my backend is broken')"}
    (folder / "s.tar.gz").write_bytes(archive(broken))
    done = job.train(entry="mine/train.py", submit=str(folder / "s.tar.gz"), env=python)
    assert done.returncode == 1
    assert job.failure.startswith("InstallModuleError:\nExitCode 1\n"), job.failure


def test_the_index_of_codeartifact_reaches_pip_and_no_log(job, folder, server, python):
    arn = "arn:aws:codeartifact:us-east-1:123456789012:repository/my-domain/my-repo"
    pip = folder / "bin" / "python3"
    pip.parent.mkdir()
    pip.write_text('#!/bin/sh\necho "argv: $*"\necho "index: $PIP_INDEX_URL"\nexit 3\n')
    pip.chmod(0o755)
    members = {"requirements.txt": "x\n", "train.py": HELLO}
    (folder / "s.tar.gz").write_bytes(archive(members))
    env = {
        **server.env(),
        "AWS_ENDPOINT_URL": server.url,
        "CA_REPOSITORY_ARN": arn,
        "PATH": f"{pip.parent}:/usr/bin:/bin",
    }
    done = job.train(submit=str(folder / "s.tar.gz"), env=env)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert "index: https://aws:t0ken@my-domain.example/pypi/my-repo/simple/" in lines, done.stderr
    assert not any("t0ken" in line for line in lines if line.startswith("argv:"))
    assert "t0ken" not in done.stderr


# --- intermediate output ---

INTERMEDIATE = """
import os, pathlib
folder = pathlib.Path(os.environ["SM_OUTPUT_INTERMEDIATE_DIR"])
(folder / "deep" / "er").mkdir(parents=True)
(folder / "a.txt").write_text("first")
(folder / "deep" / "er" / "b.bin").write_bytes(bytes(1000))
(folder / "a.txt").write_text("second")
"""


def test_intermediate_output_is_in_s3_when_the_job_ends(job, server):
    server.put("bucket", "some", b"")
    code = job.base / "code"
    code.mkdir()
    (code / "train.py").write_text(INTERMEDIATE)
    done = job.train(env=server.env(), sagemaker_s3_output="s3://bucket/out")
    assert done.returncode == 0, done.stderr
    place = "out/job-of-mine/output/intermediate/"
    assert server.get("bucket", place + "a.txt") == b"second"
    assert server.get("bucket", place + "deep/er/b.bin") == bytes(1000)
    assert not [key for key in server.buckets["bucket"] if ".tmp" in key]


def test_intermediate_output_of_a_failed_job_is_in_s3_too(job, server):
    server.put("bucket", "some", b"")
    code = job.base / "code"
    code.mkdir()
    (code / "train.py").write_text(INTERMEDIATE + "raise SystemExit(1)")
    done = job.train(env=server.env(), sagemaker_s3_output="s3://bucket/out")
    assert done.returncode == 1
    assert server.get("bucket", "out/job-of-mine/output/intermediate/a.txt") == b"second"


def test_an_intermediate_folder_that_is_there_is_left_to_the_platform(job, server):
    server.put("bucket", "some", b"")
    (job.base / "output" / "intermediate").mkdir(parents=True)
    code = job.base / "code"
    code.mkdir()
    (code / "train.py").write_text(INTERMEDIATE)
    done = job.train(env=server.env(), sagemaker_s3_output="s3://bucket/out")
    assert done.returncode == 0, done.stderr
    assert list(server.buckets["bucket"]) == ["some"]


def test_a_store_that_fails_does_not_fail_the_job(job, server):
    code = job.base / "code"
    code.mkdir()
    (code / "train.py").write_text(INTERMEDIATE)
    env = {**server.env(), "AWS_SECRET_ACCESS_KEY": "wrong"}
    done = job.train(env=env, sagemaker_s3_output="s3://bucket/out")
    assert done.returncode == 0, done.stderr
    assert "a.txt" in done.stderr and "denied" in done.stderr
    assert "os.environ" not in job.failure
    assert os.path.exists(job.base / "output" / "success")
