"""The web page's table of runs, in a real browser: columns, order, filters, comparing."""

import csv
import io
import json
import re

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from page import SECONDS, Served, page_server
from test_page_keyboard import ENTER, SPACE, press, reach

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
RUNS = 14
DRAWN_MAX = 12
RATE = "{}e-5"
MARKUP = "<img src=x onerror=document.title='stolen'>"
# The loss ends at the rate's number, after it has been less.
SCRIPT = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
number = round(parser.parse_known_args()[0].lr * 1e5)
for step in range(100):
    print(f"step={step} loss={number + 1 - step / 50 if step < 99 else number};", flush=True)
"""
NAMES = "[...document.querySelectorAll('.runs tbody a')].map((each) => each.innerText).join()"
HEADS = "[...document.querySelectorAll('.runs thead button')].map((each) => each.innerText.trim())"


def name(number: int) -> str:
    return f"run-{number:02}"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """Runs with rates 1e-5 to 14e-5, and one of another kind, without metrics."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "train.py").write_text(SCRIPT)
    (folder / "bare.py").write_text("print('nothing is measured')")
    with page_server(folder) as server:
        one = Served(server, folder)
        for number in range(1, RUNS + 1):
            one.sm("submit", "train.py", "--name", name(number), "-p", f"lr={RATE.format(number)}",
                   "-p", f"optimizer={('adam', 'sgd')[number % 2]}", "-p", "depth=7",
                   "--metric", "step=step=([0-9]+)", "--metric", "loss=loss=(.*);")  # fmt: skip
        one.sm("submit", "bare.py", "--name", "bare", "-p", f"text={MARKUP}", "-p", "depth=7")
        one.sm("wait", "bare", *(name(number) for number in range(1, RUNS + 1)))
        yield one


def show(served, browser: Browser, query: str = "", view: str = "runs") -> None:
    browser.open(f"{served.server.url}/ui/{view}{query}")
    browser.wait("document.querySelector('.runs tbody tr')", SECONDS)


def choose(browser: Browser, label: str, value: str) -> None:
    browser.wait(f"document.querySelector({json.dumps(f'[aria-label={json.dumps(label)}]')})")
    browser.run("const [label, value] = arguments; const e = document.querySelector("
                "`[aria-label='${label}']`); e.value = value;"
                "e.dispatchEvent(new Event('change', { bubbles: true }))",
                label, value)  # fmt: skip


def sort_by(browser: Browser, heading: str) -> None:
    browser.run(f"[...document.querySelectorAll('.runs thead button')].find((each) => "
                f"each.innerText.trim().startsWith({json.dumps(heading)})).click()")  # fmt: skip


def test_without_a_choice_the_usual_names_are_columns(served, browser):
    show(served, browser)
    heads = browser.run(f"return {HEADS}")
    assert heads[:4] == ["Name", "Status", "Created ↓", "Training time"]
    assert set(heads[4:]) == {"depth", "lr", "optimizer", "text", "loss last"}
    assert browser.run(f"return {NAMES}").startswith(f"bare,{name(RUNS)}")
    browser.wait_text(f"{RUNS + 1} runs")


def test_numbers_sort_as_numbers_and_missing_ones_come_last(served, browser):
    show(served, browser, "?columns=hp:lr,least:loss")
    rising = [name(number) for number in range(1, RUNS + 1)]
    for column in ("lr", "loss min"):
        sort_by(browser, column)
        browser.wait(f"{NAMES} === {json.dumps(','.join([*reversed(rising), 'bare']))}")
        sort_by(browser, column)
        browser.wait(f"{NAMES} === {json.dumps(','.join([*rising, 'bare']))}")
    assert "sort=least%3Aloss" in browser.url() and "order=up" in browser.url()
    browser.reload()
    browser.wait(f"{NAMES} === {json.dumps(','.join([*rising, 'bare']))}")
    cells = browser.run("return [...document.querySelectorAll('.runs tbody tr')].map((row) => "
                        "[...row.cells].slice(4).map((each) => [each.innerText, "
                        "getComputedStyle(each).textAlign]))")  # fmt: skip
    assert cells[0] == [["1e-5", "right"], ["0.04", "right"]]
    assert cells[-1] == [["–", "right"], ["–", "right"]]


def test_filters_are_added_and_removed(served, browser):
    show(served, browser, "?columns=hp:lr,last:loss&sort=name")
    choose(browser, "Column to filter by", "last:loss")
    choose(browser, "Comparison", "<=")
    browser.type("[aria-label='Value']", "3")
    browser.click_text("Add filter")
    browser.wait(f"{NAMES} === 'run-03,run-02,run-01'")
    choose(browser, "Column to filter by", "hp:optimizer")
    choose(browser, "Comparison", "=")
    browser.type("[aria-label='Value']", "sgd" + ENTER)
    browser.wait(f"{NAMES} === 'run-03,run-01'")
    browser.wait_text(f"2 of {RUNS + 1} runs")
    browser.reload()
    browser.wait(f"{NAMES} === 'run-03,run-01'")
    browser.click("[aria-label='Remove filter: loss (last) ≤ 3']")
    browser.wait(f"{NAMES}.split(',').length === {RUNS // 2}")
    browser.back()
    browser.wait(f"{NAMES} === 'run-03,run-01'")
    browser.type("input[name=name]", "nothing")
    browser.wait_text("No matching runs")
    browser.click_text("Show all runs")
    browser.wait(f"{NAMES}.split(',').length === {RUNS + 1}")


