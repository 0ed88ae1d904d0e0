"""A job that Slurm preempts gives every process its grace, in every form of test_stops.py."""

import pytest

from fit import GUARD_SECONDS
from process import wait_until
from slurm_faults import Configured, clean_place, nodes_taken
from slurm_jobs import interrupt
from test_stops import FORMS, RANK, SAVE_SECONDS, write_source

pytestmark = [pytest.mark.slurm, pytest.mark.deep]
place = pytest.fixture(clean_place)

HOSTS = 2
# Results of an attempt that starts again are not kept, so each rank says what it did.
SAYS = RANK.replace(
    'open("/opt/ml/model/saved-%d" % rank, "w").close()', 'os.write(2, b"saved %d.\\n" % rank)'
).replace(
    'open("/opt/ml/model/told-twice-%d" % rank, "w").close()', 'os.write(2, b"told twice.\\n")'
)
assert "/opt/ml/model" not in SAYS


@pytest.mark.parametrize("name", FORMS)
def test_nodes_that_are_taken_away_leave_every_process_its_grace(place, name):
    form = FORMS[name]
    ranks = form.processes(HOSTS)
    write_source(place, form, SAVE_SECONDS, form.ends, SAYS)
    with Configured(place.cluster, "KillWait", "10"):  # With GraceTime, a host has 12 s.
        job = place.start(
            form.name, "--source-dir", place.source, "--grace", 60, *form.flags, hosts=HOSTS
        )
        wait_until("all ranks", lambda: job.text.count("ready ") == ranks, GUARD_SECONDS)
        with nodes_taken(place.cluster):
            job.wait_for_output(b"Restarting", GUARD_SECONDS)
            interrupt(job)
            job.wait(GUARD_SECONDS)
    assert job.text.count("! saved ") == ranks, job.text
    assert "told twice" not in job.text, job.text
    assert "preempted by Slurm for a higher-priority job" in job.text, job.text
