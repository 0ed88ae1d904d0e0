"""The web page's view of what a job's hosts use, in a real browser."""

import csv
import io
import json
import select
import sqlite3
import time

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from page import SECONDS, Served, page_server
from rootless import MPI4PY
from test_page_metrics import ASKED

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
START = 1_700_000_000
HOSTS = 20
MIB = 1 << 20
HELD_MIB = 300
# One host works, holds memory and sends; the other waits.
SCRIPT = f"""
import os, select, socket
if os.environ["SM_CURRENT_HOST"] == "algo-2":
    select.select([], [], [])
held = b"x" * ({HELD_MIB} << 20)
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
while True:
    for _ in range(10**5): pass
    out.sendto(held[:60000], ("algo-2", 9999))
"""
STEPS = """
import os, select
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
for i in range(30):
    print(f"step={0.9 if rank == 2 else 0.1 + i / 1000};", flush=True)
    select.select([], [], [], 0.1)
"""
ENDS = "print('done', flush=True)"
MEASURES = ["CPUs in use", "Memory (MiB)", "Disk reads (MiB/s)", "Disk writes (MiB/s)",
            "Network in (MiB/s)", "Network out (MiB/s)"]  # fmt: skip


def put_usage(served: Served, job: str, rows) -> None:
    """Samples, as if a job of that many hosts had run: (host, second, processor s, memory)."""
    with sqlite3.connect(served.server.data / "muster.db", timeout=SECONDS) as store:
        (number,) = store.execute("SELECT number FROM jobs WHERE name = ?", (job,)).fetchone()
        store.execute("DELETE FROM host_usage WHERE job = ?", (number,))
        store.executemany(
            "INSERT INTO host_usage VALUES (?, ?, ?, ?, ?, -1, -1, 0, 0)",
            ((number, host, second * 1000, round(processor * 1e6), memory)
             for host, second, processor, memory in rows))  # fmt: skip
    store.close()


def submit_like(served: Served, model: str, name: str) -> None:
    """A job like another one, with a metric of its steps."""
    api = served.server.client("sagemaker")
    told = api.describe_training_job(TrainingJobName=model)
    request = {part: told[part] for part in ASKED if part in told} | {"TrainingJobName": name}
    request["AlgorithmSpecification"]["MetricDefinitions"] = [
        {"Name": "step", "Regex": "step=([0-9.]+);"}, {"Name": "none", "Regex": "none=(.*)"},
    ]  # fmt: skip
    api.create_training_job(**request)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosts")
    (folder / "works.py").write_text(SCRIPT)
    (folder / "ends.py").write_text(ENDS)
    (folder / "code/mpi4py").mkdir(parents=True)
    (folder / "code/mpi4py/__main__.py").write_text(MPI4PY)
    (folder / "code/steps.py").write_text(STEPS)
    with page_server(folder) as server:
        one = Served(server, folder)
        one.sm("submit", "works.py", "--hosts", "2", "--name", "works")
        one.sm("submit", "ends.py", "--wait", "--name", "many")
        one.sm("submit", "steps.py", "--source-dir", "code", "--hosts", "2", "-n", "2",
               "--name", "steps-model")  # fmt: skip
        submit_like(one, "steps-model", "steps")
        put_usage(one, "many", [(f"algo-{host}", START + s, host * s / 10, host * MIB)
                                for host in range(1, HOSTS + 1) for s in range(100)])  # fmt: skip
        yield one
        one.sm("stop", "--wait", "works")


def ask(browser: Browser, name: str, given: dict):
    return browser.run(
        """const answer = await fetch(`/ui/call/${arguments[0]}`, { method: "POST",
        body: JSON.stringify(arguments[1]) }); return [answer.status, await answer.json()];""",
        name, given)  # fmt: skip


def show(served, browser, job: str) -> None:
    browser.open(f"{served.server.url}/ui/jobs/{job}/hosts")


def largest(measure: str, host: str) -> str:
    """JavaScript: the largest value that the measure's open table has of the host."""
    return (f"Math.max(-1, ...[...document.querySelectorAll('[aria-label={json.dumps(measure)}] "
            f"tbody tr')].filter((e) => e.cells[1].innerText === '{host}')"
            ".map((e) => Number(e.cells[4].innerText)))")  # fmt: skip