def test_columns_are_chosen(served, browser):
    show(served, browser, "?columns=hp:lr")
    browser.click_text("Columns…")
    browser.wait("document.querySelector('dialog [type=checkbox]')")
    browser.click("[aria-label='loss (max)']")
    browser.wait(f"{HEADS}.slice(4).join() === 'lr,loss max'")
    browser.type("dialog input[type=search]", "optim")
    browser.wait("document.querySelectorAll('dialog [type=checkbox]').length === 1")
    browser.click("dialog [type=checkbox]")
    browser.wait(f"{HEADS}.slice(4).join() === 'lr,optimizer,loss max'")
    browser.click_text("Close")
    browser.wait("!document.querySelector('dialog')")
    assert "columns=hp%3Alr%2Chp%3Aoptimizer%2Cmost%3Aloss" in browser.url()


def test_what_is_shown_comes_as_csv(served, browser):
    show(served, browser, "?columns=hp:lr,last:loss&sort=name&order=up&filter=last:loss%3B%3C%3B3")
    text = browser.run("return fetch(document.querySelector('a[download]').href)"
                       ".then((answer) => answer.text())")  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [(row["job"], row["hp:lr"], row["last:loss"]) for row in rows] == [
        ("run-01", "1e-5", "1"), ("run-02", "2e-5", "2")]  # fmt: skip


def test_selected_runs_are_compared(served, browser):
    show(served, browser, "?sort=name&order=up")
    browser.click("[aria-label='Select all runs on this page']")
    browser.wait_text(f"{RUNS + 1} selected")
    browser.click_text("Compare", ".found a")
    browser.wait("location.pathname === '/ui/runs/compare'")
    browser.wait_text(f"{DRAWN_MAX} of {RUNS + 1} selected runs are drawn (1 without loss):")
    browser.wait("document.querySelector('.chart canvas')")
    drawn = ("[...document.querySelectorAll('[aria-label=\"Runs drawn\"] li')]"
             ".map((each) => each.innerText)")  # fmt: skip
    assert browser.run(f"return {drawn}")[:DRAWN_MAX] == [name(i + 1) for i in range(DRAWN_MAX)]
    browser.click_text("Next runs")
    browser.wait_text(f"{RUNS - DRAWN_MAX} of {RUNS + 1} selected runs are drawn")
    browser.wait(f"{drawn}[0] === 'run-13'")
    differing = browser.run("return [...document.querySelectorAll('.runs th.differs')]"
                            ".map((each) => each.innerText.trim())")  # fmt: skip
    assert differing == ["Differing", "lr", "optimizer", "sagemaker_program", "text"]
    browser.wait("document.querySelector('.same-in-all').innerText.includes('depth')")
    assert browser.run("return document.querySelectorAll('main img').length") == 0
    browser.click("[aria-label='Remove bare from the comparison']")
    browser.wait_text(f"{DRAWN_MAX} of {RUNS} selected runs are drawn:")
    choose(browser, "X axis", "step")
    choose(browser, "Best value of loss", "min")
    browser.wait_text("(step 98)")
    browser.reload()
    browser.wait_text("(step 98)")
    browser.click_text("Runs", ".crumbs a")
    browser.wait_text(f"{RUNS} selected")


def test_a_job_that_is_gone_is_named(served, browser):
    show(served, browser, "?runs=run-01,gone,bare", "runs/compare")
    browser.wait_text("These jobs no longer exist: gone.")
    browser.open(f"{served.server.url}/ui/runs/compare")
    browser.wait_text("No runs selected")


def test_runs_are_compared_by_keyboard(served):
    with Browser() as browser:
        served.enter(browser)
        press(browser, "Runs")
        browser.wait("document.querySelector('.runs tbody tr')")
        press(browser, "Select bare", SPACE)
        press(browser, "Select run-14", SPACE)
        press(browser, "Compare", ENTER, back=True)
        browser.wait("location.pathname === '/ui/runs/compare'")
        browser.wait_text("1 of 2 selected runs is drawn (1 without loss)")
        reach(browser, "Metric")
        press(browser, "Remove bare from the comparison")
        browser.wait("!location.search.includes('bare')")


def test_a_link_holds_fifty_runs(served, browser):
    names = ",".join(f"{'x' * 50}-{number}" for number in range(49))
    show(served, browser, f"?runs=run-01,{names}", "runs/compare")
    browser.wait_text("These jobs no longer exist")
    assert re.search(r"Compare 50 runs", browser.text())
