"""A job over its limits costs the job beside it little: bench/neighbours.py, with a bound for
machines that do other things, too."""

import os
import pathlib
import sys
import tempfile

import pytest

from lab import REPOSITORY, SM

sys.path.insert(0, str(REPOSITORY / "bench"))

import neighbours  # noqa: E402

MOST = 2.0
ATTEMPTS = 3
QUICK = ("memory",)


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two processors")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.deep)
     for name in neighbours.HOGS],
)  # fmt: skip
def test_a_job_over_its_limits_harms_no_neighbour(name):
    ratios = []
    while not ratios or (min(ratios) > MOST and len(ratios) < ATTEMPTS):
        # Short: a host's control socket lies below it, and socket paths end at 107 bytes.
        with tempfile.TemporaryDirectory(prefix="mu-", dir="/tmp") as folder:
            ratios.append(neighbours.measure(SM, pathlib.Path(folder), [name])[name])
    assert min(ratios) <= MOST, ratios
