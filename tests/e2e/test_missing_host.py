"""A host that never comes is named, on all hosts."""

import pytest

SCRIPT = "print('must not run')"


@pytest.mark.parametrize("missing", ["algo-1", "algo-3"])
def test_the_error_at_the_deadline_names_the_missing_host_everywhere(training, missing):
    job = training(3, 1, SCRIPT, env={"MUSTER_JOIN_DEADLINE": "3"})
    present = [host for host in job.hosts if host.name != missing]
    job.start(*present)
    codes = job.wait()
    assert 0 not in codes.values(), job.story()
    for host in present:
        assert missing in job[host.name].text, f"{host.name}:\n{job.story()}"
        assert missing in job.failure(host.name), job.failure(host.name)
        assert "must not run" not in job[host.name].text
    job.assert_quiet()


def test_the_leader_says_who_is_missing_while_it_waits(training):
    job = training(3, 1, SCRIPT)
    job.start(*job.hosts[:2])
    job.leader.wait_for_output(b"waiting for algo-3", 50)  # Said every 10 s.
    job["algo-2"].wait_for_output(b"waiting for algo-1 at ", 50)  # Likewise.
    assert job.leader.running()
    job.start(job.hosts[2])
    job.succeed()
