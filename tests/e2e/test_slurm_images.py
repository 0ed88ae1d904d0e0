"""`--slurm hosts=apptainer` and `enroot`: light hosts in an image that such a program opens.

The programs are stand-ins (standins/images), which take the same command lines and enter a root.
"""

import pathlib
import re
import shutil
import tempfile

import pytest
from lab import REPOSITORY, SM, VENV
from oci_image import layer, programs
from process import wait_until
from slurm_jobs import interrupt, wait_until_clean

pytestmark = pytest.mark.slurm

TOOLS = ("apptainer", "enroot")
ODD = "two words; $HOME `id` \"quoted\" it's"

TRAIN = r"""
echo "host $SM_CURRENT_HOST of the image $(cat /etc/box), shell at $0"
test -e /usr/bin/python3 && echo "sees the node's programs"
echo "team <$TEAM> odd <$ODD> path <$PATH>"
echo "muster <$MUSTER_JOB_KEY_FILE$MUSTER_STEWARD_FD> slurm <$SLURM_JOB_ID$APPTAINER_NAME>"
while read -r address name; do echo "knows $name"; done </etc/hosts
echo weights >"$SM_MODEL_DIR/$SM_CURRENT_HOST"
echo changed >/opt/ml/input/data/train/words
exit "$SM_HP_CODE"
"""

WAITS = r"""
trap 'echo told to stop; exit 1' TERM
echo at work
sleep 600 & wait
"""


