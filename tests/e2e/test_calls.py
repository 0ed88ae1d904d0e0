"""Collective calls: what runs on every host asks for one distributed launch."""

import json
import os
import re
import signal

import pytest

from lab import SM
from training import GUARD_SECONDS, SCRIPT, host_environment

SUM = """
import os, sys
from mpi4py import MPI
total = MPI.COMM_WORLD.allreduce(MPI.COMM_WORLD.Get_rank() + 1)
print("total", total, "args", sys.argv[1:], "on", os.environ["SM_CURRENT_HOST"], flush=True)
"""
ENTRY = "entrypoint.sh"


def run_line(*, processes: int = 2, script: str = SCRIPT, args: str = "") -> str:
    option = f"--option sagemaker_mpi_num_of_processes_per_host={processes}"
    return f"{SM} toolkit run --runner mpi {option} -- {script} {args}\n"


def entry_job(training, hosts: int, entry: str, script: str = SUM, **more):
    """A job whose entry point is a shell script that every host runs alike."""
    hyperparameters = {
        "sagemaker_program": json.dumps(ENTRY),
        "sagemaker_mpi_enabled": "false",
        **more.pop("hyperparameters", {}),
    }
    files = {ENTRY: "#!/bin/sh\nset -e\neval \"$(" + f"{SM} env --shell" + ")\"\n" + entry}
    return training(hosts, 1, script, hyperparameters, files=files, **more)


def test_an_entry_point_launches_mpi_once_over_all_hosts(training):
    job = entry_job(training, 2, "echo before\n" + run_line(args="'a b' :") + "echo after\n")
    job.start().succeed()
    lines = job.rank_lines()
    assert sorted(lines) == [0, 1, 2, 3], job.story()
    for rank, said in lines.items():
        assert said == [f"total 10 args ['a b', ':'] on algo-{rank // 2 + 1}"]
    for host in job.trains.values():
        assert re.findall(r"^(before|after)$", host.text, re.M) == ["before", "after"]
    job.assert_quiet()


def test_one_call_can_follow_another(training):
    job = entry_job(training, 2, run_line(args="one") + run_line(processes=1, args="two"))
    job.start().succeed()
    assert len(re.findall(r"args \['one'\]", job.leader.text)) == 4, job.story()
    assert len(re.findall(r"args \['two'\]", job.leader.text)) == 2
    job.assert_quiet()


def test_a_failed_call_that_the_entry_point_survives_does_not_end_the_job(training):
    script = "import sys; sys.exit(3) if sys.argv[1:] == ['bad'] else print('fine', flush=True)"
    again = run_line(args="bad")[:-1] + ' || echo "it ended with $?"\n' + run_line(args="good")
    job = entry_job(training, 2, again, script).start().succeed()
    for host in job.trains.values():
        assert "it ended with 3" in host.text, job.story()
    assert job.leader.text.count("fine") == 4
    job.assert_quiet()


def test_a_failed_call_is_the_cause_of_the_entry_points_failure(training):
    script = """
import sys
from mpi4py import MPI
MPI.COMM_WORLD.Barrier()
if MPI.COMM_WORLD.Get_rank() == 2:
    print("the third rank's last words", file=sys.stderr, flush=True)
    sys.exit(7)
MPI.COMM_WORLD.Barrier()
"""
    job = entry_job(training, 2, run_line(), script).start()
    assert set(job.wait().values()) == {1}, job.story()
    for name in job.trains:
        failure = job.failure(name)
        assert "ExitCode 7" in failure and "the third rank's last words" in failure, failure
    assert "rank 2 on algo-2: exit code 7" in job.leader.text
    job.assert_quiet()


def test_hosts_that_call_different_things_are_named(training):
    entry = 'case "$SM_CURRENT_HOST" in algo-1) script=script.py;; *) script=other.py;; esac\n'
    job = entry_job(training, 2, entry + run_line(script='"$script"'))
    (job.hosts[1].base / "code" / "other.py").write_text(SUM)
    job.start()
    assert set(job.wait().values()) == {1}, job.story()
    for name in job.trains:
        assert re.search(r"algo-2.*calls mpirun other.py, but algo-1 calls mpirun script.py",
                         job.failure(name)), job.failure(name)
    job.assert_quiet()


def test_a_host_that_ends_without_calling_is_named(training):
    entry = 'if [ "$SM_CURRENT_HOST" = algo-2 ]; then exit 0; fi\n' + run_line()
    job = entry_job(training, 2, entry).start()
    assert set(job.wait().values()) == {1}, job.story()
    assert "algo-2" in job.failure("algo-1") and "without calling" in job.failure("algo-1")
    job.assert_quiet()


def test_a_call_inside_a_rank_is_refused(training):
    script = f"""
import subprocess
done = subprocess.run([{str(SM)!r}, "toolkit", "run", "--runner", "mpi", "--", {SCRIPT!r}],
                      capture_output=True, text=True)
print("refused:", done.returncode, done.stderr.strip(), flush=True)
"""
    job = entry_job(training, 1, run_line(processes=1), script).start().succeed()
    refused = r"refused: 1 .*is already running.*ranks cannot run launchers"
    assert re.search(refused, job.leader.text), job.story()


@pytest.mark.parametrize("hosts", [1, 2])
def test_without_train_the_call_gathers_the_hosts_itself(training, hosts):
    job = training(hosts, 1, SUM)
    for host in job.hosts:
        environment = host_environment(job.key, {"SM_CURRENT_HOST": host.name})
        job.trains[host.name] = host.start(
            [SM, "toolkit", "run", "--runner", "mpi", "--option",
             "sagemaker_mpi_num_of_processes_per_host=2", "--", SCRIPT, "x"],
            env=environment,
        )
    job.succeed()
    assert job.leader.text.count(f"total {3 if hosts == 1 else 10} args ['x']") == 2 * hosts
    job.assert_quiet()


def test_a_killed_caller_fails_the_call(training):
    script = "import time\nprint('ranks run', flush=True)\ntime.sleep(600)"
    job = entry_job(training, 2, run_line(processes=1), script).start()
    member = job.hosts[1]
    job.leader.wait_for_output(b"ranks run", GUARD_SECONDS)
    os.kill(member.find(lambda words: "toolkit" in words)[0], signal.SIGKILL)
    assert set(job.wait().values()) == {1}, job.story()
    job.assert_quiet()
