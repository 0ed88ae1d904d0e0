"""The first screen of a job on the web page, in a real browser: what it does now."""

import os

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from lab import REPOSITORY, VENV
from page import SECONDS, Served, page_server
from test_server_jobs import BUCKET, Job

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
HOSTS = 4
METRICS = ["loss", "accuracy", "lr", "grad-norm", "tokens", "mfu", "epoch"]  # In this order.
SHOWN = 6
LINES = 10
SCRIPT = """
import math, os, select
first = os.environ["SM_CURRENT_HOST"] == "algo-1"
for i in range(10**6 if first else 1):
    if first:
        print(f"loss={2 * 0.98 ** i:.4f} accuracy={1 - 0.98 ** i:.4f} lr={1e-3 * 0.99 ** i:.6f} "
              f"grad-norm={1.5 + math.sin(i) / (i + 1):.3f} tokens={12000 + i * 37 % 900} "
              f"mfu={0.41 + i % 7 / 500:.3f} epoch={i // 10}", flush=True)
    else:
        print("ready", flush=True)
    select.select([], [], [], 0.3)
select.select([], [], [])
"""
ROWS = "[...document.querySelectorAll('[aria-label=\"Latest metrics\"] .live tbody tr')]"
VALUE = f"Number({ROWS}[0]?.lastElementChild.innerText)"
HOST_ROWS = "[...document.querySelectorAll('[aria-label=Hosts] tbody tr')]"
LINE_ROWS = "[...document.querySelectorAll('.last-lines .line')]"
STRIP = "[...document.querySelectorAll('.strip th')]"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overview")
    with page_server(folder, jobs={"python": str(VENV / "bin" / "python"),
                                   "capacity": {"hosts": 2 * HOSTS + 1}}) as server:
        server.client("s3").create_bucket(Bucket=BUCKET)
        server.client("s3").put_object(Bucket=BUCKET, Key="train/x", Body=b"")
        one = Served(server, folder)
        one.job = Job(server, SCRIPT, hosts=HOSTS, AlgorithmSpecification={
            "TrainingImage": "host", "TrainingInputMode": "File", "MetricDefinitions": [
                {"Name": name, "Regex": f"{name}=([0-9.]+)"} for name in METRICS
            ]}).name  # fmt: skip
        yield one
        one.sm("stop", one.job, code=None)


def show(served, browser, query: str = "") -> None:
    browser.open(f"{served.server.url}/ui/jobs/{served.job}{query}")
    browser.wait(f"{ROWS}.length === {SHOWN} && {HOST_ROWS}.length === {HOSTS} && "
                 f"{LINE_ROWS}.length === {LINES} && {STRIP}.length === {HOSTS}",
                 SECONDS)  # fmt: skip


def test_what_a_job_does_now_is_on_one_screen(served):
    with Browser() as browser:
        served.enter(browser)
        browser.narrow(1440, 900)
        show(served, browser)
        names = browser.run(f"return {ROWS}.map((each) => each.firstElementChild.innerText)")
        assert names == METRICS[:SHOWN] and "All 7" in browser.text()
        bottoms = browser.run("return [...document.querySelectorAll('.live-now > section')].map("
                              "(each) => each.getBoundingClientRect().bottom)")  # fmt: skip
        assert len(bottoms) == 4 and max(bottoms) <= 900
        if os.environ.get("MUSTER_PICTURES"):
            browser.wait(f"{LINE_ROWS}.at(-1).innerText.includes('epoch=10')", SECONDS)
            browser.picture(REPOSITORY / "docs/ui/overview.png")
        browser.narrow(390, 844)
        browser.wait("innerWidth === 390")
        assert browser.run("return document.documentElement.scrollWidth") <= 390


def test_values_and_lines_are_live_and_a_click_draws_a_chart(served, browser):
    browser.complaints()
    show(served, browser)
    first = browser.run(f"return {VALUE}")
    assert 0 < first <= 2
    browser.wait(f"{VALUE} < {first} && {LINE_ROWS}.at(-1).innerText.includes(`loss=${{{VALUE}}}`)")
    assert browser.run(f"return {ROWS}.every((each) => each.querySelector('polyline')"
                       ".getAttribute('points').split(' ').length > 1)")  # fmt: skip
    browser.click_text("accuracy", "button")
    browser.wait("document.querySelector('.chart[aria-label=accuracy] canvas')")
    assert "chart=accuracy" in browser.url()
    browser.reload()
    browser.wait("document.querySelector('.chart[aria-label=accuracy] canvas')")
    browser.click_text("accuracy", "button")
    browser.wait("!document.querySelector('.chart')")
    browser.run(f"{LINE_ROWS}[3].querySelector('a').click()")
    browser.wait("/log$/.test(location.pathname) && document.querySelector('.line.current')")
    assert browser.complaints() == []


def test_hosts_show_their_use_and_a_timeline_opens_on_demand(served, browser):
    show(served, browser)
    memory = f"{HOST_ROWS}.map((each) => each.lastElementChild.innerText)"
    browser.wait(f"{memory}.every((each) => /[0-9.]+ [KMG]B/.test(each))")
    assert browser.run("return [...document.querySelectorAll('.axis span')].map("
                       "(each) => each.innerText)")[0] == "0"  # fmt: skip
    assert not browser.run("return document.querySelector('.timeline')")
    browser.click_text("Phases", "button")
    browser.wait(f"document.querySelectorAll('.timeline').length === {HOSTS}")
    assert "phases=open" in browser.url()


def test_more_than_four_hosts_fold_and_open_on_demand(served, browser):
    many = Job(served.server, "print('ready')", hosts=HOSTS + 1)
    assert many.at_end(SECONDS)["TrainingJobStatus"] == "Completed", many.log()
    browser.open(f"{served.server.url}/ui/jobs/{many.name}")
    names = f"{STRIP}.map((each) => each.innerText).join()"
    choice = "document.querySelector('[aria-label=Timeline] select')"
    browser.wait(f"{STRIP}.length === 1 && {choice}.options.length === {HOSTS + 1}")
    assert browser.run(f"return {choice}.value === {names}")
    for host in ("algo-2", "algo-5"):  # One of them is not the one that is shown at first.
        browser.run(f"{choice}.value = '{host}'; {choice}.dispatchEvent(new Event('change'))")
        browser.wait(f"{names} === '{host}'")
    assert "host=algo-5" in browser.url()
    assert not browser.run("return document.querySelector('.timeline')")
    browser.click_text("Phases", "button")
    browser.wait("document.querySelectorAll('.timeline').length === 1")
    heads = "[...document.querySelectorAll('[aria-label=Timeline] thead')]"
    assert browser.run(f"return {heads}.some((each) => each.innerText.includes('Slowest host'))")
