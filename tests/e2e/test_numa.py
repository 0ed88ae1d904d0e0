"""Hosts and ranks next to their GPUs, on a machine with one faked NUMA node for each processor.

The tests' namespace has folders over those of the kernel and of NVIDIA's driver, which say that GPU
0 and 1 belong to the first processor, and 2 and 3 to the second. The kernel itself has one node:
memory of the second is refused, with a warning.
"""

import contextlib
import os
import pathlib
import re

import pytest
from image import STANDINS
from test_gpus import StandIns, finish, mounted

CPUS = sorted(os.sched_getaffinity(0))
PLACE = """
import os
with open("/proc/self/numa_maps") as maps:
    prefers = " prefer" in maps.read()
rank = os.environ.get("RANK", os.environ.get("OMPI_COMM_WORLD_RANK", os.environ["SM_CURRENT_HOST"]))
print("place", rank, sorted(os.sched_getaffinity(0)), prefers, os.environ["SM_NUM_CPUS"])
assert os.environ.get("MUSTER_NUMA", "off") == "off"
"""
OPERATOR = """
import os, subprocess, sys
script = "/tmp/place.py"
with open(script, "w") as file:
    file.write(PLACE)
options = ["--process_per_hosts", "2", *OPTIONS]
subprocess.run(["sm", "mpirun", *options, sys.executable, script], check=True)
"""

pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="needs two processors")


@contextlib.contextmanager
def two_nodes(folder: pathlib.Path, nodes: tuple[int, ...]):
    """`nodes`: that of each GPU."""
    for number, cpu in enumerate(CPUS[:2]):
        (folder / f"nodes/node{number}").mkdir(parents=True)
        (folder / f"nodes/node{number}/cpulist").write_text(f"{cpu}\n")
    for number, node in enumerate(nodes):
        place = f"0000:0{number}:00.0"
        told = folder / "driver/nvidia/gpus" / place
        told.mkdir(parents=True)
        told = told / "information"
        told.write_text(f"Bus Location: \t {place}\nDevice Minor: \t {number}\n")
        (folder / "pci/devices" / place).mkdir(parents=True)
        (folder / "pci/devices" / place / "numa_node").write_text(f"{node}\n")
    with contextlib.ExitStack() as stack:
        for kind in ("proc", "sysfs"):  # See test_gpu_faults.py.
            whole = folder / kind
            whole.mkdir()
            stack.enter_context(mounted(kind, whole, "-t", kind))
        stack.enter_context(mounted(folder / "driver", "/proc/driver"))
        stack.enter_context(mounted(folder / "nodes", "/sys/devices/system/node"))
        stack.enter_context(mounted(folder / "pci", "/sys/bus/pci"))
        yield


@pytest.fixture
def gpus(tmp_path, monkeypatch):
    """Makes machines whose GPUs belong to these nodes."""
    with contextlib.ExitStack() as stack:

        def make(*nodes: int) -> None:
            made = StandIns(tmp_path / "gpus", len(nodes))
            monkeypatch.setenv("MUSTER_CDI_FOLDERS", str(made.cdi))
            stack.enter_context(two_nodes(tmp_path / "numa", nodes))

        yield make


def places(text: str) -> dict[str, tuple[list[int], bool]]:
    """By host or rank: its processors, and whether it prefers memory."""
    found = re.findall(r"place (\S+) \[([\d, ]+)\] (True|False) (\d+)", text)
    return {
        who: ([int(cpu) for cpu in cpus.split(",")], prefers == "True")
        for who, cpus, prefers, _ in found
    }


def numa_line(machine, name: str) -> list[str]:
    """What `sm describe` says of it."""
    text = finish(machine.sm("describe", name))
    told = re.search(r"^NUMA +(.*(?:\n +.*)*)", text, re.MULTILINE)
    return [line.strip() for line in told.group(1).split("\n")] if told else []


