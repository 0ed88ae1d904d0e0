"""The tutorial's part on the web page: its commands, and in a browser, what it says of each view.

MUSTER_PICTURES=1 also writes the tutorial's picture, docs/ui/tutorial.png.
"""

import json
import os
import subprocess

import pytest
from browser import HAS_BROWSER, WHY_NOT
from lab import REPOSITORY, SM
from page import SECONDS, Served, page_server
from test_docs import blocks, check_lines
from test_page_keyboard import ENTER
from test_page_runs import NAMES, choose, sort_by

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
TUTORIAL = REPOSITORY / "docs/users/tutorial.md"
CHART = "document.querySelector('.chart[aria-label=loss] canvas')"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server on which the tutorial's jobs have run."""
    folder = tmp_path_factory.mktemp("tutorial")
    ((commands, lines),) = [each for each in blocks(TUTORIAL) if "learns.py" in each[0]]
    with page_server(folder) as server:
        env = {**server.env(), "PATH": f"{SM.parent}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-ec", commands], cwd=folder, env=env, timeout=SECONDS,
                              capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done
        check_lines(lines, done.stdout)
        yield Served(server, folder)


def test_a_job_is_found_in_the_list_and_its_overview_shows_it(served, browser):
    browser.open(f"{served.server.url}/ui/jobs")
    browser.wait("document.querySelector('tbody a')?.innerText === 'fast'")
    browser.click_text("fast", "tbody a")
    browser.wait("document.querySelectorAll('.live-now > section').length >= 4")
    for text in ("Metrics", "0.0033", "Log", "step 19 loss 0.0033", "Hosts", "Timeline"):
        browser.wait_text(text)


def test_losses_of_two_jobs_are_compared_by_step(served, browser):
    served.show_metrics(browser, "fast")
    choose(browser, "X axis", "step")
    browser.wait("location.search.includes('by=step')")
    browser.type("[placeholder='Compare with job…']", "slow" + ENTER)
    browser.wait("location.search.includes('with=slow')")
    browser.wait(CHART)
    if os.environ.get("MUSTER_PICTURES"):
        browser.picture(REPOSITORY / "docs/ui/tutorial.png")


def test_hosts_and_their_ranks_are_shown(served, browser):
    browser.open(f"{served.server.url}/ui/jobs/fast/hosts")
    for text in ("CPU", "Memory", "Disk", "Network", "By rank"):
        browser.wait_text(text)
    choose(browser, "Metric by rank", "loss")
    browser.wait("document.querySelector('.heat canvas')")


def test_the_log_is_searched_for_an_expression(served, browser):
    browser.open(f"{served.server.url}/ui/jobs/fast/log")
    browser.wait_text("step 19 loss 0.0033")
    browser.run("document.querySelector('[aria-label^=Regular]').click()")
    browser.type("[placeholder='Search…']", r"step 1\d")
    browser.wait("document.querySelectorAll('.line.hit').length === 10")


def test_runs_are_sorted_and_compared(served, browser):
    browser.open(f"{served.server.url}/ui/runs")
    browser.wait("document.querySelectorAll('.runs tbody tr').length === 2", SECONDS)
    for wanted in ("slow,fast", "fast,slow"):
        sort_by(browser, "loss last")
        browser.wait(f"{NAMES} === {json.dumps(wanted)}")
    for count in (1, 2):
        browser.run("document.querySelector('.runs tbody [type=checkbox]:not(:checked)').click()")
        browser.wait_text(f"{count} selected")
    browser.click_text("Compare")
    browser.wait_text("Compare 2 runs")
    browser.wait("document.querySelector('.chart canvas')")