def test_a_busy_host_looks_different_from_an_idle_one(served, browser):
    browser.complaints()
    browser.open(f"{served.server.url}/ui/jobs/works")
    browser.wait("document.querySelector('.tabs')")
    browser.click_text("Hosts")
    browser.wait("document.querySelectorAll('.chart').length === 6", SECONDS)
    assert browser.url().endswith("/ui/jobs/works/hosts")
    assert browser.run("return [...document.querySelectorAll('.chart h2')]"
                       ".map((e) => e.innerText)") == MEASURES  # fmt: skip
    browser.wait("document.querySelector('.chart canvas')")
    browser.run("document.querySelectorAll('.chart summary').forEach((each) => each.click())")
    browser.wait(f"{largest(MEASURES[0], 'algo-1')} > 0.2", SECONDS)
    browser.wait(f"{largest(MEASURES[1], 'algo-1')} > {HELD_MIB}", SECONDS)
    browser.wait(f"{largest(MEASURES[5], 'algo-1')} > 0.1", SECONDS)
    browser.wait(f"{largest(MEASURES[4], 'algo-2')} > 0.1", SECONDS)
    assert 0 <= browser.run(f"return {largest(MEASURES[0], 'algo-2')}") < 0.5
    assert 0 < browser.run(f"return {largest(MEASURES[1], 'algo-2')}") < HELD_MIB
    shown = ("new Set([...document.querySelectorAll('.chart tbody td')]"
             ".map((e) => e.innerText)).size")  # fmt: skip
    before = browser.run(f"return {shown}")
    browser.wait(f"{shown} > {before}", SECONDS)  # By itself: the job says nothing.
    assert browser.complaints() == []


def test_values_are_what_passed_between_samples(served, browser):
    given = {"job": "many", "measure": "processor", "from": START, "to": START + 100}
    status, told = ask(browser, "host-usage", given | {"buckets": 10})
    assert status == 200 and told["width"] == 10
    assert [each["host"] for each in told["hosts"]] == [f"algo-{i}" for i in range(1, 9)]
    for i, each in enumerate(told["hosts"]):
        assert [bucket[0] for bucket in each["buckets"]] == list(range(10))
        assert [bucket[4] for bucket in each["buckets"]] == [9] + [10] * 9
        assert all(bucket[3] == pytest.approx((i + 1) / 10) for bucket in each["buckets"])
    assert ask(browser, "host-usage", given | {"buckets": 10, "measure": "disk-read"})[1][
        "hosts"][0]["buckets"] == []  # fmt: skip
    given |= {"buckets": 1, "skip": 16, "from": START + 50}
    status, told = ask(browser, "host-usage", given)
    assert [each["host"] for each in told["hosts"]] == [f"algo-{i}" for i in range(17, 21)]
    assert told["hosts"][0]["buckets"][0][3:] == [pytest.approx(1.7), 50]


@pytest.mark.parametrize("wrong", [
    {"measure": "x"}, {"measure": ""}, {"from": -1}, {"from": START + 100}, {"to": 1 << 50},
    {"buckets": 0}, {"buckets": 2001}, {"skip": -1}, {"job": "no-such"}, {"job": "x'; --"},
    {"from": "x"}], ids=str)  # fmt: skip
def test_what_cannot_be_is_refused(served, browser, wrong):
    given = {"job": "many", "measure": "memory", "from": START, "to": START + 100, "buckets": 5}
    status, told = ask(browser, "host-usage", given | wrong)
    assert status == 400 and told["message"]


def test_as_many_hosts_are_shown_as_there_are_colours(served, browser):
    show(served, browser, "many")
    browser.wait("document.querySelectorAll('.chart canvas').length > 0")
    keys = "[...document.querySelectorAll('.compared li .key')].map((e) => e.parentNode.innerText)"
    assert browser.run(f"return {keys}") == [f"algo-{i}" for i in range(1, 9)]
    browser.run("[...document.querySelectorAll('button')].find((e) => "
                "e.innerText === 'Next hosts').focus()")  # fmt: skip
    browser.keys("\ue007")
    browser.wait(f"{keys}[0] === 'algo-9'")
    browser.click_text("Next hosts")
    browser.wait(f"{keys}.join() === 'algo-17,algo-18,algo-19,algo-20'")
    assert "skip=16" in browser.url()
    browser.reload()
    browser.wait(f"{keys}[0] === 'algo-17'")
    browser.click_text("Zoom in")
    browser.wait(f"location.search.includes('from={START + 25}')")


