"""`sm fit --engine slurm --preflight`: results of nodes are stored under the nodes' names."""

import json

import pytest
from slurm_cluster import Cluster

pytestmark = pytest.mark.slurm

NODES = ("node1", "node2", "node3")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("slurm") / "cluster", 3) as cluster:
        yield cluster


def health(place) -> dict[str, str]:
    """What `sm nodes` shows of each node, by its name; "" where it shows nothing."""
    process = place.sm("nodes", "--json")
    assert process.wait(60) == 0, process.text
    return {node["Name"]: node.get("Preflight", "") for node in json.loads(process.text)["Nodes"]}


def test_a_full_preflight_is_asked_for_and_kept_by_node(place):
    assert set(health(place).values()) == {""}
    text = place.succeeds("print('at work')", "--preflight", hosts=3)
    assert "preflight: checked 3 hosts in " in text and text.count("at work") == 3, text
    found = health(place)
    assert set(found) == set(NODES) and all(found.values()), found
    assert "algo" not in " ".join(found), found
    # The site sets the threshold for reporting a difference; the last record is kept.
    tiny = ("--slurm", "preflight_disk_gib=999999999", "--slurm", "preflight=full")
    text = place.succeeds("print('at work')", *tiny, "--overwrite", hosts=2)
    assert text.count("free on the disk that holds the job's files") >= 2, text
    now = health(place)
    told = [node for node in NODES if "free on the disk" in now[node]]
    assert len(told) == 2 and [node for node in NODES if now[node] == found[node]], now


def test_without_a_word_of_it_nodes_are_compared_and_no_record_is_kept(place):
    text = place.succeeds("print('at work')", hosts=2)
    assert "preflight: checked 2 hosts in" not in text, text
    assert set(health(place).values()) == {""}
