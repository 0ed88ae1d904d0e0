"""The web page in figures, as a headless Chromium sees it.

    bench/web_page.py [--jobs N] [--lines N] [--searched N] [--seconds N] [--points N]

Charts of many metrics and of a long one; the table of many jobs; a log of many lines over four
ranks: its first rows, a jump to its middle, views of it, a search through a longer one; then a job
that writes 10,000 lines a second is followed, for the heap of the page, and one that writes ten a
second, for the time from a line's writing to its being seen.
Browser, server and jobs share the machine. Times are taken inside of the page, from what a user
does to the frame that shows it.
"""

import argparse
import json
import os
import pathlib
import sys

REPOSITORY = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(REPOSITORY / "bench"), str(REPOSITORY / "tests" / "e2e")]

from browser import HAS_BROWSER, WHY_NOT, Browser  # noqa: E402
from folder import own_folder  # noqa: E402
from history import figures_of, record  # noqa: E402
from lab import VENV  # noqa: E402
from page import Served  # noqa: E402
from server import copy_job  # noqa: E402
from sm_server import SmServer  # noqa: E402
from test_server_jobs import BUCKET, Job  # noqa: E402

RANKS = 4
SLOW_EACH = 0.1  # Seconds between the lines whose way is measured.
SEEN_LINES = 200
GUARD_SECONDS = 600
METRICS_MANY = 5000
METRICS = "print('loss: 1', flush=True)"
# Each rank's lines are 100 bytes long; the last one is looked for.
LINES = """
import sys
count = COUNT
for first in range(0, count, 1000):
    some = range(first, first + 1000)
    sys.stdout.write("".join(f"epoch {i:9} ".ljust(99, "x") + "\\n" for i in some))
    sys.stdout.flush()
print("the needle", flush=True)
"""
FAST = """
import sys, time
begun, told = time.monotonic(), 0
while (passed := time.monotonic() - begun) < SECONDS:
    due = int(passed * 10000)
    sys.stdout.write("".join(f"step {i:9} ".ljust(99, "x") + "\\n" for i in range(told, due)))
    sys.stdout.flush()
    told = due
    time.sleep(0.01)
"""
SLOW = """
import time
for _ in range(COUNT):
    print("written at", time.time(), flush=True)
    time.sleep(EACH)
"""
# Milliseconds from `act` to the frame after which `shows` holds.
TIMED = """
const [act, shows, limit] = arguments;
const holds = new Function(`return (${shows})`);
return new Promise((done, fail) => {
  const begun = performance.now();
  const look = () => {
    const took = performance.now() - begun;
    if (holds()) return done(took);
    if (took > limit) return fail(new Error(`${shows}: not so`));
    requestAnimationFrame(look);
  };
  new Function(act)();
  requestAnimationFrame(look);
});
"""
# The ages, in milliseconds, of lines when they are first seen.
AGES = """
const count = arguments[0];
return new Promise((done) => {
  const seen = new Map();
  const look = () => {
    for (const line of document.querySelectorAll(".line")) {
      const at = /written at ([0-9.]+)/.exec(line.innerText)?.[1];
      if (at && !seen.has(at)) seen.set(at, Date.now() - Number(at) * 1000);
    }
    if (seen.size >= count) return done([...seen.values()].slice(10));
    requestAnimationFrame(look);
  };
  look();
});
"""
ASKED = """
const begun = performance.now();
return fetch("/ui/call/ListTrainingJobs", {
  method: "POST",
  body: JSON.stringify({ MaxResults: 50, ...arguments[0] }),
  headers: { "Content-Type": "application/json" },
}).then((answer) => answer.text()).then((text) => [performance.now() - begun, text.length]);
"""
GO = "history.pushState(null, '', {url!r}); dispatchEvent(new PopStateEvent('popstate'))"
LOG = "document.querySelector('.log')"
LINE = "document.querySelector('.line span')"
TALLY = "document.querySelector('.tally').innerText"


def timed(browser: Browser, act: str, shows: str) -> float:
    return round(browser.run(TIMED, act, shows, 60_000), 1)


