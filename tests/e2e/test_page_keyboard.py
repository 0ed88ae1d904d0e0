"""The web page by keyboard alone: nothing here clicks, focuses or sets anything by script."""

import json

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from page import SECONDS, Served, page_server

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
TAB, ENTER, ESCAPE, END, HOME = "\ue004", "\ue007", "\ue00c", "\ue010", "\ue011"
SHIFT, SPACE, DOWN = "\ue008", " ", "\ue015"
TABS_MAX = 80
DONE = """
import os, pathlib
for i in range(3000): print("epoch", i, "loss=%.4f" % (1 / (i + 1)))
pathlib.Path(os.environ["SM_MODEL_DIR"], "weights.bin").write_bytes(b"w")
"""
WAITS = """
import signal
print("begun", flush=True)
signal.pause()
"""
# What has the focus: what it is called, whether it is in the window, whether that can be seen.
FOCUSED = """
const own = document.activeElement;
const text = (each) => each?.innerText?.trim() || "";
const box = own.getBoundingClientRect(), style = getComputedStyle(own);
return {
  name: own === document.body ? "" :
    own.getAttribute("aria-label") || text(own.labels?.[0]).split("\\n")[0] || text(own) ||
    own.localName,
  seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight &&
        box.right > 0 && box.left < innerWidth,
  marked: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
};
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keyboard")
    (folder / "done.py").write_text(DONE)
    (folder / "waits.py").write_text(WAITS)
    with page_server(folder) as server:
        one = Served(server, folder)
        one.sm("submit", "done.py", "--hosts", "2", "--wait", "--name", "done")
        one.sm("submit", "waits.py", "--name", "waits")
        yield one


def reach(browser: Browser, name: str, back: bool = False) -> None:
    """By the tabulator, from wherever the focus is; all that is passed can be seen to have it."""
    passed = []
    for _ in range(TABS_MAX):
        browser.chord(*((SHIFT, TAB) if back else (TAB,)))
        focused = browser.run(FOCUSED)
        passed.append(focused["name"])
        if focused["name"] == "":  # The window itself, between the last element and the first.
            continue
        assert focused["seen"] and focused["marked"], (focused, passed)
        if focused["name"] == name:
            return
    raise AssertionError(f"no way to {name!r}: {passed}")


def press(browser: Browser, name: str, key: str = ENTER, back: bool = False) -> None:
    reach(browser, name, back)
    browser.keys(key)


def test_the_whole_flow_goes_by_keyboard_alone(served):
    with Browser() as browser:
        browser.open(f"{served.server.url}/ui/")
        browser.wait("document.querySelector('input[name=id]')")
        log_in(served, browser)
        find_a_job(browser)
        see_its_time(browser)
        look_into_its_model(browser)
        read_its_log(browser)
        read_a_part_of_it(browser)
        see_the_rest(browser)
        stop_a_job(browser)
        press(browser, "Log out")
        browser.wait("document.querySelector('input[name=id]')")


def log_in(served, browser):
    keys = served.server.keys
    reach(browser, "Access key")
    browser.keys(keys["AWS_ACCESS_KEY_ID"])
    reach(browser, "Secret")
    browser.keys(keys["AWS_SECRET_ACCESS_KEY"] + ENTER)
    browser.wait("document.querySelectorAll('tbody tr').length === 2")


def find_a_job(browser):
    reach(browser, "Name contains")
    browser.keys("don")
    browser.wait("document.querySelectorAll('tbody tr').length === 1")
    press(browser, "done")
    browser.wait("document.querySelector('h1')?.innerText === 'done'")
    browser.wait("document.querySelector('.strip')")


def read_its_log(browser):
    press(browser, "Log")
    browser.wait("document.querySelector('.line span')")
    reach(browser, "Log")
    reach(browser, "Search the log")
    browser.keys("epoch 29")
    tally = "document.querySelector('.tally').innerText"
    browser.wait(f"{tally} === '222'")
    browser.keys(ENTER)
    browser.wait(f"{tally} === '1 of 222'")
    press(browser, "Next match")
    browser.wait(f"{tally} === '2 of 222'")
    press(browser, "Previous match", back=True)
    browser.wait(f"{tally} === '1 of 222'")
    reach(browser, "Search the log", back=True)
    browser.chord(SHIFT, ENTER)
    browser.wait(f"{tally} === '222 of 222'")
    reach(browser, "Log")
    browser.keys(END)
    browser.wait("document.querySelector('.log').innerText.includes('epoch 2999 ')")
    browser.keys(HOME)
    browser.wait("[...document.querySelectorAll('.line a')][0].innerText === '1'")


def read_a_part_of_it(browser):
    """By its host, its rank and its level, and folded."""
    reach(browser, "Host", back=True)
    browser.keys("algo-2")
    browser.wait("location.search.includes('host=algo-2')")
    browser.wait("document.querySelector('.line .when') && ![...document.querySelectorAll("
                 "'.line .when')].some((each) => each.innerText.includes('algo-1'))")  # fmt: skip
    reach(browser, "Host")
    browser.keys("All")
    browser.wait("!location.search.includes('host=')")
    fold = "Combine identical lines from several ranks, and NCCL INFO lines"
    press(browser, fold, SPACE, back=True)
    browser.wait("location.search.includes('fold=1')")
    browser.wait("document.querySelector('.log').innerText.includes('algo-1–algo-2') || "
                 "document.querySelector('.log').innerText.includes('ranks 0–1')")  # fmt: skip
    browser.keys(SPACE)
    browser.wait("!location.search.includes('fold')")
    reach(browser, "Level", back=True)
    browser.keys(DOWN)
    browser.wait("location.search.includes('level=info')")
    reach(browser, "Rank", back=True)
    browser.keys("1" + ENTER)
    browser.wait("location.search.includes('rank=1')")


def see_its_time(browser):
    press(browser, "All", SPACE)
    browser.wait("location.search.includes('scale=all')")
    press(browser, "Until first line", back=True)
    browser.wait("!location.search.includes('scale=')")


def look_into_its_model(browser):
    press(browser, "Contents of model.tar.gz")
    browser.wait("document.querySelector('dialog')?.innerText.includes('weights.bin')")
    reach(browser, "Archive contents")
    press(browser, "Close")
    browser.wait("!document.querySelector('dialog[open]')")
    press(browser, "Contents of model.tar.gz")
    browser.wait("document.querySelector('dialog[open]')?.innerText.includes('weights.bin')")
    browser.keys(ESCAPE)
    browser.wait("!document.querySelector('dialog[open]')")


def see_the_rest(browser):
    for view in ("Metrics", "Hosts", "Overview"):
        press(browser, view)
        browser.wait("[...document.querySelectorAll('[aria-current=page]')]"
                     f".some((each) => each.innerText === {json.dumps(view)})")  # fmt: skip
    press(browser, "Machine")
    browser.wait("location.pathname === '/ui/machine'")
    press(browser, "Jobs")
    browser.wait("document.querySelectorAll('tbody tr').length === 2")


def stop_a_job(browser):
    press(browser, "waits")
    status = "document.querySelector('.job-head .status')?.innerText"
    browser.wait(f"{status}?.includes('Running')", SECONDS)
    press(browser, "Stop…")
    press(browser, "No")
    press(browser, "Stop…")
    press(browser, "Yes, stop it")
    browser.wait(f"{status}?.includes('Stopped')", SECONDS)
