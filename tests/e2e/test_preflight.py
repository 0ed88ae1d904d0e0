"""Preflight: hosts compare themselves before the program runs, and the odd one is named."""

import json
import re

import pytest

from test_by_hand import Hands

HOSTS = ["--hosts", "algo-[1-3]", "--key-file", "/etc/job.key"]
# Ignores differences between namespaces that are only noise of a busy machine.
CALM = {
    "MUSTER_STATE": "/opt/state",
    "MUSTER_PREFLIGHT_BANDWIDTH_RATIO": "0.1",
    "MUSTER_PREFLIGHT_LATENCY_RATIO": "1000",
    "MUSTER_PREFLIGHT_DISK_GIB": "0",
    "MUSTER_PREFLIGHT_MEMORY_PERCENT": "0",
}
# Without a limit for bandwidth: a busy machine once measured 0.3 Gbit/s, and 8.6 on other links.
NO_SPEEDS = {**CALM, "MUSTER_PREFLIGHT_BANDWIDTH_RATIO": "0"}


@pytest.fixture
def hands(lab):
    return lambda count: Hands(lab, count)


def findings(job: Hands) -> list[str]:
    """Without the topics that follow errors."""
    line = r"(?:warning|error): preflight: (.*?)(?: \(sm explain .*\))?$"
    return re.findall(line, job.runs["algo-1"].text, re.M)


def preflight(job: Hands, *words, code=0, env=None) -> list[str]:
    codes = job.start("preflight", *HOSTS, *words, env={**CALM, **(env or {})}).wait()
    assert set(codes.values()) == {code}, f"{codes}\n{job.story()}"
    return findings(job)


def test_hosts_that_are_alike_are_shown_and_nothing_is_odd(hands):
    job = hands(3)
    assert preflight(job) == []
    said = job.runs["algo-1"].text
    assert re.search(r"preflight: checked 3 hosts in \d+ ms, 0 findings", said), said
    for way in ("1  algo-2", "2  algo-1", "2  algo-3", "3  algo-2", "3  algo-1", "1  algo-3"):
        assert re.search(rf"^algo-{way}  [\d.]+ [µm]s +[\d.]+ [MG]bit/s$", said, re.M), said


def test_json_output_has_all_results(hands):
    job = hands(3)
    preflight(job, "--json")
    told = json.loads(job.runs["algo-1"].out)
    assert [host["host"] for host in told["Hosts"]] == ["algo-1", "algo-2", "algo-3"]
    assert told["Hosts"][1]["addresses"][0] == "10.99.0.2"
    assert told["Hosts"][1]["mtu"] == 1500 and len(told["Hosts"][1]["build"]) == 40
    assert len(told["Ways"]) == 6 and told["Findings"] == []
    assert all(way["bits_per_second"] > 1e6 for way in told["Ways"]), told["Ways"]


def test_a_slow_link_is_named_with_its_direction(hands):
    job = hands(3)
    job.hosts[2].check(
        *"tc qdisc add dev eth0 root tbf rate 100mbit burst 64kb latency 200ms".split()
    )
    told = preflight(job)
    assert len(told) == 2, told
    for to in ("algo-1", "algo-2"):
        want = rf"algo-3 → {to}: \d+(\.\d)? Mbit/s, others [\d.]+ [GM]bit/s$"
        assert any(re.match(want, each) for each in told), told


def test_what_was_found_is_kept_for_sm_nodes(hands):
    job = hands(3)
    job.hosts[1].check("ip", "link", "set", "eth0", "mtu", "1400")
    preflight(job)
    kept = job.hosts[0].path("/opt/state/health")
    assert sorted(file.name for file in kept.iterdir()) == [
        "algo-1.json", "algo-2.json", "algo-3.json"
    ]
    odd = json.loads((kept / "algo-2.json").read_text())
    assert [each["kind"] for each in odd["findings"]] == ["mtu"] and odd["facts"]["mtu"] == 1400
    assert (kept / "algo-2.json").stat().st_mode & 0o777 == 0o600
    assert json.loads((kept / "algo-1.json").read_text())["findings"] == []
    assert not job.hosts[1].path("/opt/state").exists()