@pytest.fixture(scope="module")
def tools():
    """The stand-ins and their registry, where nodes have them, too."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="muster-images-", dir="/var/tmp"))
    folder.chmod(0o755)
    shutil.copytree(REPOSITORY / "tests/e2e/standins/images", folder / "bin")
    (folder / "images").mkdir()
    members = programs("/bin/sh", "/bin/cat", "/bin/sleep", str(SM))
    del members[str(SM).removeprefix("/")]
    (folder / "images/box.tar").write_bytes(layer({**members, "etc/box": b"box"}))
    shutil.copy(folder / "images/box.tar", folder / "images/team_box_v1.tar")
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def place(place, tools):
    place.path = f"{tools}/bin:{VENV}/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return place


def fit(place, tool: str, image, script: str, *words, hosts: int = 1):
    (place.source / "train.sh").write_text("#!/bin/sh\n" + script)
    named = ("train.sh", "--source-dir", place.source, "--image", image)
    return place.start(*named, "--slurm", f"hosts={tool}", *words, hosts=hosts)


@pytest.mark.parametrize("tool", TOOLS)
def test_hosts_of_an_image_meet_and_have_the_job_and_nothing_of_the_node(place, tools, tool):
    data = place.folder / "data"
    data.mkdir()
    (data / "words").write_text("forty-two")
    words = ("--input", f"train={data}", "--hyperparameter", "code=0", "--env", f"ODD={ODD}")
    job = fit(place, tool, tools / "images/box.tar", TRAIN, *words, hosts=2)
    assert job.wait(90) == 0, job.text
    for host in ("algo-1", "algo-2"):
        assert f"host {host} of the image box" in job.text, job.text
        assert (place.output / "model" / host).read_text() == "weights\n"
    assert "sees the node's programs" not in job.text
    assert job.text.count(f"team <of the image> odd <{ODD}>") == 2, job.text
    assert job.text.count("path </opt/bin:/bin:/run/muster/bin>") == 2, job.text
    assert job.text.count("muster <> slurm <>") == 2, job.text
    assert job.text.count("knows algo-2") == 2
    assert (data / "words").read_text() == "forty-two"
    wait_until_clean(place.cluster)


@pytest.mark.parametrize("tool", TOOLS)
def test_an_image_is_pulled_by_name_and_a_failing_script_is_reported(place, tool):
    script = "echo in $(cat /etc/box) >&2; exit 7"
    job = fit(place, tool, "team/box:v1" if tool == "enroot" else "docker://team/box:v1", script)
    assert job.wait(90) == 1, job.text
    assert "in box" in job.text and "exit code 7" in job.text, job.text
    job = fit(place, tool, "docker://team/none:v1", script, "--overwrite")
    assert job.wait(90) == 1, job.text
    assert "the registry has no such image" in job.text, job.text
    assert "Restarting" not in job.text


@pytest.mark.parametrize("tool", TOOLS)
def test_a_stop_reaches_the_script_in_its_image(place, tools, tool):
    job = fit(place, tool, tools / "images/box.tar", WAITS, hosts=2)
    wait_until("both hosts", lambda: job.text.count("at work") == 2, 60)
    interrupt(job)
    assert job.wait(30) == 130, job.text
    for host in ("algo-1", "algo-2"):
        assert re.search(rf"{host} +\| told to stop", job.text), job.text
    assert "Stopped" in job.text
    wait_until_clean(place.cluster)


@pytest.mark.deep
@pytest.mark.parametrize("tool", TOOLS)
def test_nothing_of_a_host_outlives_its_steward(place, tools, tool):
    job = fit(place, tool, tools / "images/box.tar", WAITS, "--retries", "0")
    job.wait_for_output(b"at work", 60)
    cluster = place.cluster
    found = cluster.out("node1", "pgrep", "-f", "sm (node|steward)").split()
    assert cluster.run("node1", "pgrep", "-f", "train.sh").stdout != ""
    cluster.out("node1", "kill", "-9", *found)
    job.wait(90)
    for what in ("train.sh", f"bin/{tool}"):
        gone = lambda what=what: cluster.run("node1", "pgrep", "-f", what).stdout == ""
        wait_until(f"no {what}", gone, 20)
    left = cluster.out("node1", "sh", "-c", "ls -d /tmp/muster-*")
    cluster.out("node1", "touch", "-d", "2 minutes ago", left)
    after = place.fit("print('well')", "--overwrite")
    assert after.wait(90) == 0, after.text
    wait_until_clean(cluster)


def test_what_a_node_lacks_is_named_with_the_node(place, tools):
    job = fit(place, "enroot", "/var/tmp/none.sqsh", WAITS)
    assert job.wait(90) == 1, job.text
    assert "node1: /var/tmp/none.sqsh: No such file or directory" in job.text, job.text
    job = fit(place, "enroot", "/etc/hostname", WAITS, "--overwrite")
    assert job.wait(90) == 1, job.text
    assert "enroot create image: enroot: /etc/hostname: not an image" in job.text, job.text
    job = fit(place, "apptainer", "/etc/hostname", WAITS, "--overwrite")
    assert job.wait(90) == 1, job.text
    assert "apptainer on algo-1: exit code 1" in job.text, job.text
    why = "apptainer: /etc/hostname: not an image"
    assert f"! {why}" in job.text and f"exit code 1: {why}" in job.text, job.text
    tool = tools / "bin/apptainer"
    place.cluster.out("node2", "mount", "--bind", "/dev/null", tool)
    try:
        job = fit(place, "apptainer", tools / "images/box.tar", WAITS, "--overwrite", hosts=2)
        assert job.wait(90) == 1, job.text
    finally:
        place.cluster.out("node2", "umount", tool)
    assert "node2: apptainer is not installed there" in job.text, job.text
    assert "Restarting" not in job.text
    wait_until_clean(place.cluster)


def test_an_ordinary_users_hosts_are_in_the_image_as_that_user(place, tools):
    user = "65534"
    home = tools / "home"  # Where others than root find it.
    place.source, place.state, place.output = home / "source", home / "state", home / "output"
    place.source.mkdir(parents=True)
    for folder in (home, place.source):
        shutil.chown(folder, int(user), int(user))
    place.as_user = ("setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups")
    script = "echo runs in $(cat /etc/box); while read -r l; do echo $l; done </proc/self/status"
    for tool in TOOLS:
        job = fit(place, tool, tools / "images/box.tar", script, "--overwrite")
        assert job.wait(90) == 0, job.text
        assert "runs in box" in job.text and f"Uid: {user} {user}" in job.text, job.text
    wait_until_clean(place.cluster)
