"""64 hosts of one image on one machine: all start, know each other and leave nothing behind."""

from fit import GUARD_SECONDS, wait_for_jobs_to_go
from oci_image import layer, write_layout
from test_fit_image import SHELL

HOSTS = 64
START_SECONDS = 60  # A guard; `bench/images.py hosts` has the figure.
TRAIN = b"""#!/bin/sh
set --
while read -r address name; do set -- "$@" $name; done </etc/hosts
echo "$HOSTNAME sees $#"
"""


def test_64_hosts_start_together_and_leave_nothing(machine, tmp_path):
    """`machine` compares links, mounts, rules, groups, loop devices and processes afterwards."""
    layers = [layer(SHELL), layer({"bin/train": TRAIN})]
    write_layout(tmp_path / "box", layers, process={"Env": ["PATH=/bin"]})
    imported = machine.sm("image", "import", f"oci:{tmp_path}/box:v1", "--name", "box")
    assert imported.wait(GUARD_SECONDS) == 0, imported.text
    job = machine.sm("fit", "--image", "box", "--hosts", HOSTS, "--output", machine.output)
    assert job.wait(GUARD_SECONDS) == 0, job.text
    for number in range(1, HOSTS + 1):
        assert job.out.count(b"algo-%d sees" % number) == 1, job.text
    last = max(job.time_of(b"algo-%d sees" % number, "first") for number in range(1, HOSTS + 1))
    assert last - job.started_at < START_SECONDS
    wait_for_jobs_to_go(machine)
