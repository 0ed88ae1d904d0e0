"""examples/horovod-lab: the launcher's one call, and what the Dockerfile puts into its image."""

import fnmatch
import importlib.util
import json
import pathlib
import shlex
import subprocess
import sys

import pytest

from frameworks import EXAMPLES, HUSH, SECONDS, check_results, interpreter, lay_channels, make_data
from image import build_wheel
from lab import REPOSITORY, SM, VENV
from training import Training, host_environment

LAB = EXAMPLES / "horovod-lab"


@pytest.fixture
def launcher(machine, monkeypatch):
    """The module; its `sm fit` has a state folder of the test's own."""
    for name, value in {**machine.environment(), **HUSH}.items():
        monkeypatch.setenv(name, value)
    spec = importlib.util.spec_from_file_location("launcher", LAB / "launcher.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.framework
def test_the_launchers_call_trains_on_two_hosts_of_two_processes(launcher, machine, capfd):
    model = launcher.train(
        horovod_train_script="train_hvd.py",
        instance_count=2,
        num_of_processes_per_host=2,
        inputs={path.name: path for path in make_data(machine.folder).iterdir()},
        mpi_options="--mca mpi_yield_when_idle 1",
        output=machine.output,
        python=interpreter("tf"),
        sm=SM,
    )
    assert len(check_results(capfd.readouterr().out, 4)) == 1
    assert [path.name for path in model.iterdir()] == ["model.h5"]


def test_the_launcher_raises_what_the_job_ended_with(launcher, machine):
    (machine.source / "fails.py").write_text("raise SystemExit(7)\n")
    options = {"source_dir": machine.source, "python": VENV / "bin/python", "sm": SM}
    for script, hosts, code in (("fails.py", 1, 1), ("missing.py", 1, 2), ("fails.py", 0, 2)):
        with pytest.raises(launcher.TrainingFailed) as failed:
            launcher.train(script, hosts, output=machine.folder / f"{script}-{hosts}", **options)
        assert failed.value.exit_code == code, script
    command = [sys.executable, LAB / "launcher.py", "missing.py", "--sm", SM]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "ended with 2" in done.stderr, done.stderr


# --- the image ---


def instructions() -> list[tuple[str, str]]:
    """All stages' instructions in the Dockerfile, but ARG: (name, the rest of its line)."""
    text = (LAB / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines()]
    return [tuple(words) for words in lines if words and words[0] not in ("#", "ARG")]


def copies() -> list[tuple[str, str]]:
    """What is copied from the repository, and to where."""
    found = []
    for name, rest in instructions():
        *sources, target = shlex.split(rest)
        if name == "COPY" and not sources[0].startswith("--from"):
            found += [(source, target) for source in sources]
    return found


def test_the_dockerfile_copies_what_exists_and_is_let_through():
    known = {"FROM", "RUN", "ENV", "COPY", "ENTRYPOINT"}
    assert {name for name, _ in instructions()} == known
    passes = [
        line[1:]
        for line in (LAB / "Dockerfile.dockerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    assert len(copies()) >= 5
    for source, _ in copies():
        if source.startswith("build/dist/"):  # make wheel
            assert fnmatch.fnmatch(build_wheel().name, pathlib.PurePath(source).name)
        else:
            assert (REPOSITORY / source).is_file(), source
        assert any(fnmatch.fnmatch(source, known) for known in passes), source


@pytest.mark.framework
def test_the_images_content_trains_from_its_entry_point(lab, folder):
    python, site = interpreter("tf"), folder / "site"
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-index", "--no-deps", "--target", site, build_wheel()], check=True)
    code = {
        pathlib.PurePath(source).name: (REPOSITORY / source).read_text()
        for source, target in copies()
        if target == "/opt/ml/code/"
    }
    asked = {"sagemaker_program": "horovod_launcher.py", "num_of_processes_per_host": "1"}
    assert asked["sagemaker_program"] in code
    job = Training(lab, 2, 1, "", asked, files=code)
    for host in job.hosts:
        config = host.base / "input" / "config" / "hyperparameters.json"
        config.write_text(json.dumps(asked))
    lay_channels(job, make_data(folder))
    entry = json.loads(next(rest for name, rest in instructions() if name == "ENTRYPOINT"))
    path = [site / "bin", python.parent, host_environment("")["PATH"]]
    variables = {
        **HUSH,
        "PATH": ":".join(map(str, path)),
        "PYTHONPATH": str(site),
    }
    for host in job.hosts:
        environment = host_environment(job.key, variables)
        job.trains[host.name] = host.start(["env", *entry], env=environment)
    job.succeed(SECONDS)
    assert len(check_results(job.story(), 2)) == 1
    assert (job.hosts[0].base / "model" / "model.h5").exists()
    job.assert_quiet()
