"""The Python packages that `sm` carries: in every host, for an interpreter without its own."""

import subprocess

from fit import GUARD_SECONDS
from lab import VENV
from test_python_operators import PROPOSAL, RANK

ZIP = "/run/muster/python.zip"
WHERE = """
import os, sys
import sagemaker_training
print("from", sagemaker_training.__file__, os.environ.get("PYTHONPATH"), flush=True)
"""


def fit(machine, name: str, script: str, *words, python=VENV / "bin/python") -> str:
    """What `sm fit` shows of a job whose entry point this is, without a launcher."""
    (machine.source / name).write_text(script)
    given = ["--source-dir", machine.source, "--output", machine.folder / f"output-{name}"]
    given += ["--python", python] if python else []
    process = machine.sm("fit", name, *given, *words)
    assert process.wait(GUARD_SECONDS) == 0, process.text
    return process.out.decode()


def test_the_proposals_two_lines_run_where_nothing_is_installed(machine):
    words = [VENV / "bin/python", "-c", "import muster"]
    done = subprocess.run(words, capture_output=True, cwd="/")
    assert done.returncode != 0, "the tests' environment has the packages: this shows nothing"
    (machine.source / "train.py").write_text(RANK)
    text = fit(machine, "entrypoint.py", PROPOSAL, "--hosts", 2)
    for rank in range(6):
        assert f"rank {rank} of 6 ['--learning_rate', '10']" in text, text


def test_they_come_last_on_pythonpath_and_a_shell_script_has_them_too(machine):
    text = fit(machine, "where.py", WHERE, "--env", "PYTHONPATH=/mine")
    assert f"from {ZIP}/sagemaker_training/__init__.py /opt/ml/code:/mine:{ZIP}" in text, text

    version = "import muster\nprint('version', muster.__version__)\n"
    (machine.source / "where.py").write_text(WHERE + version)
    text = fit(machine, "entry.sh", "#!/bin/sh\nexec /usr/bin/python3 where.py\n", python=None)
    assert f"from {ZIP}/sagemaker_training/__init__.py" in text, text
    assert "version 0." in text, text


def test_an_interpreter_s_own_packages_are_the_ones_that_are_used(machine):
    own = machine.folder / "venv"
    subprocess.run([VENV / "bin/python", "-m", "venv", "--without-pip", own], check=True)
    words = [own / "bin/python", "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    package = f"{site}/sagemaker_training"
    subprocess.run(["mkdir", package], check=True)
    subprocess.run(["touch", f"{package}/__init__.py"], check=True)
    text = fit(machine, "where.py", WHERE, python=own / "bin/python")
    assert f"from {package}/__init__.py /opt/ml/code\n" in text, text


def test_a_framework_module_finds_the_program_that_muster_sm_names(training):
    env = {"SAGEMAKER_TRAINING_MODULE": "own_framework:main", "MUSTER_SM": "/own/sm"}
    env["PYTHONPATH"] = "/opt/ml/code"
    # In the place of muster's package: what it is started with is what is looked at.
    framework = "import os\nprint('sm is', os.environ['MUSTER_SM'], flush=True)\n"
    one = training(1, 1, "", {"sagemaker_mpi_enabled": "false"}, env)
    code = one.hosts[0].base / "code"
    (code / "muster").mkdir()
    (code / "muster/__init__.py").write_text("")
    (code / "muster/framework.py").write_text(framework)
    one.start().succeed()
    assert "sm is /own/sm" in one.leader.text, one.story()
