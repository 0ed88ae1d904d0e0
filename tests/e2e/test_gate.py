"""What holds for the runs of `make test` themselves, whatever they test."""

import pathlib
import re
import subprocess
import sys

from lab import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "tools"))

from parts_counts import failed_cases  # noqa: E402


def test_a_failed_case_is_named_with_its_reason(tmp_path):
    makefile = (REPOSITORY / "Makefile").read_text()
    options = re.search(r"^PYTEST = \$\(PYTHON\) -m pytest (.*)$", makefile, re.M)[1].split()
    file = tmp_path / "test_with_a_failed_case.py"
    file.write_text("def test_that_fails():\n    assert 'a ' * 30 == 'b'\n")
    options[options.index("$(WORKERS)")] = "0"
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "-p", "no:cacheprovider", file],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    named = failed_cases(ran.stdout.splitlines())
    assert [name.split(" - ")[0] for name in named] == [f"{file.name}::test_that_fails"], ran
    assert "assert" in named[0], ran


def test_what_a_killed_run_left_is_removed_by_the_next():
    sandbox = REPOSITORY / "tests" / "sandbox"
    where = "awk '$5 == \"/tmp\" {print $4}' /proc/self/mountinfo | tail -1; exec sleep infinity"
    killed = subprocess.Popen([sandbox, "sh", "-c", where], stdout=subprocess.PIPE, text=True)
    with killed:
        own = pathlib.Path(killed.stdout.readline()).parent.name
        folder = REPOSITORY / "build" / "sandbox" / own
        subprocess.run([sandbox, "true"], check=True)
        assert folder.is_dir(), "a running sandbox keeps its folder"
        killed.kill()
        assert killed.stdout.read() == ""  # The command inside has ended, too.
    assert folder.is_dir()
    subprocess.run([sandbox, "true"], check=True)
    assert not folder.exists()
