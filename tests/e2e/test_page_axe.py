"""axe-core finds nothing on any view of the web page, light or dark; pictures for docs/ui."""

import json
import math
import os
import pathlib

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from lab import REPOSITORY
from page import SECONDS, Served, page_server
from test_page import SCRIPT, WAITS
from test_page_hosts import submit_like
from test_page_metrics import START

AXE = REPOSITORY / "build/axe/axe_playwright_python/axe.min.js"
pytestmark = [
    pytest.mark.page,
    pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT),
    pytest.mark.skipif(not AXE.exists(), reason="no axe-core: make test-page brings it"),
]
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
SWEPT = ",".join(f"sweep-{i}" for i in range(1, 7))
# What each view shows when it is ready.
VIEWS = {
    "login": ("", "document.querySelector('form')"),
    "jobs": ("jobs", "document.querySelector('tbody tr')"),
    "failed": ("jobs/bad?phases=open", "document.querySelector('.timeline')"),
    "hang": ("jobs/waits", "document.querySelector('.job-head .cause')"),
    "job": ("jobs/learns?chart=loss", "document.querySelector('.chart canvas') && "
            "document.body.innerText.includes('model.tar.gz')"),
    "metrics": ("jobs/learns/metrics", "document.querySelector('.chart canvas')"),
    "compared": ("jobs/learns/metrics?with=steps",
                 "document.querySelector('.parameters tbody tr')"),
    "runs": (f"runs?name=sweep&runs={SWEPT}&sort=last:loss&order=up",
             "document.querySelectorAll('.runs tbody tr').length === 6"),
    "columns": ("runs?name=sweep", "document.querySelector('.runs tbody tr')"),
    "runs-compared": (f"runs/compare?runs={SWEPT}&by=step&smooth=0.6&metric=loss",
                      "document.querySelector('.chart canvas')"),
    "hosts": ("jobs/waits/hosts", "document.querySelector('.chart canvas')"),
    "ranks": ("jobs/steps/hosts", "document.querySelector('.heat canvas')"),
    "log": ("jobs/bad/log", "document.querySelector('.log')?.innerText.includes('OSError')"),
    "machine": ("machine", "document.body.innerText.includes('Waiting')"),
    "access": ("access", "document.querySelector('h1')"),
}


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


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_view_has_a_barrier(served, dark):
    found = {}
    with Browser(dark=dark) as browser:
        for view, (path, ready) in VIEWS.items():
            browser.open(f"{served.server.url}/ui/{path}")
            browser.wait(ready, SECONDS)
            if view == "hang":
                browser.click_text("Show stacks of all ranks")
                browser.wait_text("1 process on 1 host")
            if view == "columns":
                browser.click_text("Columns…")
                browser.wait("document.querySelector('dialog [type=checkbox]')")
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