def test_each_host_runs_next_to_its_gpus(machine, gpus):
    gpus(0, 0, 1, 1)
    words = ("--gpus", "2", "--verbose", "--name", "near")
    text = finish(machine.fit(PLACE, *words, hosts=2))
    first, second = CPUS[:2]
    assert places(text)["0"] == ([first], True), text
    # The kernel has no second node, whose memory it could prefer.
    assert places(text)["1"] == ([second], False), text
    assert "cannot set the preferred NUMA nodes to 1" in text, text
    assert numa_line(machine, "near") == [
        f"algo-1: CPUs {first} and memory of node 0, next to the GPUs",
        f"algo-2: CPUs {second} and memory of node 1, next to the GPUs",
    ]


def test_it_can_be_turned_off(machine, gpus):
    gpus(0, 0, 1, 1)
    text = finish(machine.fit(PLACE, "--gpus", "1", "--numa", "off", "--name", "off"))
    assert places(text)["algo-1"] == (CPUS, False), text
    assert numa_line(machine, "off") == ["algo-1: off"]
    other = machine.folder / "other"
    text = finish(machine.fit(PLACE, "--name", "none", output=other))
    assert places(text)["algo-1"] == (CPUS, False), text
    assert numa_line(machine, "none") == []


@pytest.mark.skipif(len(CPUS) != 2, reason="each node of this test has one of two processors")
def test_a_host_that_wants_more_than_a_node_has_stays(machine, gpus):
    gpus(1)
    text = finish(machine.fit(PLACE, "--gpus", "1", "--name", "alone"))
    assert places(text)["algo-1"] == (CPUS, False), text
    why = "the host's share is 2 CPUs, but node 1 of its GPUs has 1 CPU for it"
    assert numa_line(machine, "alone") == [f"algo-1: not next to the GPUs: {why}"]
    # A processor that is reserved for it is the right one.
    other = machine.folder / "other"
    text = finish(machine.fit(PLACE, "--gpus", "1", "--cpus", "1", "--verbose", output=other))
    assert places(text)["algo-1"][0] == [CPUS[1]], text


def test_no_host_leaves_the_processors_of_its_caller(machine, gpus):
    gpus(0, 0, 1, 1)
    os.sched_setaffinity(0, {CPUS[1]})
    try:
        job = machine.fit(PLACE, "--gpus", "1", "--name", "given")
    finally:
        os.sched_setaffinity(0, CPUS)
    finish(job)
    why = "the host's share is 1 CPU, but node 0 of its GPUs has 0 CPUs for it"
    assert numa_line(machine, "given") == [f"algo-1: not next to the GPUs: {why}"]


def test_ranks_of_torchrun_run_next_to_their_gpus(machine, gpus):
    gpus(0, 0, 1, 1)
    words = ("--gpus", "4", "--torchrun", "--env", f"PYTHONPATH={STANDINS}", "--bind", STANDINS)
    text = finish(machine.fit(PLACE, *words, "--name", "ranks", per_host=4))
    first, second = CPUS[:2]
    assert {rank: cpus for rank, (cpus, _) in places(text).items()} == {
        "0": [first],
        "1": [first],
        "2": [second],
        "3": [second],
    }, text
    assert numa_line(machine, "ranks") == [
        "algo-1: GPUs on all nodes: each of torchrun's ranks runs next to its GPU"
    ]
    other = machine.folder / "other"
    words = (*words, "--numa", "off")
    text = finish(machine.fit(PLACE, *words, per_host=4, output=other))
    assert all(cpus == CPUS for cpus, _ in places(text).values()), text


@pytest.mark.parametrize(("options", "bound"), [((), False), (("--numa",), True)])
def test_ranks_of_mpi_do_if_they_are_to(machine, gpus, options, bound):
    gpus(0, 1)
    script = OPERATOR.replace("PLACE", repr(PLACE)).replace("OPTIONS", repr(list(options)))
    text = finish(machine.fit(script, "--gpus", "2"))
    first, second = CPUS[:2]
    want = {"0": [first], "1": [second]} if bound else {"0": CPUS, "1": CPUS}
    assert {rank: cpus for rank, (cpus, _) in places(text).items()} == want, text
