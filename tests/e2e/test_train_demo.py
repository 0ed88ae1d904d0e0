"""The main job over bare hosts: `train` on each, no runtime, no sshd."""

import re

from lab import REPOSITORY


def test_six_ranks_on_three_hosts_agree_on_the_mean(training):
    script = (REPOSITORY / "examples" / "mpi-demo" / "mpi_demo.py").read_text()
    job = training(3, 2, script).start().succeed()
    lines = "\n".join(line for rank in job.rank_lines().values() for line in rank)
    seen = set(re.findall(r"^rank (\d)/6 on (algo-\d): mean 2\.5$", lines, re.M))
    assert seen == {(str(rank), f"algo-{rank // 2 + 1}") for rank in range(6)}, job.story()
    job.assert_quiet()


def test_no_sshd_and_no_ssh_ever_runs(training):
    job = training(
        2,
        1,
        "import signal; from mpi4py import MPI; MPI.COMM_WORLD.Barrier()\n"
        "print('here', flush=True); signal.pause()",
    ).start()
    job.leader.wait_for_output(b"here")
    for host in job.hosts:
        assert not host.find(lambda words: "ssh" in words[0]), host.processes()
