"""The web page's views of the machine and of access, in a real browser."""

import contextlib
import json
import os
import re
import sqlite3
import time

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from page import SECONDS, Served, page_server
from test_limits import needs_volumes
from test_page import WAITS

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
MARKUP = "<img src=x onerror=document.title='stolen'>"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("machine")
    (folder / "waits.py").write_text(WAITS)
    with page_server(folder, jobs={"capacity": {"hosts": 1}}) as server:
        yield Served(server, folder)


@pytest.fixture
def browser(served):
    with Browser() as one:
        served.enter(one)
        yield one


def put_card(served, job: str) -> None:
    """A figure of the machine's card 3, as if the job had it."""
    with sqlite3.connect(served.server.data / "muster.db", timeout=SECONDS) as store:
        store.execute("INSERT INTO host_gpus SELECT number, 'algo-1', ?, 3, 93.4, 40000000000 "
                      "FROM jobs WHERE name = ?", (int(time.time() * 1000), job))  # fmt: skip
    store.close()


CAPACITY = ("[...document.querySelectorAll('[aria-label=Capacity] tbody tr')].map((row) => "
            "[...row.children].map((cell) => cell.innerText))")  # fmt: skip


def section(title: str) -> str:
    """The text of the card of that title."""
    return ("[...document.querySelectorAll('section')].find((each) => "
            f"each.querySelector('h2')?.innerText.startsWith({json.dumps(title)}))?.innerText")


def test_what_runs_and_what_waits_for_what_is_shown_as_it_changes(served, browser):
    browser.open(f"{served.server.url}/ui/jobs")
    browser.wait("document.querySelector('nav a[href=\"/ui/machine\"]')")
    browser.click_text("Machine", "nav a")
    browser.wait_text("No running jobs.")
    browser.reload()
    browser.wait_text("No running jobs.")
    assert "No waiting jobs." in browser.text() and "Disk (data folder)" in browser.text()
    rows = browser.run(f"return {CAPACITY}")
    assert [row[0] for row in rows] == ["CPUs", "Memory", "Hosts", "Disk (data folder)"]
    assert "no limit" not in browser.text() and rows[2][1:4] == ["0", "1", "1"]
    served.sm("submit", "waits.py", "--name", "first")
    served.sm("submit", "waits.py", "--name", "second")
    try:
        browser.wait(f"{section('Running')}?.includes('first')", SECONDS)
        browser.wait(f"{section('Waiting')}?.includes('second')", SECONDS)
        assert "hosts: 1 requested, 0 of 1 free" in browser.run(f"return {section('Waiting')}")
        browser.wait(f"/[0-9.]+ [KM]B/.test({CAPACITY}[1][1])", SECONDS)
        running = browser.run(f"return {section('Running')}")
        key = served.server.keys["AWS_ACCESS_KEY_ID"]
        assert f"{key} (you)" in running and re.search(r"[0-9.]+ [KM]B", running), running
        assert browser.run(f"return {CAPACITY}[2]")[1:4] == ["1", "0", "1"]
        put_card(served, "first")
        card = r"/3\s+first\s+algo-1\s+93%\s+40\.0 GB/"
        browser.wait(f"{card}.test({section('GPUs')})", SECONDS)
        browser.click_text("second", "th a")
        browser.wait("location.pathname === '/ui/jobs/second'")
        browser.back()
        browser.wait(f"{section('Waiting')}?.includes('second')")
        served.sm("stop", "--wait", "first")
        browser.wait(f"{section('Running')}?.includes('second')", SECONDS)
        browser.wait_text("No waiting jobs.")
    finally:
        served.sm("stop", "--wait", "second", code=None)


@needs_volumes
def test_the_disk_of_a_job_is_what_its_volume_takes_if_it_has_one(served, browser):
    served.sm("submit", "waits.py", "--name", "stores")
    try:
        browser.open(f"{served.server.url}/ui/machine")
        running = "document.querySelector('[aria-label=Running] tbody tr')?.lastElementChild"
        disk = f"[{CAPACITY}.at(-1)?.[1], {running}?.innerText]"
        browser.wait(f"{disk}.every((each) => /^[0-9.]+ [KM]B$/.test(each))", SECONDS)
        [volume] = served.server.data.glob("machine/jobs/*/algo-1/disk.img")
        volume.unlink()  # As on a machine that cannot make volumes.
        browser.wait(f"{disk}.every((each) => each === 'not measured')")
    finally:
        served.sm("stop", "--wait", "stores")


# As sinfo prints them for slurm::plan_sinfo(); node2 is in two partitions.
NODES = """\
node1|idle|2|4000|(null)|main*|none
node2|mixed|64|515000|gpu:a100:4|main*|none
node2|mixed|64|515000|gpu:a100:4|long|none
node3|drained|64|515000|gpu:a100:4|main*|{reason}
"""


