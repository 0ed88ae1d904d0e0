"""The whole life of a job with several hosts, as seen on the web page."""

import json
import re

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from lab import VENV
from page import SECONDS, Served, page_server

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
BUCKET = "life"
HOSTS, EACH = 3, 2
# Goes on until an object of its input says how it ends: ranks 4 and 5 are on the third host.
SCRIPT = f"""
import os, select, signal
import boto3
from mpi4py import MPI
world = MPI.COMM_WORLD
s3 = boto3.client("s3")
def wish():
    found = s3.list_objects_v2(Bucket="{BUCKET}", Prefix=os.environ["TRAINING_JOB_NAME"] + "/")
    return [name for each in found["Contents"] if (name := each["Key"].split("/")[1]) != "begins"]
step, wished = 0, []
while not wished:
    step += 1
    print(f"rank {{world.rank}} step {{step}} loss={{1 / step:.4f}};", flush=True)
    select.select([], [], [], 0.1)
    wished = world.bcast(wish() if world.rank == 0 else None)
if wished == ["fails"] and world.rank == 4:
    os.kill(os.getpid(), signal.SIGKILL)
world.Barrier()
"""
STATUS = "document.querySelector('.job-head .status')?.innerText"
ROW = "[...document.querySelectorAll('.timeline tbody tr')]"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("life")
    (folder / "train.py").write_text(SCRIPT)
    with page_server(folder, jobs={"python": str(VENV / "bin" / "python")}) as server:
        server.client("s3").create_bucket(Bucket=BUCKET)
        yield Served(server, folder)


@pytest.fixture
def browser(served):
    with Browser() as one:
        served.enter(one)
        one.complaints()
        yield one


def wish(served: Served, job: str, how: str) -> None:
    served.server.client("s3").put_object(Bucket=BUCKET, Key=f"{job}/{how}", Body=b"")


def submit(served: Served, name: str) -> None:
    wish(served, name, "begins")
    served.sm("submit", "train.py", "--name", name, "--hosts", str(HOSTS), "-n", str(EACH),
              "--metric", "loss=loss=([0-9.]+);", "--env", f"TRAINING_JOB_NAME={name}",
              "--input", f"wishes=s3://{BUCKET}/{name}/")  # fmt: skip


def see_it_appear(browser: Browser, name: str) -> None:
    row = "document.querySelector('table.jobs tbody tr')?.innerText"
    browser.wait(f"{row}?.startsWith({json.dumps(name)}) && /Running|Training/.test({row})",
                 SECONDS)  # fmt: skip
    browser.click_text(name, "td a")
    browser.wait(f"document.querySelector('h1')?.innerText === {json.dumps(name)}")


def see_it_run(browser: Browser) -> None:
    browser.wait("document.querySelector('.strip')", SECONDS)
    browser.click_text("Phases", "button")
    running = f"{ROW}.find((each) => each.innerText.includes('so far'))?.innerText"
    browser.wait(running, SECONDS)
    first = browser.run(f"return {running}")
    browser.wait(f"{running} !== {json.dumps(first)}")
    browser.click_text("Log", ".tabs a")
    log = "document.querySelector('.log')?.innerText"
    browser.wait(f"/rank 5 step [0-9]+ /.test({log})", SECONDS)
    newest = f"Math.max(...[...{log}.matchAll(/step ([0-9]+) /g)].map((each) => Number(each[1])))"
    step = browser.run(f"return {newest}")
    browser.wait(f"{newest} > {step} + 5")  # By itself, to the log's end.
    browser.click_text("Metrics", ".tabs a")
    browser.wait("document.querySelector('[aria-label=loss] canvas')", SECONDS)
    browser.run("document.querySelector('[aria-label=loss] summary').click()")
    told = ("[...document.querySelectorAll('[aria-label=loss] tbody td:last-child')]"
            ".reduce((sum, each) => sum + Number(each.innerText), 0)")  # fmt: skip
    browser.wait(f"{told} > 0")
    count = browser.run(f"return {told}")
    browser.wait(f"{told} > {count} + {HOSTS * EACH}")
    browser.click_text("Hosts", ".tabs a")
    browser.wait("document.querySelectorAll('.chart canvas').length > 0", SECONDS)
    assert browser.run("return [...document.querySelectorAll('.compared li .key')]"
                       ".map((e) => e.parentNode.innerText)") == [
        f"algo-{k}" for k in range(1, HOSTS + 1)]  # fmt: skip


def go_back_and_forward(browser: Browser, name: str) -> None:
    places = [re.search(r"/ui/(.*)", browser.url())[1]]
    for _ in range(3):
        browser.back()
        browser.wait(f"location.pathname !== {json.dumps('/ui/' + places[-1])}")
        places.append(re.search(r"/ui/([^?]*)", browser.url())[1])
    assert places == [f"jobs/{name}/hosts", f"jobs/{name}/metrics", f"jobs/{name}/log",
                      f"jobs/{name}"]  # fmt: skip
    browser.forward()
    browser.wait("document.querySelector('.log')?.innerText.includes('step')")
    browser.reload()
    browser.wait("document.querySelector('.log')?.innerText.includes('step')")
    assert browser.url().split("?")[0].endswith(f"/ui/jobs/{name}/log")
    browser.back()
    browser.wait("document.querySelector('.timeline')")


def test_a_job_is_seen_from_its_first_moment_to_its_last(served, browser):
    browser.wait_text("No jobs yet")
    submit(served, "whole")
    see_it_appear(browser, "whole")
    see_it_run(browser)
    go_back_and_forward(browser, "whole")
    wish(served, "whole", "ends")
    browser.wait(f"{STATUS}?.includes('Completed')", SECONDS)
    browser.wait(f"{ROW}.some((each) => each.innerText.startsWith('results'))", SECONDS)
    browser.wait("!document.querySelector('.timeline').innerText.includes('so far')")
    browser.wait_text("first metric")
    assert "Stop…" not in browser.text() and "Why it failed" not in browser.text()
    assert browser.complaints() == []


def test_a_job_that_fails_while_it_is_looked_at_shows_its_card(served, browser):
    submit(served, "broken")
    browser.open(f"{served.server.url}/ui/jobs/broken?phases=open")
    browser.wait(f"{STATUS}?.includes('Running')", SECONDS)
    browser.wait(f"{ROW}.some((each) => each.innerText.startsWith('running'))", SECONDS)
    wish(served, "broken", "fails")
    browser.wait(f"{STATUS}?.includes('Failed')", SECONDS)
    card = browser.wait("document.querySelector('.cause')?.innerText", SECONDS)
    assert "rank 4 on algo-3" in card and "SIGKILL" in card, card
    assert re.search(r"[0-9.]+ s after algo-3 started, while running\.", card), card
    assert re.search(r"5 other ranks ended because of it, within [0-9.]+ s\.", card), card
    assert "rank 4 step" in card, card  # What it said last.


def test_a_job_that_is_stopped_while_it_is_looked_at_ends(served, browser):
    submit(served, "halted")
    browser.open(f"{served.server.url}/ui/jobs/halted?phases=open")
    browser.wait(f"{ROW}.some((each) => /^running[^]*so far/.test(each.innerText))", SECONDS)
    browser.click_text("Stop…")
    browser.click_text("Yes, stop it")
    browser.wait(f"{STATUS}?.includes('Stopped')", SECONDS)
    browser.wait("!document.querySelector('.timeline').innerText.includes('so far')", SECONDS)
    assert "Why it failed" not in browser.text()
