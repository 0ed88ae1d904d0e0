"""The web page's view of metrics, in a real browser: charts, their tables and files, comparing."""

import csv
import io
import json
import re

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from page import SECONDS, Served, page_server

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
METRICS = 30
START = 1_700_000_000
LENGTH = 100_000
SPIKE_AT = 77_777
SPIKE = 5000
MARKUP = "<img src=x onerror=document.title='stolen'>"
ASKED = ("AlgorithmSpecification", "RoleArn", "HyperParameters", "InputDataConfig", "Environment",
         "OutputDataConfig", "ResourceConfig", "StoppingCondition")  # fmt: skip
FORMULA = '=HYPERLINK("http://x","y")'
SCRIPT = """
import sys
for i in range(50): print(f"loss={1 / (i + 1)};", flush=True)
"""
STEPS = """
for i in range(100): print(f"step={i * 10} loss={(i - 60) ** 2 / 1000 - 0.05:.6f};", flush=True)
print("acc=0.5;", flush=True)
"""
TELLS = """
import select
for i in range(10**6):
    print(f"loss={i};", flush=True)
    select.select([], [], [], 0.2)
"""


def spiky():
    return ((START + i, SPIKE if i == SPIKE_AT else i % 7) for i in range(LENGTH))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("metrics")
    (folder / "train.py").write_text(SCRIPT)
    with page_server(folder) as server:
        one = Served(server, folder)
        for job, rate in (("one", "0.1"), ("two", "0.2"), ("plain", "0.1")):
            one.sm("submit", "train.py", "--wait", "--name", job, "-p", f"rate={rate}",
                   "-p", "depth=7")  # fmt: skip
        one.put("one", "spiky", spiky())
        one.put("two", "spiky", ((START + 500_000 + i, i % 5) for i in range(1000)))
        one.put("one", MARKUP, ((START + i, i) for i in range(50)))
        one.put("one", FORMULA, ((START + i, -i) for i in range(50)))
        for i in range(METRICS):
            one.put("plain", f"metric-{i:02}", ((START + s, s * i) for s in range(60)))
        yield one


def ask(browser: Browser, name: str, given: dict):
    return browser.run(
        """const answer = await fetch(`/ui/call/${arguments[0]}`, { method: "POST",
        body: JSON.stringify(arguments[1]) }); return [answer.status, await answer.json()];""",
        name, given)  # fmt: skip


def chart(name: str) -> str:
    return f"document.querySelector('[aria-label={json.dumps(name)}]')"


def test_charts_exist_where_they_are_seen(served, browser):
    served.show_metrics(browser, "plain")
    charts = "document.querySelectorAll('.chart').length"
    browser.wait(f"{charts} > 0 && document.querySelector('.chart canvas')")
    assert browser.run(f"return {charts}") < METRICS
    browser.wait_text(f"{METRICS} of {METRICS}")
    browser.wait("document.querySelectorAll('canvas').length > 0")
    drawn = browser.run("return document.querySelectorAll('canvas').length")
    assert drawn < METRICS / 2
    browser.run("[...document.querySelectorAll('main button')].at(-1).scrollIntoView()")
    browser.wait(f"{charts} === {METRICS}")
    browser.run(f"{chart(f'metric-{METRICS - 1}')}.scrollIntoView()")
    browser.wait(f"{chart(f'metric-{METRICS - 1}')}.querySelector('canvas')")
    browser.wait(f"!{chart('metric-00')}.querySelector('canvas')")
    browser.type("input[type=search]", "metric-07")
    browser.wait("document.querySelectorAll('.chart').length === 1")
    browser.wait("location.search.includes('q=metric-07')")


@pytest.mark.parametrize("buckets", [10, 100, 1000, 2000])
def test_a_spike_of_one_second_is_in_every_answer(served, browser, buckets):
    given = {"job": "one", "name": "spiky", "from": START, "to": START + LENGTH, "buckets": buckets}
    status, told = ask(browser, "metric", given)
    assert status == 200 and len(told["buckets"]) <= buckets
    assert [each[2] for each in told["buckets"] if each[2] > 6] == [SPIKE]
    assert sum(each[4] for each in told["buckets"]) == LENGTH
    (at,) = [each[0] for each in told["buckets"] if each[2] == SPIKE]
    assert at == SPIKE_AT // told["width"]


