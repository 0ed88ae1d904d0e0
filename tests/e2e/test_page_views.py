"""Every view of the web page: axe-core finds nothing on it, light or dark, and no width cuts it;
pictures for docs/ui."""

import contextlib
import json
import math
import os
import pathlib

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from lab import REPOSITORY
from page import SECONDS, Served, page_server
from test_page import ELEMENTS_MAX, SCRIPT, WAITS
from test_page_hosts import submit_like
from test_page_metrics import START

AXE = REPOSITORY / "build/axe/axe_playwright_python/axe.min.js"
pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
needs_axe = pytest.mark.skipif(not AXE.exists(), reason="no axe-core: make test-page brings it")
PICTURES = REPOSITORY / "docs/ui"
CHECK = """
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
return axe.run(document, { runOnly: tags }).then((told) => told.violations.map(
    (each) => [each.id, each.help, each.nodes.map((node) => node.html.slice(0, 200))]));
"""
LEARNS = """
import os
open(os.environ["SM_MODEL_DIR"] + "/weights.bin", "wb").write(os.urandom(100_000))
print("step=0.5;", flush=True)
"""
# Runs with other rates: the loss falls, more slowly from run to run.
SWEEP = """
import argparse, math
parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float)
rate = parser.parse_known_args()[0].lr
for step in range(400):
    noise = 0.04 * math.sin(step * 7.3 + rate * 1e5)
    loss = 2.3 * math.exp(-step * rate * 25) + 0.3 + rate * 20 + noise
    print(f"step={step * 50} loss={loss:.5f} accuracy={1 / (1 + loss):.5f};", flush=True)
"""
# What SageMaker's SDKs, and people, call things.
LONG = "text-classification-distilbert-adamw-lr-2026-11-28-22-01-33-123"
LONG_SCRIPT = """
import select
while True:
    print("samples_per_second=0.5; grad_norm_before_clipping=1e-7;", flush=True)
    select.select([], [], [], 1)
"""
SWEPT = ",".join(f"sweep-{i}" for i in range(1, 7))
# What each view shows when it is ready.
CHART = "document.querySelector('.chart canvas')"
ROW = "document.querySelector('tbody tr')"
VIEWS = {
    "login": ("", "document.querySelector('form')"),
    "jobs": ("jobs", ROW),
    "failed": ("jobs/bad?phases=open", "document.querySelector('.timeline')"),
    "hang": ("jobs/waits", "document.querySelector('.job-head .cause')"),
    "job": ("jobs/learns?chart=loss",
            f"{CHART} && document.body.innerText.includes('model.tar.gz')"),
    "metrics": ("jobs/learns/metrics", CHART),
    "compared": ("jobs/learns/metrics?with=steps",
                 "document.querySelector('.parameters tbody tr')"),
    "steps": ("jobs/sweep-1/metrics?by=step&smooth=0.8&min=loss&max=accuracy",
              f"document.querySelectorAll('.chart').length === 2 && {CHART}"),
    "runs": (f"runs?name=sweep&runs={SWEPT}&sort=last:loss&order=up",
             "document.querySelectorAll('.runs tbody tr').length === 6"),
    "columns": ("runs?name=sweep", "document.querySelector('.runs tbody tr')"),
    "runs-compared": (f"runs/compare?runs={SWEPT}&by=step&smooth=0.6&metric=loss", CHART),
    "hosts": ("jobs/waits/hosts", CHART),
    "ranks": ("jobs/steps/hosts", "document.querySelector('.heat canvas')"),
    "log": ("jobs/bad/log", "document.querySelector('.log')?.innerText.includes('OSError')"),
    "machine": ("machine", "document.body.innerText.includes('Waiting')"),
    "access": ("access", "document.querySelector('h1')"),
}
# Further ones, which only have to be whole.
OTHERS = {
    "jobs-dates": ("jobs?age=dates", ROW),
    "jobs-none": ("jobs?name=none", "document.querySelector('.empty')"),
    "runs-filtered": ("runs", "document.querySelector('.runs tbody tr')"),
    "log-filtered": ("jobs/bad/log?level=info&q=epoch&line=1",
                     "document.querySelector('.log-tools').innerText.includes('rows')"),
    "log-wrapped": ("jobs/bad/log?wrap=1", "document.querySelector('.wraps-lines .line')"),
    "overview": (f"jobs/{LONG}?phases=open",
                 "document.querySelector('.spark') && document.querySelector('.timeline')"),
    "long-metrics": (f"jobs/{LONG}/metrics?scale=log&smooth=0.6", CHART),
    "long-hosts": (f"jobs/{LONG}/hosts", f"{CHART} && document.querySelector('.heat canvas')"),
    "long-log": (f"jobs/{LONG}/log", "document.querySelector('.line')"),
}
# Texts of a view that can't be read, because they are cut or drawn over each other. Commands, the
# log and stacks can be scrolled sideways, as they are as wide as their lines, and so can runs where
# they are a table, because the user chooses its columns; nothing else has to.
CUT = """
const wide = "pre, .log, .last-lines, .skip" + (innerWidth > 600 ? ", .runs" : "");
const texts = [], found = [];
const root = document.querySelector("dialog[open]") || document.getElementById("app");
const styled = (box, name) => getComputedStyle(box)[name];
const boxes = (own) => {
  const all = [];
  for (let box = own; box; box = box.parentElement) all.push(box);
  return all;
};
const walk = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
for (let node = walk.nextNode(); node; node = walk.nextNode()) {
  const own = node.parentElement, text = node.data.trim();
  if (!text || !own.checkVisibility() || own.closest(wide)) continue;
  const around = boxes(own);
  if (around.some((box) => styled(box, "clipPath") !== "none")) continue;  // For screen readers.
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const { left, right, top, bottom } of range.getClientRects()) {
    if (right - left < 1) continue;
    texts.push({ text, node, left, right, top, bottom });
    const cuts = around.find((box) => {
      const edge = box.getBoundingClientRect();
      if (edge.right >= right - 1 && edge.left <= left + 1) return false;
      return styled(box, "display") !== "inline" && !box.matches(".axis");  // Next to it is room.
    });
    if (cuts) found.push(`${text}: wider than ${cuts.localName}.${cuts.className}`);
  }
}
texts.forEach((a, i) => texts.slice(i + 1).forEach((b) => {
  const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  if (a.node !== b.node && across > 2 && down > 5) found.push(`${a.text}: drawn over ${b.text}`);
}));
const pen = document.createElement("canvas").getContext("2d");
for (const field of root.querySelectorAll("input:placeholder-shown, select")) {
  const text = field.placeholder || field.selectedOptions?.[0].text || "";
  const ends = ["paddingLeft", "paddingRight"].map((end) => parseFloat(styled(field, end)));
  pen.font = styled(field, "font");
  const arrow = field.localName === "select" ? 16 : 0;
  if (pen.measureText(text).width > field.clientWidth - ends[0] - ends[1] - arrow)
    found.push(`${text}: wider than its field`);
}
if (document.documentElement.scrollWidth > innerWidth) found.push("wider than the window");
return [...new Set(found)];
"""
# The heights at which the parts of each row of filters end.
FILTERS = """
const rows = document.querySelectorAll(":not(.filters) > .filters");
return [...rows].map((row) => [...row.querySelectorAll("button, input, select, a, b, span")]
  .filter((each) => each.checkVisibility()).map((each) => each.getBoundingClientRect())
  .filter((box) => box.width > 1).map((box) => box.bottom));
"""


