"""`sm fit --engine slurm`: jobs on a real Slurm cluster, without a folder that its nodes share."""

import json
import tarfile

import pytest
from lab import SM
from process import wait_until
from slurm_jobs import interrupt, left_on

pytestmark = pytest.mark.slurm

MPI = """
import os, socket, sys
from mpi4py import MPI
world = MPI.COMM_WORLD
ranks = world.gather((world.rank, socket.gethostname()))
print(f"rank {world.rank} of {world.size} on {socket.gethostname()}", flush=True)
if world.rank == 0:
    os.makedirs(os.environ["SM_MODEL_DIR"], exist_ok=True)
    with open(os.environ["SM_MODEL_DIR"] + "/ranks", "w") as file:
        file.write(repr(ranks))
"""


@pytest.mark.smoke
def test_three_hosts_of_two_processes_run_under_mpi(place):
    text = place.succeeds(MPI, "--processes-per-host", "2", hosts=3)
    for rank in range(6):
        assert f"rank {rank} of 6 on algo-{rank // 2 + 1}" in text
    assert "Completed" in text
    ranks = (place.output / "model" / "ranks").read_text()
    assert ranks.count("algo-3") == 2


ONCE = """
import os, sys
print("host", os.environ["SM_CURRENT_HOST"], "arguments", sys.argv[1:], flush=True)
print("data", open("/opt/ml/input/data/train/words").read(), flush=True)
print("slurm", [name for name in os.environ if name.startswith(("SLURM_", "PMI"))], flush=True)
open(os.environ["SM_MODEL_DIR"] + "/" + os.environ["SM_CURRENT_HOST"], "w").write("weights")
"""


def test_folders_and_the_program_are_brought_and_what_hosts_leave_comes_back(place):
    data = place.folder / "data"
    data.mkdir()
    (data / "words").write_text("forty-two")
    text = place.succeeds(
        ONCE, "--input", f"train={data}", "--hyperparameter", "epochs=3", hosts=2, brings=True
    )
    for host in ("algo-1", "algo-2"):
        assert f"host {host} arguments ['--epochs', '3']" in text
        assert (place.output / "model" / host).read_text() == "weights"
    assert text.count("data forty-two") == 2
    assert text.count("slurm []") == 2
    assert (place.output / "log" / "algo-2.log").read_text().count("forty-two") == 1


@pytest.mark.smoke
def test_a_rank_that_fails_is_named_and_its_job_is_not_started_again(place):
    script = MPI + "\nif world.rank == 3: sys.exit(7)\nworld.Barrier()\n"
    job = place.fit(script, "--processes-per-host", "2", hosts=2)
    assert job.wait(90) == 1, job.text
    assert "rank 3 on algo-2" in job.text and "exit code 7" in job.text
    assert "Restarting" not in job.text
    wait_until("Slurm to be free of it", lambda: place.queue() == "", 20)


HANGS = """
import os
print("at work", flush=True)
os.read(os.pipe()[0], 1)
"""


@pytest.mark.deep
def test_a_job_that_hangs_is_seen_over_the_links_of_its_nodes(place):
    job = place.fit(HANGS, "--hang-after", "10", "--end-hung", "--name", "still", hosts=2)
    wait_until("the hosts", lambda: job.out.decode().count("| at work") == 2, 60)
    told = place.sm("stacks", "still")
    assert told.wait(60) == 0, told.text
    assert "algo-1, algo-2\n" in told.text and "(waits in " in told.text, told.text
    assert job.wait(90) == 1, job.text
    assert "the job hangs: no output and no progress for 10 s" in job.text
    assert "muster: warning: " in job.text, job.text