@contextlib.contextmanager
def cluster_page(folder, sinfo: str):
    """The view of a server whose jobs Slurm schedules; `sinfo`: a shell script in its place."""
    program = folder / "bin" / "sinfo"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{sinfo}\n")
    program.chmod(0o755)
    own = {"MUSTER_STATE": str(folder / "own")}
    env = {"PATH": f"{program.parent}:{os.environ['PATH']}", **own}
    with page_server(folder, config={"engine": {"slurm": {}}}, env=env) as server:
        with Browser() as browser:
            Served(server, folder).enter(browser)
            browser.open(f"{server.url}/ui/machine")
            yield browser


def test_the_nodes_of_a_cluster_are_shown_and_those_that_take_no_jobs_come_first(tmp_path):
    (tmp_path / "listed").write_text(NODES.format(reason=MARKUP))
    health = tmp_path / "own" / "health"  # As `sm preflight` of the server's user keeps it.
    health.mkdir(parents=True)
    finding = {"kind": "gpu_health", "level": "error", "hosts": ["node2"], "text": MARKUP}
    record = {"time": "2026-11-27T14:02:07Z", "facts": {}, "findings": [finding]}
    (health / "node2.json").write_text(json.dumps(record))
    rows = CAPACITY.replace("Capacity", "Nodes")
    drained = f"drained: does not accept jobs ({MARKUP})"
    with cluster_page(tmp_path, f"cat {tmp_path}/listed") as browser:
        browser.wait(f"{rows}.length === 3")
        assert browser.run(f"return {rows}") == [
            ["node3", drained, "64", "540.0 GB", "gpu:a100:4", "main", "–"],
            ["node1", "free", "2", "4.2 GB", "–", "main", "–"],
            ["node2", "partly in use", "64", "540.0 GB", "gpu:a100:4", "long, main",
             f"1 finding, 2026-11-27 14:02 UTC: {MARKUP}"],
        ]
        text = browser.text()
        assert "1 drained: does not accept jobs; 1 free; 1 partly in use" in text
        assert "Submitted to Slurm" in text and "No running jobs." in text
        assert browser.run("return document.title") == "Machine · muster"


def test_the_nodes_are_unknown_while_slurm_does_not_list_them(tmp_path):
    with cluster_page(tmp_path, "echo 'sinfo: error: it is down' >&2; exit 1") as browser:
        browser.wait_text("The cluster's nodes are unknown: Slurm's sinfo failed: it is down")


def test_a_key_is_made_shown_once_used_and_deleted(served, browser):
    browser.open(f"{served.server.url}/ui/access")
    browser.wait("document.querySelector('input[name=comment]')")
    browser.type("input[name=comment]", MARKUP)
    browser.click_text("Create key", "button")
    browser.wait_text("The secret is shown only once.")
    key, secret = browser.run(
        "return [...document.querySelectorAll('.command code')].map((each) => each.innerText)")
    assert len(secret) == 40
    assert "Buckets" in served.server.client("s3", key=(key, secret)).list_buckets()
    browser.wait_text(MARKUP)
    assert browser.run("return document.title") == "Access · muster"
    browser.reload()
    browser.wait(f"{section('Access keys')}?.includes({json.dumps(key)})")
    assert secret not in browser.run("return document.documentElement.outerHTML")
    browser.click(f"[aria-label='Delete {key}']")
    browser.click_text("No", "td button")
    browser.click(f"[aria-label='Delete {key}']")
    browser.click_text("Yes, delete it", "td button")
    browser.wait(f"!{section('Access keys')}.includes({json.dumps(key)})")
    assert secret not in served.server.output
    assert key not in served.sm_key("list")


def test_who_deletes_the_own_key_is_out_and_the_last_one_stays(served, browser):
    own = served.server.keys["AWS_ACCESS_KEY_ID"]
    browser.open(f"{served.server.url}/ui/access")
    browser.wait(f"document.querySelector(\"[aria-label='Delete {own}']\")")
    browser.click(f"[aria-label='Delete {own}']")
    browser.click_text("Yes, delete it and log out", "td button")
    browser.wait_text("is the last key")
    other = json.loads(served.sm_key("create", "--json"))
    browser.click(f"[aria-label='Delete {own}']")
    browser.click_text("Yes, delete it and log out", "td button")
    browser.wait("document.querySelector('.login input[name=secret]')")
    served.server.keys.update(AWS_ACCESS_KEY_ID=other["AccessKeyId"],
                              AWS_SECRET_ACCESS_KEY=other["SecretAccessKey"])  # fmt: skip
