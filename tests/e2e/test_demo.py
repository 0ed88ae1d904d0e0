"""What `make demo` shows."""

import re

from fit import GUARD_SECONDS
from lab import REPOSITORY, VENV


def test_the_demo_prints_the_mean_for_each_of_six_ranks(machine):
    process = machine.sm(
        "fit",
        "mpi_demo.py",
        "--source-dir",
        REPOSITORY / "examples/mpi-demo",
        "--hosts",
        3,
        "--processes-per-host",
        2,
        "--python",
        VENV / "bin/python",
        "--output",
        machine.output,
    )
    assert process.wait(GUARD_SECONDS) == 0, process.text
    text = process.out.decode()
    seen = set(re.findall(r"rank (\d)/6 on (algo-\d): mean 2\.5$", text, re.M))
    assert seen == {(str(rank), f"algo-{rank // 2 + 1}") for rank in range(6)}, process.text
    phases = [
        text.find(word)
        for word in (
            "Starting",
            "Downloading",
            "Training",
            "Uploading",
            "Completed",
            "Training seconds: ",
        )
    ]
    assert -1 not in phases and phases == sorted(phases), process.text
    for alarm in ("trying again", "setpgid", "warning", "error"):
        assert alarm not in process.text, "a healthy start alarms nobody"
    assert (machine.output / "model").is_dir() and (machine.output / "output").is_dir()
    assert not machine.jobs()
