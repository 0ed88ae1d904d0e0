"""`sm fit --spares N` on one machine: killing a host's steward simulates the loss of a node, and
all hosts restart from the checkpoint."""

import os
import re
import signal

from fit import GUARD_SECONDS, wait_for_jobs_to_go
from process import wait_until

# Rank 0 counts its steps in a checkpoint, and sends all ranks the step to continue from.
STEPS = """
import os, socket, time
from mpi4py import MPI
world = MPI.COMM_WORLD
place = "/opt/ml/checkpoints/step"
done = int(open(place).read()) if world.rank == 0 and os.path.exists(place) else 0
done = world.bcast(done)
print(f"rank {world.rank} of {world.size} on {socket.gethostname()} from {done}", flush=True)
for step in range(done, LAST):
    world.barrier()
    if world.rank == 0:
        with open(place + ".new", "w") as file:
            file.write(str(step + 1))
        os.rename(place + ".new", place)
    time.sleep(0.2)
with open(f"/opt/ml/model/{socket.gethostname()}", "a") as file:
    file.write("attempt\\n")
print("done", flush=True)
"""


def begin(machine, *words, last: int, hosts: int = 2, per_host: int = 1):
    """A job that has kept a checkpoint."""
    keep = ("--checkpoints", machine.folder / "ckpt", "--name", "rehearsal")
    script = STEPS.replace("LAST", str(last))
    job = machine.fit(script, *keep, *words, hosts=hosts, per_host=per_host)
    wait_for_checkpoint(machine, job)
    return job


def wait_for_checkpoint(machine, job) -> None:
    """One that is newer than any by now."""
    place = machine.folder / "ckpt" / "step"
    before = place.stat().st_mtime if place.exists() else 0

    def is_there() -> bool:
        return (place.exists() and place.stat().st_mtime > before) or not job.running()

    wait_until("a checkpoint", is_there, GUARD_SECONDS)
    assert job.running(), job.text


def lose(machine, host: str) -> None:
    """As the page for users says."""
    described = machine.sm("describe", "rehearsal")
    assert described.wait(GUARD_SECONDS) == 0, described.text
    line = re.search(r"Stewards +(.*)", described.text)
    assert line, described.text
    os.kill(int(re.search(rf"\b{host} (\d+)", line.group(1)).group(1)), signal.SIGKILL)


def test_a_lost_host_restarts_with_its_ranks_and_the_checkpoint(machine):
    job = begin(machine, "--spares", "1", last=18, hosts=3, per_host=2)
    wait_until("all ranks", lambda: job.text.count(" from 0") == 6, GUARD_SECONDS)
    lose(machine, "algo-2")
    assert job.wait(GUARD_SECONDS) == 0, job.text
    assert "algo-2 muster: warning: was lost: its steward was killed; it restarts" in job.text
    assert "Interrupted" in job.text and "Restarting" in job.text
    for rank in range(6):
        place = f"rank {rank} of 6 on algo-{rank // 2 + 1} from "
        starts = [int(each) for each in re.findall(place + r"(\d+)", job.text)]
        assert len(starts) == 2 and starts[0] == 0 and 0 < starts[1] < 18, job.text
    assert job.text.count("| done") == 6, job.text
    # The first attempt's files are not results, and nothing is left on the machine.
    model = machine.output / "model"
    assert sorted(path.name for path in model.iterdir()) == ["algo-1", "algo-2", "algo-3"]
    assert (model / "algo-2").read_text() == "attempt\nattempt\n"  # Two ranks, once each.
    wait_for_jobs_to_go(machine)
    logs = machine.sm("logs", "rehearsal")
    assert logs.wait(GUARD_SECONDS) == 0, logs.text
    for rank in range(6):
        assert logs.text.count(f"rank {rank} of 6 on") == 2, logs.text
    assert "attempt 1 ended; the lines below belong to attempt 2" in logs.text


def test_the_leader_is_lost_too_and_retries_bound_it(machine):
    job = begin(machine, "--retries", "1", last=600)
    lose(machine, "algo-1")
    job.wait_for_output(b"Restarting", GUARD_SECONDS)
    wait_until("the ranks anew", lambda: job.text.count("rank 1 of 2") == 2, GUARD_SECONDS)
    wait_for_checkpoint(machine, job)
    lose(machine, "algo-2")
    assert job.wait(GUARD_SECONDS) == 1, job.text
    assert "not restarted: a machine was lost 2 times" in job.text
    assert "host algo-2: lost: its steward was killed" in job.text
    wait_for_jobs_to_go(machine)


def test_without_a_word_of_it_the_job_fails_as_ever(machine):
    job = begin(machine, last=600)
    lose(machine, "algo-2")
    assert job.wait(GUARD_SECONDS) == 1, job.text
    assert "Restarting" not in job.text and "was lost" not in job.text
    assert "steward on algo-2: killed by SIGKILL" in job.text
    wait_for_jobs_to_go(machine)
