"""The contract of engines (tests/engine) over the one of a Slurm cluster, on a real cluster."""

import re

import pytest
from lab import RELEASE

pytestmark = [pytest.mark.slurm, pytest.mark.deep]

PROGRAM = RELEASE / "cluster_contract_test"
CASES_MIN = 46  # Fewer: some are not built into the program.


def test_the_contract_of_engines_holds_on_a_cluster(cluster):
    assert PROGRAM.exists(), f"{PROGRAM} is missing: `make sm-and-contract` builds it"
    done = cluster.run("login", PROGRAM, "--duration=true", seconds=600)
    print(done.stdout)
    assert done.returncode == 0, done.stderr
    passed = re.search(r"test cases: +\d+ \| +(\d+) passed", done.stdout)
    assert int(passed[1]) >= CASES_MIN
    # A spare that comes when its attempt has ended says so, for people: that stays on its node.
    for node in ("node1", "node2", "node3"):
        cluster.out(node, "sh", "-c", "rm -f /tmp/muster-*.log")