def median(values) -> float:
    return sorted(values)[len(values) // 2]


def finished(server: SmServer, script: str, processes: int = 0) -> str:
    job = Job(server, script, processes=processes)
    assert job.at_end(GUARD_SECONDS)["TrainingJobStatus"] == "Completed", job.text()
    return job.name


def table(browser: Browser) -> dict:
    rows = "document.querySelectorAll('table.jobs tbody tr').length"
    shown = []
    for _ in range(5):
        timed(browser, GO.format(url="/ui/machine"), f"{rows} === 0")
        shown.append(timed(browser, GO.format(url="/ui/jobs"), f"{rows} === 50"))
    asked = [browser.run(ASKED, {}) for _ in range(9)]
    filters = {"MusterTag": {"Key": "team", "Value": "rare"}, "MusterInstanceType": "ml."}
    filtered = [browser.run(ASKED, filters) for _ in range(9)]
    return {"usable_ms": median(shown), "page_kb": round(asked[0][1] / 1000, 1),
            "call_ms": round(median([took for took, _ in asked]), 1),
            "filtered_call_ms": round(median([took for took, _ in filtered]), 1)}  # fmt: skip


def long_log(browser: Browser, job: str, lines: int) -> dict:
    leave = (GO.format(url="/ui/jobs"), f"!{LOG}")
    first = timed(browser, GO.format(url=f"/ui/jobs/{job}/log?line=1"), LINE)
    timed(browser, *leave)
    again = timed(browser, GO.format(url=f"/ui/jobs/{job}/log?line=1"), LINE)
    middle = f"Number({LOG}.querySelector('.line a').innerText) > {lines // 3} && {LINE}"
    jump = timed(browser, f"{LOG}.scrollTop = {LOG}.scrollHeight / 2", middle)
    elements = browser.run("return document.querySelectorAll('.log *').length")
    return {"first_look_ms": first, "first_rows_ms": again, "jump_ms": jump, "elements": elements}


def views(browser: Browser, job: str) -> dict:
    """A filter that lets one line in a million through, and folding; all of the log is read."""
    told = "document.querySelector('.log-tools').innerText"
    done = f"/\\d+ rows(?! \\(\\d)/.test({told})"
    took = []
    for query in ("rank=0&level=error", "fold=1"):
        timed(browser, GO.format(url="/ui/jobs"), f"!{LOG}")
        address = f"/ui/jobs/{job}/log?line=1&{query}"
        took.append((timed(browser, GO.format(url=address), f"{LOG} && {done}"),
                     browser.run(f"return Number(/(\\d+) rows/.exec({told})[1])")))  # fmt: skip
    (level, _), (fold, rows) = took
    return {"level_ms": level, "folded_ms": fold, "folded_rows": rows}


def search(browser: Browser, job: str) -> dict:
    """A search goes from the log's beginning: what is there, and what only the last lines have."""
    timed(browser, GO.format(url=f"/ui/jobs/{job}/log?line=1"), LINE)
    timed(browser, GO.format(url="/ui/jobs"), f"!{LOG}")
    pattern = f"/ui/jobs/{job}/log?line=1&q="
    first = timed(browser, GO.format(url=pattern + "epoch%20%20%20%20%20%20%20%20%200"),
                  f"parseInt({TALLY}) > 0")  # fmt: skip
    timed(browser, GO.format(url="/ui/jobs"), f"!{LOG}")
    whole = timed(browser, GO.format(url=pattern + "needle"), f"{TALLY} === '{RANKS}'")
    return {"first_hit_ms": first, "whole_ms": whole}


def charts(served: Served, browser: Browser, job: str, points: int) -> dict:
    """Many metrics, and a long one that is looked at closely where one value stands out."""
    second = 1_700_000_000
    spike = points * 7 // 9
    values = [5000 if i == spike else i % 7 for i in range(points)]
    served.put(job, "0-long", ((second + i, value) for i, value in enumerate(values)))
    served.put_steps(job, "0-long", enumerate(values))
    for i in range(METRICS_MANY):
        served.put(job, f"metric-{i:04}", ((second + k, k * i) for k in range(3)))
    drawn = "document.querySelector('.chart canvas')"
    many = f"/ui/jobs/{job}/metrics?q=metric"
    long = f"/ui/jobs/{job}/metrics?q=0-long"
    figures = {}
    urls = (("first_paint_ms", many), ("long_ms", long), ("long_by_step_ms", f"{long}&by=step"))
    for name, url in urls:
        timed(browser, GO.format(url="/ui/jobs"), f"!{drawn}")
        figures[name] = timed(browser, GO.format(url=url), drawn)
    begin, end = second + spike - 500, second + spike + 500
    timed(browser, GO.format(url="/ui/jobs"), f"!{drawn}")
    figures["zoomed_ms"] = timed(browser, GO.format(url=f"{long}&from={begin}&to={end}"), drawn)
    browser.run("document.querySelector('.chart summary').click()")
    browser.wait("[...document.querySelectorAll('.chart tbody tr')].some((row) => "
                 "row.innerText.includes('5000'))")  # fmt: skip
    return figures


def heap(browser: Browser) -> float:
    """MiB, after what is garbage was collected."""
    browser._ask("POST", "/goog/cdp/execute", {"cmd": "HeapProfiler.collectGarbage", "params": {}})
    return round(browser.run("return performance.memory.usedJSHeapSize") / 2**20, 1)


def followed(server: SmServer, browser: Browser, seconds: int) -> dict:
    job = Job(server, FAST.replace("SECONDS", str(seconds)))
    browser.open(f"{server.url}/ui/jobs/{job.name}/log")
    browser.wait(f"{LOG}?.innerText.includes('step')", GUARD_SECONDS)
    before = heap(browser)
    newest = "Number([...document.querySelectorAll('.line a')].at(-1)?.innerText)"
    browser.wait(f"{newest} > {seconds * 5000}", GUARD_SECONDS)
    half = heap(browser)
    told = job.at_end(GUARD_SECONDS)
    assert told["TrainingJobStatus"] == "Completed", told
    count = browser.wait(f"{newest} > {seconds * 9000} && {newest}", GUARD_SECONDS)
    return {"lines_per_second": round(count / seconds), "heap_begin_mib": before,
            "heap_half_mib": half, "heap_end_mib": heap(browser)}  # fmt: skip


def ages(server: SmServer, browser: Browser) -> dict:
    script = SLOW.replace("COUNT", str(SEEN_LINES + 50)).replace("EACH", str(SLOW_EACH))
    job = Job(server, script)
    browser.open(f"{server.url}/ui/jobs/{job.name}/log")
    seen = sorted(browser.run(AGES, SEEN_LINES))
    job.at_end()
    return {"p50_ms": round(median(seen)), "p95_ms": round(seen[int(len(seen) * 0.95)])}


def measure(folder: pathlib.Path, options) -> dict:
    figures: dict = {}
    with SmServer(folder, jobs={"python": str(VENV / "bin" / "python")}) as server:
        s3 = server.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
        small = finished(server, METRICS)
        logged = finished(server, LINES.replace("COUNT", str(options.lines // RANKS)), RANKS)
        searched = finished(server, LINES.replace("COUNT", str(options.searched // RANKS)), RANKS)
        server.stop()
        copy_job(server.data, small, options.jobs)
        server.start()
        with Browser() as browser:
            served = Served(server, folder)
            served.enter(browser)
            figures[f"{METRICS_MANY} metrics, and one of {options.points} seconds"] = charts(
                served, browser, small, options.points)  # fmt: skip
            figures[f"table of {options.jobs} jobs"] = table(browser)
            figures[f"log of {options.lines} lines"] = long_log(browser, logged, options.lines)
            figures[f"views of {options.lines} lines"] = views(browser, logged)
            figures[f"search in {options.searched} lines"] = search(browser, searched)
            figures["followed at 10000 lines/s"] = followed(server, browser, options.seconds)
            figures["a line's way to the page"] = ages(server, browser)
        figures["server, after it"] = {"rss_mib": round(server.resident_kib() / 1024, 1)}
    return figures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=50_000)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--searched", type=int, default=10_000_000, help="lines of 100 bytes")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--points", type=int, default=10_000_000)
    options = parser.parse_args()
    if os.geteuid() != 0 or not HAS_BROWSER:
        print(f"root is needed, whose jobs make namespaces, and a browser: {WHY_NOT}",
              file=sys.stderr)  # fmt: skip
        return 2
    with own_folder() as folder:
        figures = measure(folder, options)
        print(json.dumps(figures, indent=1))
        record(figures_of("page", figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