def test_a_measure_comes_as_csv(served, browser):
    show(served, browser, "many")
    browser.wait("document.querySelector('.chart a[download]')")
    head, text = browser.run(
        "const answer = await fetch(document.querySelector('.chart a[download]').href);"
        "return [answer.headers.get('content-disposition'), await answer.text()]")  # fmt: skip
    assert head == 'attachment; filename="many.csv"'
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    assert len(rows) == HOSTS * 99
    assert rows[99 + 4] == {"job": "many", "host": "algo-2", "measure": "processor",
                            "time": str(START + 5), "value": "0.2"}  # fmt: skip


def test_a_job_without_figures_says_so(served, browser):
    served.sm("submit", "ends.py", "--wait", "--name", "brief")
    put_usage(served, "brief", [])
    show(served, browser, "brief")
    browser.wait_text("No host metrics")


def test_the_slow_rank_stands_out(served, browser):
    show(served, browser, "steps")
    browser.wait("document.querySelector('.heat canvas')", SECONDS)
    browser.run("document.querySelector('[aria-label=\"By rank\"] summary').click()")
    rows = ("[...document.querySelectorAll('[aria-label=\"By rank\"] tbody tr')]"
            ".map((e) => [...e.cells].map((cell) => cell.innerText))")  # fmt: skip
    browser.wait(f"{rows}.length === 4 && {rows}.every((row) => row[6] === '30')", SECONDS)
    told = browser.run(f"return {rows}")
    assert [row[:2] for row in told] == [["0", "algo-1"], ["1", "algo-1"], ["2", "algo-2"],
                                         ["3", "algo-2"]]  # fmt: skip
    assert [row[2] for row in told] == ["0.1145", "0.1145", "0.9", "0.1145"]
    # A rank that the machine held up for a second has a column without a value.
    strength = """
        const canvas = document.querySelector('.heat canvas');
        const strongest = (rank) => Math.max(...canvas.getContext('2d').getImageData(
            canvas.width * 0.2, canvas.height * (rank + 0.5) / 4, canvas.width * 0.8, 1)
            .data.filter((_, i) => i % 4 === 3));
        return [0, 1, 2, 3].map(strongest);"""
    drawn = browser.run(strength)
    assert drawn[2] > 200 and all(drawn[rank] < 100 for rank in (0, 1, 3)), drawn
    browser.run("document.querySelector('.heat').focus()")
    browser.keys("\ue015\ue015\ue015\ue010")  # Down, and to the end.
    browser.wait("document.querySelector('[aria-label=\"By rank\"] .readout').innerText"
                 ".startsWith('rank 2, algo-2')")  # fmt: skip
    browser.run("const e = document.querySelector('[aria-label=\"Metric by rank\"]');"
                "e.value = 'none'; e.dispatchEvent(new Event('change'))")  # fmt: skip
    browser.wait_text("No values yet")
    assert "metric=none" in browser.url()


@pytest.mark.parametrize("wrong", [
    {"name": "x"}, {"first": -1}, {"from": -1}, {"to": 5}, {"buckets": 0}, {"buckets": 401},
    {"job": "no-such"}], ids=str)  # fmt: skip
def test_what_cannot_be_of_ranks_is_refused(served, browser, wrong):
    given = {"job": "steps", "name": "step", "from": START, "to": START + 100, "buckets": 5}
    assert ask(browser, "ranks", given)[0] == 200
    status, told = ask(browser, "ranks", given | wrong)
    assert status == 400 and told["message"]


def kept(served: Served, job: str) -> tuple[int, int]:
    """When the first and the last sample of algo-1 were taken."""
    with sqlite3.connect(served.server.data / "muster.db", timeout=SECONDS) as store:
        times = store.execute(
            "SELECT min(time), max(time) FROM host_usage WHERE host = 'algo-1' "
            "AND job = (SELECT number FROM jobs WHERE name = ?)", (job,)).fetchone()  # fmt: skip
    store.close()
    return times


def test_a_server_that_starts_again_goes_on(served):
    served.server.kill()
    first, last = kept(served, "works")
    served.server.start()
    deadline = time.monotonic() + SECONDS
    while (now := kept(served, "works"))[1] <= last:
        assert time.monotonic() < deadline
        select.select([], [], [], 0.1)
    assert now[0] == first
