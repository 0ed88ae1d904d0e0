"""What another user of a cluster's node can do to a job that comes there."""

import contextlib
import pathlib

import pytest
from process import Process, wait_until
from slurm_cluster import Cluster
from slurm_jobs import wait_until_clean

pytestmark = pytest.mark.slurm

NODES = ("node1", "node2")
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
# A squatted file records the user id that runs it.
SQUATTER = "#!/bin/sh\nid -u >>/tmp/owned\n"
LEFT = "owned of-root mine enough"
SETTINGS = pathlib.Path("/proc/sys/fs")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", len(NODES)) as cluster:
        yield cluster


@pytest.fixture(scope="module", autouse=True)
def any_link():
    """Lets users link to files of others, as with the kernel's defaults.

    The settings apply to the whole machine.
    """
    settings = [SETTINGS / "protected_symlinks", SETTINGS / "protected_hardlinks"]
    before = [setting.read_text() for setting in settings]
    try:
        for setting in settings:
            setting.write_text("0")
        yield
    except PermissionError:
        pytest.skip("/proc/sys/fs cannot be written here")
    finally:
        for setting, value in zip(settings, before):
            with contextlib.suppress(PermissionError):
                setting.write_text(value)


@contextlib.contextmanager
def nodes_busy(cluster: Cluster):
    """All nodes have another job, for as long as this is entered."""
    words = ["--exclusive", "--output=/dev/null", "--wrap", "sleep 600"]
    other = cluster.out("login", "sbatch", "--parsable", "-N2", *words)
    try:
        yield
    finally:
        cluster.run("login", "scancel", other)


def clear(cluster: Cluster) -> None:
    for node in NODES:
        cluster.run(node, "sh", "-c", f"cd /tmp; rm -rf muster-* {LEFT}")
    wait_until_clean(cluster, nodes=NODES)


def plant(cluster: Cluster, *script: str) -> None:
    """Runs a script of another user's on each node; root has a file there that all may read."""
    for node in NODES:
        cluster.out(node, "sh", "-c", "echo go >/tmp/of-root")
        cluster.out(node, *NOBODY, "sh", "-ec", "\n".join(script), SQUATTER)


# One of these lines alone would not deceive the job.
GO_BY_LINK = "ln -s /tmp/of-root $start.go"
GO_BY_HARD_LINK = "ln /tmp/of-root $start.go"
GO_OF_HIS = "echo go >$start.go"
PROGRAM = 'printf "%s" "$0" >$start.sm; chmod 755 $start.sm'
PROGRAM_BY_LINK = 'printf "%s" "$0" >/tmp/mine; chmod 755 /tmp/mine; ln -s /tmp/mine $start.sm'
ORDER = "echo {} >$start.job; ln -s /etc/hostname $start.tar"
LOG = "mkfifo -m 666 $start.log"
FOLDER = "mkdir -m 777 $start"


@pytest.mark.parametrize(
    "lines",
    [
        (GO_BY_LINK, PROGRAM, LOG),
        (GO_BY_HARD_LINK, PROGRAM_BY_LINK, ORDER),
        (GO_OF_HIS, PROGRAM, ORDER, LOG, FOLDER),
    ],
    ids=["link", "hard-link", "files"],
)
def test_names_that_the_queue_shows_are_of_no_use_to_another_user(place, lines):
    """Any user of a node can take these names while the job waits."""
    with nodes_busy(place.cluster):
        job = place.fit("print('at work', flush=True)", brings=True)
        wait_until("it to wait", lambda: "PENDING muster-" in place.queue(), 30)
        row = next(line for line in place.queue().splitlines() if "PENDING muster-" in line)
        plant(place.cluster, f"start=/tmp/muster-{row[-16:]}", *lines)
    try:
        assert job.wait(90) == 0, job.text
        assert "at work" in job.text and "Restarting" not in job.text, job.text
        for node in NODES:
            assert place.cluster.run(node, "cat", "/tmp/owned").stdout == ""
            assert place.cluster.out(node, "cat", "/tmp/of-root") == "go"
    finally:
        clear(place.cluster)


# Takes all names beside each that appears, over and over.
WATCHER = """
umask 0
while [ ! -e /tmp/enough ]; do
  for seen in /tmp/muster-*; do
    [ -e "$seen" ] || [ -L "$seen" ] || continue
    start=${seen%%.*}
    printf '%s' "$0" >/tmp/mine
    chmod 755 /tmp/mine 2>/dev/null
    ln /tmp/mine "$start.sm" 2>/dev/null
    ln -s /tmp/of-root "$start.go" 2>/dev/null
    ln /tmp/of-root "$start.tar" 2>/dev/null
    ln -s /tmp/mine "$start.job" 2>/dev/null
    mkdir -m 777 "$start" 2>/dev/null
  done
done
"""


def test_who_takes_each_name_that_appears_gets_a_job_at_most_to_fail_by_name(place):
    cluster = place.cluster
    plant(cluster, ":")
    watchers = [
        Process(cluster.argv(node, *NOBODY, "sh", "-c", WATCHER, SQUATTER)) for node in NODES
    ]
    try:
        job = place.fit("print('at work', flush=True)", hosts=2, brings=True)
        code = job.wait(180)
        if code != 0:
            assert "could not be copied" in job.text or "could not start" in job.text, job.text
        for node in NODES:
            assert cluster.run(node, "cat", "/tmp/owned").stdout == "", job.text
            assert cluster.out(node, "cat", "/tmp/of-root") == "go"
    finally:
        for node, watcher in zip(NODES, watchers):
            cluster.out(node, "touch", "/tmp/enough")
            watcher.wait(30)
        clear(cluster)
