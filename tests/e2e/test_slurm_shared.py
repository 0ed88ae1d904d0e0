"""`--slurm shared=FOLDER`: what nodes have there, too, is not brought to each."""

import pathlib
import shutil
import tempfile

import pytest
from process import wait_until
from slurm_jobs import wait_until_clean
from test_slurm_containers import CACHE, CONTAINERS, SHELL, TRAIN, import_image

pytestmark = pytest.mark.slurm

READS = """
import os, time
print("program", open("/proc/1/cmdline").read().split(chr(0))[0], flush=True)
print("data", open("/opt/ml/input/data/train/words").read(), flush=True)
open("/opt/ml/input/data/train/words", "w").write("changed")
while not os.path.exists(os.environ.get("WAITS_FOR", "/")): time.sleep(0.05)
open(os.environ["SM_MODEL_DIR"] + "/" + os.environ["SM_CURRENT_HOST"], "w").write("weights")
"""


@pytest.fixture
def shared():
    """Nodes of the cluster see all of this machine's files but those in /tmp."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-shared-", dir="/var/tmp"))
    yield folder
    shutil.rmtree(folder)


def of_jobs(shared: pathlib.Path) -> list[str]:
    """Folders of jobs that are there; programs stay for the next."""
    return [path.name for path in shared.glob("muster-0/*") if path.is_dir()]


def test_program_and_inputs_lie_in_the_shared_folder_once_and_go_with_the_job(place, shared):
    data = place.folder / "data"
    data.mkdir()
    (data / "words").write_text("forty-two")
    words = ("--slurm", f"shared={shared}", "--input", f"train={data}")
    job = place.fit(READS + "\nprint('over', flush=True)", *words, hosts=3, brings=True)
    assert job.wait(90) == 0, job.text
    assert job.text.count("data forty-two") == 3 and job.text.count("over") == 3
    for host in ("algo-1", "algo-2", "algo-3"):
        assert (place.output / "model" / host).read_text() == "weights"
    programs = list(shared.glob("muster-0/sm-*"))
    assert len(programs) == 1 and programs[0].stat().st_mode & 0o7777 == 0o700
    assert of_jobs(shared) == []
    wait_until_clean(place.cluster)


def test_nothing_of_it_is_on_the_nodes_and_a_channel_that_lies_there_is_not_changed(place, shared):
    channel = shared / "train"
    channel.mkdir()
    (channel / "words").write_text("forty-two")
    go = shared / "go"
    words = ("--slurm", f"shared={shared}", "--input", f"train={channel}")
    words += ("--env", f"WAITS_FOR={go}")
    job = place.fit(READS, *words, hosts=2, brings=True)
    wait_until("both hosts", lambda: job.text.count("data forty-two") == 2, 60)
    assert len(of_jobs(shared)) == 1
    for node in ("node1", "node2"):
        listed = place.cluster.out(node, "sh", "-c", "ls -d /tmp/muster-*").split()
        assert len(listed) == 1, listed  # The job's folder, and no program or archive.
    go.touch()
    assert job.wait(90) == 0, job.text
    assert (channel / "words").read_text() == "forty-two"
    assert of_jobs(shared) == []


@pytest.mark.deep
def test_a_folder_of_checkpoints_in_it_is_the_jobs_and_the_next_attempt_goes_on_from_it(
    place, shared
):
    script = """
import os, time
path = "/opt/ml/checkpoints/step"
if os.path.exists(path):
    print("goes on from", open(path).read(), flush=True)
else:
    open(path, "w").write("7")
    print("first try", flush=True)
    time.sleep(600)
"""
    kept = shared / "kept"
    words = ("--slurm", f"shared={shared}", "--checkpoints", kept)
    job = place.fit(script, *words, hosts=2)
    wait_until("both hosts", lambda: job.text.count("first try") == 2, 60)
    wait_until("the checkpoint", lambda: (kept / "step").exists(), 60)
    place.cluster.out("node2", "ip", "link", "set", "eth0", "down")
    try:
        job.wait_for_output(b"Restarting", 60)
    finally:
        place.cluster.out("node2", "ip", "link", "set", "eth0", "up")
    assert job.wait(120) == 0, job.text
    assert job.text.count("goes on from 7") == 2, job.text
    assert (kept / "step").read_text() == "7"
    job = place.fit(script, "--checkpoints", place.folder / "own", "--overwrite")
    assert job.wait(60) != 0
    assert "--slurm shared= names" in job.text, job.text


def test_layers_of_an_image_come_by_the_shared_folder(place, shared):
    import_image(place, place.folder / "one", "team/box:v1", SHELL, {"opt/bin/train": TRAIN})
    words = (*CONTAINERS, "--slurm", f"folder={CACHE}", "--slurm", f"shared={shared}")
    try:
        job = place.fit_image(*words, "--image", "team/box:v1", hosts=2)
        assert job.wait(90) == 0, job.text
        assert "team blue on algo-2" in job.text
        assert of_jobs(shared) == []
    finally:
        for node in ("node1", "node2", "node3"):
            place.cluster.run(node, "rm", "-rf", CACHE)
    wait_until_clean(place.cluster)


def test_an_archive_that_is_not_what_was_written_is_refused_by_name(place, shared):
    other = place.cluster.out(
        "login", "sbatch", "--parsable", "-N3", "--exclusive", "--output=/dev/null", "--wrap",
        "sleep 600",
    )
    job = place.fit(READS, "--slurm", f"shared={shared}", "--retries", "0")
    job.wait_for_output(b"nodes are not free yet", 60)
    archive = next(shared.glob("muster-0/*/archive"))
    archive.write_bytes(archive.read_bytes()[:-512])
    place.cluster.run("login", "scancel", other)
    assert job.wait(90) == 1, job.text
    assert "archive: does not match its digest" in job.text, job.text
    assert of_jobs(shared) == []
    for node in ("node1", "node2", "node3"):  # What the steward said, which reached no engine.
        place.cluster.run(node, "sh", "-c", "rm -f /tmp/muster-*.log")
    wait_until_clean(place.cluster)