def loss(second: int) -> float:
    """A curve that falls, and one value that stands out."""
    return 3.0 if second == 5000 else 2 * math.exp(-second / 1500) + 0.05 * math.sin(second) + 0.1


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("axe")
    for name, text in (("train.py", SCRIPT), ("waits.py", WAITS), ("learns.py", LEARNS),
                       ("sweep.py", SWEEP)):
        (folder / name).write_text(text)
    with page_server(folder) as server:
        one = Served(server, folder)
        one.sm("submit", "train.py", "--wait", "--name", "bad", "-p", "fail=1", code=1)
        one.sm("submit", "waits.py", "--name", "waits", "--env", "MUSTER_HANG_AFTER=10")
        one.sm("submit", "learns.py", "--wait", "--name", "learns")
        submit_like(one, "learns", "steps")
        for number in range(1, 7):
            one.sm("submit", "sweep.py", "--wait", "--name", f"sweep-{number}", "-p", "depth=12",
                   "-p", f"lr={number}e-4", "-p", f"optimizer={('adamw', 'lamb')[number % 2]}",
                   "-p", f"batch_size={32 << number % 3}", "-p", "warmup=500",
                   "--metric", "step=step=([0-9]+)", "--metric", "loss=loss=([0-9.]+)",
                   "--metric", "accuracy=accuracy=([0-9.]+)")  # fmt: skip
        one.put("learns", "loss", [(START + i, loss(i)) for i in range(7200)])
        yield one
        one.sm("stop", "--wait", "waits")


