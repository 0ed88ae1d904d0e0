"""Instance groups: only the hosts of the distribution's groups take part in a launch."""

import json

SCRIPT = """
import os
if "OMPI_COMM_WORLD_RANK" in os.environ:
    from mpi4py import MPI
    who = f"rank {MPI.COMM_WORLD.Get_rank()} of {MPI.COMM_WORLD.Get_size()}"
else:
    who = "no rank"
print(who, os.environ["SM_CURRENT_HOST"], os.environ["SM_CURRENT_INSTANCE_GROUP"], flush=True)
"""
GROUPS = {"data": ["algo-1"], "train": ["algo-2", "algo-3"]}


def in_groups(job):
    groups = [
        {"instance_group_name": name, "instance_type": "local", "hosts": hosts}
        for name, hosts in GROUPS.items()
    ]
    for host in job.hosts:
        path = host.base / "input" / "config" / "resourceconfig.json"
        config = json.loads(path.read_text())
        config["instance_groups"] = groups
        config["current_group_name"] = next(n for n, hosts in GROUPS.items() if host.name in hosts)
        path.write_text(json.dumps(config))
    return job


def test_hosts_outside_the_distribution_run_the_script_alone(training):
    wanted = {"sagemaker_distribution_instance_groups": json.dumps(["train"])}
    job = in_groups(training(3, 2, SCRIPT, wanted)).start().succeed()
    assert job["algo-1"].out.decode().strip() == "no rank algo-1 data", job.story()
    text = job["algo-2"].text  # The first host of the distribution leads.
    for rank, host in ((0, "algo-2"), (1, "algo-2"), (2, "algo-3"), (3, "algo-3")):
        assert f"rank {rank} of 4 {host} train" in text, job.story()
    assert "rank" not in job["algo-3"].out.decode()
    job.assert_quiet()


def test_where_no_group_is_named_each_has_a_launch_of_its_own(training):
    job = in_groups(training(3, 2, SCRIPT)).start().succeed()
    for rank in (0, 1):
        assert f"rank {rank} of 2 algo-1 data" in job["algo-1"].text, job.story()
    for rank, host in ((0, "algo-2"), (1, "algo-2"), (2, "algo-3"), (3, "algo-3")):
        assert f"rank {rank} of 4 {host} train" in job["algo-2"].text, job.story()
    job.assert_quiet()


def test_the_failure_of_a_host_outside_ends_the_ranks(training):
    script = """
import os, sys, time
if os.environ["SM_CURRENT_HOST"] == "algo-1":
    sys.exit(4)
time.sleep(600)
"""
    wanted = {"sagemaker_distribution_instance_groups": json.dumps(["train"])}
    job = in_groups(training(3, 1, script, wanted)).start()
    assert set(job.wait().values()) == {1}, job.story()
    assert "ExitCode 4" in job.failure("algo-3"), job.failure("algo-3")
    job.assert_quiet()
