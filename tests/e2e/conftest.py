"""Fixtures of the end-to-end tests."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from browser import Browser
from fit import Machine
from lab import REPOSITORY, SM, Lab
from outside import Outside
from process import state_of, wait_until
from slurm_cluster import Cluster
from slurm_jobs import Place, wait_until_clean
from training import Training


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    if "MUSTER_SANDBOX" not in os.environ and os.geteuid() == 0:
        enter_sandbox(config)
    # pytest-xdist names a folder in its own /tmp, which this worker's sandbox does not have.
    if hasattr(config, "workerinput"):
        config.option.basetemp = None
    for mark in (
        "clients: with clients of others that build/clients has; `make test-clients` runs it",
        "gpu: tools/gpu-check with stand-ins; `make test-gpu-check` runs it",
        "deep: takes long; `make test-deep` runs it",
        "framework: needs what `make frameworks` builds; `make test-frameworks` runs it",
        "page: in Chromium; `make test-page` runs it",
        "roots: needs a root folder of another distribution; `make test-distributions` runs it",
        "sdk: with SageMaker's SDKs and the AWS CLI; `make test-sdk` runs it",
        "slurm: on a Slurm cluster of the test's own; `make test-slurm` runs it",
        "smoke: the gate runs it although it has one of the other marks",
    ):
        config.addinivalue_line("markers", mark)


def enter_sandbox(config):
    """Runs this pytest again in a sandbox, where it can change nothing of the machine's."""
    config.pluginmanager.getplugin("capturemanager").stop_global_capturing()
    python = os.path.relpath(sys.executable, REPOSITORY)
    os.execv(SANDBOX, [SANDBOX, python, "-m", "pytest", *sys.argv[1:]])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config, specs):
    """Each worker has a sandbox, so that what its test leaves behind can be seen."""
    for spec in specs:
        spec.python = f"{SANDBOX} {sys.executable}"
    # A log is no terminal of 80 columns: the list of failed tests has room for the reasons.
    writer = config.get_terminal_writer()
    writer.fullwidth = max(writer.fullwidth, 160)


def pytest_sessionstart(session):
    if os.geteuid() != 0:
        pytest.exit("the end-to-end tests create namespaces: run them as root", returncode=2)
    if not SM.exists():
        pytest.exit(f"{SM} is missing: `make sm` builds it", returncode=2)


SANDBOX = str(REPOSITORY / "tests" / "sandbox")
# Sandboxes share the repository, so each worker has a folder in it.
FOLDERS = REPOSITORY / "build" / "e2e" / os.environ.get("PYTEST_XDIST_WORKER", "main")


def our_programs() -> set[str]:
    """Living processes of the binary under test, wherever they see it."""
    binary = SM.stat()
    found = set()
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            same = os.path.samestat(os.stat(f"/proc/{entry}/exe"), binary)
        except OSError:
            continue
        if same and state_of(int(entry)) not in ("", "Z", "X"):
            found.add(entry)
    return found


def our_loop_devices() -> set[str]:
    """Loop devices have no namespaces: ours are those whose file lies in the sandbox or FOLDERS."""
    found = set()
    for path in pathlib.Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            file = pathlib.Path(path.read_text().strip())
        except OSError:
            continue  # Detached meanwhile.
        if file.is_relative_to(FOLDERS) or not file.is_relative_to(REPOSITORY) and file.exists():
            found.add(path.parts[3])
    return found


def machine_state() -> dict[str, set[str]]:
    """What a job could leave behind on the machine itself."""
    links = subprocess.run(["ip", "-br", "link"], capture_output=True, text=True, check=True).stdout
    with open("/proc/self/mountinfo") as mounts:
        mounted = {line.split()[4] for line in mounts}
    find = ["find", "/sys/fs/cgroup", "-type", "d", "-path", "*/muster*/*"]
    groups = subprocess.run(find, capture_output=True, text=True, check=False).stdout
    noted = pathlib.Path("/run/muster/gateways")
    tables = subprocess.run(["nft", "list", "tables"], capture_output=True, text=True, check=False)
    return {
        "tables": set(tables.stdout.splitlines()),
        "loop devices": our_loop_devices(),
        "ways outside": {path.name for path in noted.iterdir()} if noted.is_dir() else set(),
        "links": {line.split()[0] for line in links.splitlines()},
        "mounts": mounted,
        "cgroups": set(groups.split()),
        "programs": our_programs(),
    }


def leftovers(before: dict[str, set[str]]) -> dict[str, set[str]]:
    """What is there now and was not before."""
    now = machine_state()
    new = {what: now[what] - before[what] for what in now}
    return {what: items for what, items in new.items() if items}


@pytest.fixture
def nothing_left():
    """Fails a test of `sm fit` that leaves a link, mount, cgroup, rule or process behind.

    It takes whatever is new for the test's: run no other job on the machine meanwhile.
    """
    before = machine_state()
    yield before
    try:
        wait_until("the machine to be as before", lambda: not leftovers(before), 10)
    except AssertionError:
        raise AssertionError(f"left behind: {leftovers(before)}") from None


@pytest.fixture
def folder(request) -> pathlib.Path:
    """An empty folder of the test's own, under build/ so that it is on a real file system."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", request.node.name)[:80]
    path = FOLDERS / f"{request.node.path.stem}-{name}"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    yield path
    if not getattr(request.node, "failed", False):
        shutil.rmtree(path, ignore_errors=True)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call" and report.failed:
        item.failed = True
        cluster = getattr(item, "funcargs", {}).get("cluster")
        if cluster:  # A cluster's logs are removed with it.
            report.sections.append(("Slurm's view at the failure", cluster.view()))


@pytest.fixture
def lab(folder):
    """A lab without hosts; hosts are made on demand. It shows nothing of itself on the machine."""
    with Lab(folder) as lab:
        yield lab


@pytest.fixture
def training(lab):
    """Makes trainings; at the end no host may have a process left of one that ended by itself."""
    made: list[Training] = []

    def make(*args, **options) -> Training:
        made.append(Training(lab, *args, **options))
        return made[-1]

    yield make
    for one in made:
        one.end()


@pytest.fixture
def machine(folder, nothing_left):
    """Where a test's `sm fit` runs; whatever it left is swept."""
    machine = Machine(folder)
    yield machine
    machine.close()


@pytest.fixture
def outside(folder):
    outside = Outside(folder)
    yield outside
    outside.close()


@pytest.fixture
def at(outside, machine):
    """The machine whose `sm` runs inside of it; at the end nothing is left in its network."""
    machine.within = outside.inside
    yield machine
    outside.wait_for_nothing_left()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Three nodes, on which a file's tests leave nothing."""
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", 3) as cluster:
        yield cluster
        wait_until_clean(cluster)


@pytest.fixture
def place(cluster, tmp_path):
    """Jobs on the Slurm cluster of the test's file."""
    place = Place(cluster, tmp_path)
    yield place
    place.end()


@pytest.fixture(scope="module")
def browser(served):
    """A browser that is in, of a module whose `served` is a page.Served."""
    with Browser() as one:
        served.enter(one)
        yield one