def pixels(browser: Browser) -> int:
    """Pixels of the chart's upper half that the series' colour has, beyond the grid's."""
    return browser.run(
        """const canvas = document.querySelector('.chart canvas');
        const data = canvas.getContext('2d').getImageData(80, 20, canvas.width - 100,
                                                         canvas.height / 4).data;
        let seen = 0;
        for (let i = 0; i < data.length; i += 4)
          if (data[i + 3] > 0 && data[i + 2] > data[i] + 40) ++seen;
        return seen;"""
    )


def test_dragging_looks_closer_and_a_double_click_at_all(served, browser):
    served.show_metrics(browser, "one", "?q=spiky")
    browser.wait(f"{chart('spiky')}?.querySelector('canvas')")
    assert pixels(browser) > 0
    box = browser.run("const r = document.querySelector('.u-over').getBoundingClientRect();"
                      "return [r.left, r.top, r.width, r.height]")  # fmt: skip
    left, right = (round(box[0] + box[2] * part) for part in (0.7, 0.9))
    height = round(box[1] + box[3] / 2)
    mouse(browser, ("move", left, height), ("down",), ("move", right, height), ("up",))
    browser.wait("location.search.includes('from=')")
    browser.wait("document.querySelector('.chart canvas')")
    start, end = (int(re.search(rf"{part}=(\d+)", browser.url())[1]) for part in ("from", "to"))
    assert START < start < START + SPIKE_AT < end < START + LENGTH
    browser.wait("document.querySelector('.chart .readout')")
    assert pixels(browser) > 0
    browser.reload()
    browser.wait("document.querySelector('.chart canvas')")
    assert f"from={start}" in browser.url()
    middle = round(box[0] + box[2] / 2)
    mouse(browser, ("move", middle, height), *[("down",), ("up",)] * 2)
    browser.wait("!location.search.includes('from=')")
    browser.back()
    browser.wait(f"location.search.includes('from={start}')")


def mouse(browser: Browser, *steps) -> None:
    kinds = {"move": "pointerMove", "down": "pointerDown", "up": "pointerUp"}
    actions = []
    for kind, *at in steps:
        place = {"x": at[0], "y": at[1], "duration": 20} if at else {"button": 0}
        actions.append({"type": kinds[kind], **place})
    given = {"actions": [{"type": "pointer", "id": "m", "parameters": {"pointerType": "mouse"},
                          "actions": actions}]}  # fmt: skip
    browser._ask("POST", "/actions", given)


def test_all_of_it_works_by_keys(served, browser):
    served.show_metrics(browser, "one", "?q=spiky")
    browser.wait("document.querySelector('.chart canvas')")
    browser.run("[...document.querySelectorAll('button')].find((e) => "
                "e.innerText === 'Zoom in').focus()")  # fmt: skip
    browser.keys("\ue007")  # Enter.
    browser.wait("location.search.includes('from=')")
    browser.run("document.querySelector('.chart summary').focus()")
    browser.keys(" ")
    browser.wait("document.querySelectorAll('.chart tbody tr').length > 10")
    browser.click_text("Reset zoom")
    browser.wait("!location.search.includes('from=')")
    cells = "[...document.querySelectorAll('.chart td')]"
    browser.wait(f"{cells}.some((e) => e.innerText === '{SPIKE}')")


def test_a_chart_comes_as_csv(served, browser):
    served.show_metrics(browser, "one", "?q=spiky")
    browser.wait(f"{chart('spiky')}?.querySelector('a[download]')")
    head, text = browser.run(
        "const answer = await fetch(document.querySelector('a[download]').href);"
        "return [answer.headers.get('content-disposition'), await answer.text()]")  # fmt: skip
    assert head == 'attachment; filename="one.csv"'
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == LENGTH
    assert rows[SPIKE_AT] == {"job": "one", "metric": "spiky", "second": str(START + SPIKE_AT),
                              "mean": "5000", "minimum": "5000", "maximum": "5000",
                              "count": "1"}  # fmt: skip


def test_jobs_are_compared(served, browser):
    served.show_metrics(browser, "one", "?q=spiky")
    browser.wait("document.querySelector('.compared input')")
    browser.type(".compared input", "two")
    browser.keys("\ue007")
    browser.wait("location.search.includes('with=two')")
    browser.wait("document.querySelectorAll('.chart a[download]').length === 2")
    browser.wait("document.querySelector('.chart canvas')")
    rows = "[...document.querySelectorAll('.parameters tbody tr')].map((e) => e.innerText)"
    browser.wait(f"{rows}.length > 1")
    first, *others = browser.run(f"return {rows}")
    assert first.split() == ["rate", "0.1", "0.2", "yes"]
    assert any(row.split() == ["depth", "7", "7", "no"] for row in others)
    differs = [row.endswith("yes") for row in [first, *others]]
    assert differs == sorted(differs, reverse=True)
    browser.click("[aria-label='Remove two from the comparison']")
    browser.wait("!location.search.includes('with=')")