WAITS = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))
print("at work", flush=True)
time.sleep(600)
"""


@pytest.mark.smoke
def test_ctrl_c_stops_hosts_with_their_grace_and_frees_the_nodes(place):
    job = place.fit(WAITS, hosts=2)
    wait_until("both hosts", lambda: job.text.count("at work") == 2, 60)
    interrupt(job)
    assert job.wait(30) == 130, job.text
    assert "told to stop" in job.text and "Stopped" in job.text
    wait_until("Slurm to be free of it", lambda: place.queue() == "", 20)


def test_what_waits_says_why_and_ctrl_c_takes_it_out_of_the_queue(place):
    cluster = place.cluster
    other = cluster.out(
        "login", "sbatch", "--parsable", "-N3", "--exclusive", "--output=/dev/null", "--wrap",
        "sleep 600",
    )
    try:
        job = place.fit(WAITS)
        job.wait_for_output(b"nodes are not free yet (Resources)", 60)
        assert "PENDING muster-" in place.queue()
        interrupt(job)
        assert job.wait(30) == 130, job.text
        wait_until("it to leave the queue", lambda: "muster-" not in place.queue(), 20)
    finally:
        cluster.run("login", "scancel", other)


def test_an_operators_scancel_is_a_stop_that_says_by_whom(place):
    job = place.fit(WAITS)
    job.wait_for_output(b"at work", 60)
    number = place.cluster.out("login", "squeue", "-h", "-o", "%i")
    place.cluster.out("login", "scancel", number)
    job.wait(60)
    assert "cancelled in Slurm" in job.text, job.text
    assert "told to stop" in job.text
    assert "Stopped" in job.text


def test_no_secret_is_where_others_of_the_cluster_see_it(place):
    job = place.fit(WAITS)
    job.wait_for_output(b"at work", 60)
    keys = [path.read_text().strip() for path in place.state.rglob("key")]
    keys += [json.loads(path.read_text())["key"] for path in place.state.rglob("attempt.json")]
    assert len(keys) == 2 and all(len(key) == 64 for key in keys)
    number = place.cluster.out("login", "squeue", "-h", "-o", "%i")
    seen = place.cluster.out("login", "scontrol", "show", "job", "-dd", number)
    seen += place.cluster.out("login", "scontrol", "write", "batch_script", number, "-")
    for node in ("login", "node1", "node2", "node3"):
        seen += place.cluster.out(node, "ps", "-eo", "args")
        seen += place.cluster.out(node, "sh", "-c", "cat /proc/[0-9]*/environ 2>/dev/null; true")
        seen += place.cluster.out(node, "sh", "-c", "ls -l /tmp")
    interrupt(job)
    job.wait(30)
    assert "muster-" in seen
    for key in keys:
        assert key not in seen


def test_a_node_that_is_cut_off_is_named_and_the_job_goes_on_without_it(place):
    cluster = place.cluster
    script = MPI + """
import time
if not os.path.exists("/opt/ml/input/data/train/go"):
    print("first try on", socket.gethostname(), flush=True)
    time.sleep(600)
"""
    data = place.folder / "data"
    data.mkdir()
    words = ("--name", "cut", "--input", f"train={data}", "--processes-per-host", "1")
    job = place.fit(script, *words, hosts=2)
    wait_until("both hosts", lambda: job.text.count("first try on") == 2, 60)
    nodes = cluster.out("login", "squeue", "-h", "-t", "R", "-o", "%N")
    assert nodes == "node[1-2]"
    archive = next(place.state.rglob("archive"))
    with tarfile.open(archive, "a") as tar:  # The second attempt finds this among its inputs.
        tar.addfile(tarfile.TarInfo("channel-train/go"))
    cluster.out("node2", "ip", "link", "set", "eth0", "down")
    try:
        job.wait_for_output(b"Restarting", 60)
    finally:
        cluster.out("node2", "ip", "link", "set", "eth0", "up")
    wait_until("the stray to be told to end", lambda: not left_on(cluster, "node2"), 20)
    assert job.wait(120) == 0, job.text
    assert "Interrupted" in job.text
    assert "algo-2" in job.text and "lost" in job.text
    assert "rank 1 of 2 on algo-2" in job.text
    for log in (
        (place.output / "log" / "all.log").read_text(),
        (place.output / "log" / "algo-2.log").read_text(),
        cluster.out("login", "env", f"MUSTER_STATE={place.state}", SM, "logs", "cut"),
    ):
        between = log.index("attempt 1 ended")
        assert log.index("first try on") < between < log.rindex("rank 1 of 2 on algo-2"), log