def show(served, browser, view: str, seconds: float = SECONDS) -> None:
    path, ready = (VIEWS | OTHERS)[view]
    browser.open(f"{served.server.url}/ui/{path}")
    browser.wait(ready, seconds)
    if view == "hang":
        browser.click_text("Show stacks of all ranks")
        browser.wait_text("1 process on 1 host")
    if view == "columns":
        browser.click_text("Columns…")
        browser.wait("document.querySelector('dialog [type=checkbox]')")


@needs_axe
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_view_has_a_barrier(served, dark):
    found = {}
    with Browser(dark=dark) as browser:
        for view in VIEWS:
            show(served, browser, view)
            browser.run(AXE.read_text())
            if told := browser.run(CHECK):
                found[view] = told
            if os.environ.get("MUSTER_PICTURES") and (view == "metrics" or not dark):
                PICTURES.mkdir(exist_ok=True)
                browser.run("document.querySelector('.heat')?.scrollIntoView({block: 'center'});"
                            "document.querySelector('.same-in-all')?.scrollIntoView(false)")
                browser.picture(PICTURES / f"{view}{'-dark' if dark else ''}.png")
            if view == "login":
                served.enter(browser)
    assert not found, json.dumps(found, indent=1)


@pytest.fixture(scope="module")
def long_job(served):
    """A running job of three hosts whose names are as long as such names are."""
    (served.folder / "long.py").write_text(LONG_SCRIPT)
    served.sm("submit", "long.py", "--name", LONG, "--hosts", "3", "--tag", "team=vision",
              "-p", "model_name_or_path=distilbert/distilbert-base-uncased-finetuned-sst-2-english",
              "--metric", "train:per_device_samples_per_second=per_second=([0-9.e-]+);",
              "--metric", "eval:grad_norm_before_clipping=clipping=([0-9.e-]+);")  # fmt: skip
    yield LONG
    served.sm("stop", "--wait", LONG)


@pytest.mark.parametrize("width", [360, 390, 1280, 3840])
@pytest.mark.parametrize("view", VIEWS | OTHERS)
def test_no_width_cuts_a_view(served, long_job, browser, view, width):
    with contextlib.ExitStack() as stack:
        if view == "login":
            browser = stack.enter_context(Browser())
        browser.narrow(width, 900)
        show(served, browser, view)
        browser.wait(f"innerWidth === {width}")
        assert browser.run(CUT) == []
        assert browser.run("return document.querySelectorAll('.log *').length") < ELEMENTS_MAX
        if width == 1280:
            lines = browser.run(FILTERS)
            assert all(max(line) - min(line) < 30 for line in lines), lines