def test_charts_by_step_keep_how_they_are_drawn(served, browser):
    (served.folder / "steps.py").write_text(STEPS)
    served.sm("submit", "steps.py", "--wait", "--name", "steps", "--metric", "acc=acc=(.*);",
              "--metric", "step=step=([0-9]+)", "--metric", "loss=loss=(.*);")  # fmt: skip
    served.show_metrics(browser, "steps")
    browser.wait("document.querySelectorAll('.chart').length === 3")
    choose = ("const [label, value] = arguments; const e = document.querySelector("
              "`[aria-label='${label}']`); e.value = value;"
              "e.dispatchEvent(new Event('change', { bubbles: true }))")  # fmt: skip
    browser.run(choose, "X axis", "step")
    browser.wait("document.querySelectorAll('.chart').length === 1")
    browser.wait_text("2 without steps not shown")
    browser.run(choose, "Y axis", "log")
    browser.run(choose, "Best value of loss", "min")
    browser.wait_text("-0.05 (step 600)")
    browser.wait_text("values ≤ 0: in 15 of 100 points")
    browser.run(choose, "Smoothing", "0.9")
    browser.wait("location.search.includes('smooth=0.9')")
    browser.reload()
    browser.wait("document.querySelector('.chart canvas')")
    browser.wait_text("-0.05 (step 600)")
    browser.wait_text("values ≤ 0: in 15 of 100 points")
    assert browser.run("return document.querySelector('[type=range]').value") == "0.9"
    assert pixels(browser) > 0
    text = browser.run("return fetch(document.querySelector('a[download]').href)"
                       ".then((answer) => answer.text())")  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [row["step"] for row in rows] == [str(10 * i) for i in range(100)]
    browser.click_text("Zoom in")
    browser.wait("location.search.includes('from=')")
    browser.run(choose, "X axis", "")
    browser.wait("document.querySelectorAll('.chart').length === 3")
    assert "from=" not in browser.url() and "by=" not in browser.url()


def test_names_of_others_are_text(served, browser):
    browser.complaints()
    served.show_metrics(browser, "one")
    for name in (MARKUP, FORMULA):
        browser.wait(f"[...document.querySelectorAll('h2')].some((e) => e.innerText === "
                     f"{json.dumps(name)})")  # fmt: skip
    browser.run("document.querySelectorAll('.chart summary').forEach((each) => each.click())")
    browser.wait("document.querySelectorAll('.chart table').length >= 3")
    assert browser.run("return document.title") == "Metrics of one · muster"
    assert browser.run("return document.querySelectorAll('main img').length") == 0
    assert browser.complaints() == []


def test_a_job_without_metrics_says_so(served, browser):
    served.sm("submit", "train.py", "--wait", "--name", "none")
    served.show_metrics(browser, "none")
    browser.wait_text("No metrics yet")


def test_charts_grow_while_the_job_runs(served, browser):
    (served.folder / "tells.py").write_text(TELLS)
    served.sm("submit", "tells.py", "--name", "model")
    api = served.server.client("sagemaker")
    told = api.describe_training_job(TrainingJobName="model")
    api.stop_training_job(TrainingJobName="model")
    request = {name: told[name] for name in ASKED if name in told} | {"TrainingJobName": "grows"}
    request["AlgorithmSpecification"]["MetricDefinitions"] = [
        {"Name": "loss", "Regex": "loss=([0-9]+);"}]  # fmt: skip
    api.create_training_job(**request)
    try:
        served.show_metrics(browser, "grows")
        browser.wait(f"{chart('loss')}?.querySelector('canvas')", SECONDS)
        browser.run("document.querySelector('.chart summary').click()")
        cells = "[...document.querySelectorAll('.chart tbody td:last-child')]"
        told = f"{cells}.reduce((sum, each) => sum + Number(each.innerText), 0)"
        browser.wait(f"{told} > 0")
        first = browser.run(f"return {told}")
        browser.wait(f"{told} > {first} + 10", SECONDS)
    finally:
        api.stop_training_job(TrainingJobName="grows")
