"""Folders of the machine that `sm fit --bind` shows to hosts, and jobs that do."""

import contextlib
import os
import pathlib
import shutil
import tempfile

import pytest

from fit import GUARD_SECONDS, Machine
from process import Process

SUDO = {"SUDO_UID": "4321", "SUDO_GID": "8765"}


@contextlib.contextmanager
def submitters_folder():
    """A folder that the submitter owns, on a file system that translates owners."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mu-bind-", dir="/var/tmp"))
    (folder / "data").mkdir()
    (folder / "data" / "file").write_text("as it is")
    for path in (folder, folder / "data", folder / "data/file"):
        os.chown(path, 4321, 8765)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def fit(machine: Machine, script: str, *words, **options) -> Process:
    (machine.source / "script.py").write_text(script)
    return machine.sm("fit", machine.source / "script.py", *words, **options)


def writing(machine: Machine, place: pathlib.Path, script: str) -> Process:
    """A job that may write to the folder, ended."""
    process = fit(machine, script, "--bind", f"{place}/data:/data:rw", environment=SUDO)
    process.wait(GUARD_SECONDS)
    if "rw requires hosts with user namespaces" in process.text:
        pytest.skip("needs hosts with user namespaces: Linux 5.19, a file system that translates")
    return process