def closed(host, peer: str) -> None:
    """No connection of `peer` opens at `host`, but those of the roll call."""
    host.check("nft", "add table inet f")
    host.check("nft", "add chain inet f input { type filter hook input priority 0; }")
    host.check(
        "nft",
        f"add rule inet f input ip saddr {peer} tcp dport != 9730"
        " tcp flags & (syn|ack) == syn drop",
    )


def test_a_port_that_is_closed_in_one_direction_ends_the_job_before_it_runs(hands):
    job = hands(3)
    closed(job.hosts[2], "10.99.0.2")
    line = ["run", *HOSTS, "--preflight", "--", "echo", "the program ran"]
    codes = job.start(*line, env=NO_SPEEDS).wait()
    assert set(codes.values()) == {1}, job.story()
    told = findings(job)
    assert len(told) == 1, told
    silent = r"algo-2 → algo-3: no connection: port \d+ of 10\.99\.0\.3: no response"
    assert re.match(silent, told[0])
    assert "the program ran" not in job.story(), job.story()
    for name in ("algo-2", "algo-3"):
        said = job.runs[name].text
        assert "preflight on algo-1: the hosts cannot work together: algo-2 → algo-3" in said, said


def test_a_port_that_is_closed_both_ways_is_reported_once(hands):
    job = hands(2)
    closed(job.hosts[0], "10.99.0.2")
    closed(job.hosts[1], "10.99.0.1")
    line = ["preflight", "--hosts", "algo-1,algo-2", "--key-file", "/etc/job.key"]
    assert set(job.start(*line, env=NO_SPEEDS).wait().values()) == {1}, job.story()
    assert "preflight: algo-1 ↔ algo-2: no connection either way" in job.runs["algo-1"].text


def other_name(host) -> None:
    file = host.path("/etc/hosts")
    file.write_text(file.read_text().replace("10.99.0.2 algo-2\n", "10.99.0.77 algo-2\n"))


def test_a_name_that_means_something_else_is_an_error_of_a_full_preflight(hands):
    job = hands(3)
    other_name(job.hosts[2])
    told = preflight(job, code=1)
    assert told[0] == (
        "algo-2 resolves to 10.99.0.77 on algo-3, which is not one of its addresses; "
        "it resolves to 10.99.0.2 on algo-1"
    )


def test_every_job_compares_its_hosts_and_runs_whatever_is_found(hands):
    job = hands(3)
    other_name(job.hosts[2])
    job.hosts[1].check("ip", "link", "set", "eth0", "mtu", "1400")
    line = ["run", *HOSTS, "--", "echo", "the program ran"]
    assert job.start(*line, env=CALM).succeed().count("the program ran") == 3
    told = findings(job)
    assert len(told) == 2 and told[0].startswith("algo-2 resolves to 10.99.0.77 on algo-3"), told
    assert told[1] == "MTU: 1400 on algo-2, 1500 on the others"
    off = {**CALM, "MUSTER_PREFLIGHT": "off"}
    assert job.start(*line, env=off).succeed().count("the program ran") == 3
    assert findings(job) == []


def test_versions_disks_and_interpreters_are_compared(hands):
    job = hands(3)
    for host in job.hosts:
        version = "2.1.0" if host.name == "algo-3" else "2.2.1"
        host.path(f"/opt/packages/torch-{version}.dist-info").mkdir(parents=True)
    job.hosts[1].check("mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", "/opt/ml")
    told = preflight(job, env={"PYTHONPATH": "/opt/packages", "MUSTER_PREFLIGHT_DISK_GIB": "0.1"})
    assert told == [
        "algo-2 has 16 MiB free on the disk that holds the job's files",
        "torch: 2.1.0 on algo-3, 2.2.1 on the others",
    ]


def test_a_single_host_is_not_compared(hands):
    job = hands(1)
    assert job.start("preflight").wait() == {"algo-1": 2}
    assert "list all hosts with --hosts" in job.runs["algo-1"].text
