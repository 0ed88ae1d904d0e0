"""The web page of `sm server`, in a real browser: getting in, jobs, a job, its log."""

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from fit import in_host
from lab import SM
from page import SECONDS, Served, page_server
from terminal import on_terminal
from test_stacks import FLIGHTS, FLIGHTS_SHOWN, RAS

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
LINES = 5000
# The log's part of the page, whatever the log's length.
ELEMENTS_MAX = 500
MARKUP = "<img src=x onerror=document.title='stolen'>"
SCRIPT = f"""
import sys
print({MARKUP!r})
for i in range({LINES}): print("epoch", i, "loss=%.4f" % (1 / (i + 1)))
print("x" * 100000)
if "--fail" in sys.argv: raise OSError("Address already in use")
"""
WAITS = """
import signal
print("begun", flush=True)
signal.pause()
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    (folder / "train.py").write_text(SCRIPT)
    (folder / "waits.py").write_text(WAITS)
    with page_server(folder) as server:
        one = Served(server, folder)
        one.sm("submit", "train.py", "--wait", "--name", "good")
        one.sm("submit", "train.py", "--wait", "--name", "bad", "-p", "fail=1", code=1)
        yield one


@pytest.mark.smoke
def test_a_link_lets_one_browser_in_once(served):
    link = served.sm("ui", "--url").strip()
    with Browser() as first, Browser() as second:
        first.open(link)
        first.wait("location.pathname === '/ui/jobs'")
        assert "enter" not in first.url()
        (cookie,) = first.cookies()
        assert cookie["httpOnly"] and cookie["sameSite"] == "Strict" and cookie["path"] == "/ui/"
        second.open(link)
        second.wait_text("the link was used already")
        first.open(f"{served.server.url}/ui/access")
        first.wait_text("(this browser)")
        first.click_text("Log out", "td button")
        first.wait_text("sm ui")


def test_sm_ui_opens_the_browser_of_a_desktop(served, tmp_path):
    asked = tmp_path / "asked"
    os.mkfifo(asked)
    program = tmp_path / "xdg-open"
    program.write_text(f"#!/bin/sh\nprintf %s \"$1\" >{asked}\n")
    program.chmod(0o755)
    env = {**served.server.env(), "DISPLAY": ":7", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    with Browser() as browser, ThreadPoolExecutor() as threads:
        shown = threads.submit(on_terminal, [SM, "ui"], env=env)
        browser.open(asked.read_text())
        browser.wait("location.pathname === '/ui/jobs'")
        assert "Your browser has opened it." in shown.result().text


def test_an_access_key_lets_in_on_this_machine(served):
    with Browser() as browser:
        browser.open(f"{served.server.url}/ui/jobs/good")
        browser.wait("document.querySelector('input[name=id]')")
        browser.type("input[name=id]", served.server.keys["AWS_ACCESS_KEY_ID"])
        browser.type("input[name=secret]", "wrong")
        browser.click_text("Log in", "form button")
        browser.wait_text("unknown access key or wrong secret")
        browser.type("input[name=secret]", served.server.keys["AWS_SECRET_ACCESS_KEY"])
        browser.click_text("Log in", "form button")
        browser.wait("document.querySelector('h1')?.innerText === 'good'")


def test_the_address_holds_what_the_table_shows(served, browser):
    browser.open(f"{served.server.url}/ui/jobs")
    browser.wait("document.querySelectorAll('tbody tr').length >= 2")
    browser.wait("document.querySelector('.filters').innerText.includes('Failed 1')")
    browser.click_text("Failed 1", ".chip")
    browser.wait("document.querySelectorAll('tbody tr').length === 1")
    assert "status=Failed" in browser.url()
    browser.reload()
    browser.wait("document.querySelectorAll('tbody tr').length === 1")
    browser.wait("document.querySelector('tbody tr').innerText.startsWith('bad')")
    browser.back()
    browser.wait("document.querySelectorAll('tbody tr').length >= 2")
    browser.forward()
    browser.wait("document.querySelectorAll('tbody tr').length === 1")
    browser.open(f"{served.server.url}/ui/jobs?name=goo&sort=name&order=up")
    browser.wait("document.querySelectorAll('tbody tr').length === 1")
    browser.type("input[type=search]", "nothing")
    browser.wait_text("No matching jobs")


def test_jobs_are_filtered_by_tag_type_and_dates(served, browser):
    rows = "[...document.querySelectorAll('tbody .name')].map((each) => each.innerText).join()"
    api = served.server.client("sagemaker")
    arn = api.describe_training_job(TrainingJobName="bad")["TrainingJobArn"]
    api.add_tags(ResourceArn=arn, Tags=[{"Key": "team", "Value": "x"}])
    browser.open(f"{served.server.url}/ui/jobs")
    browser.wait("document.querySelectorAll('tbody tr').length >= 2")
    browser.type("input[name=tag]", "team=x")
    browser.wait(f"{rows} === 'bad'")
    browser.type("input[name=type]", "ml.none")
    browser.wait_text("No matching jobs")
    # What is typed arrives in the address once the typing has paused.
    browser.wait("location.search.includes('tag=team%3Dx&type=ml.none')")
    for query, fits in (("tag=team", True), ("tag=team%3Dy", False),
                        ("age=dates&from=2020-01-01&to=2099-01-01", True),
                        ("age=dates&to=2020-01-01", False), ("age=dates&from=2099-01-01", False),
                        ("type=%27", False)):  # fmt: skip
        browser.open(f"{served.server.url}/ui/jobs?{query}")
        browser.wait(f"{rows}.includes('bad')" if fits else
                     "document.body.innerText.includes('No matching jobs')")  # fmt: skip
    listed = served.sm("jobs", "--tag", "team=x")
    assert "bad" in listed and "good" not in listed
    assert "bad" not in served.sm("jobs", "--instance-type", "ml.none")
    served.sm("jobs", "--tag", "=x", code=2)


@pytest.mark.smoke
def test_a_failed_job_says_why_and_where(served, browser):
    browser.open(f"{served.server.url}/ui/jobs/bad")
    browser.wait_text("OSError: Address already in use")
    browser.wait_text("after algo-1 started, while running.")
    browser.wait_text("another program on this host uses the port")
    browser.click_text("Go to the first error in the log")
    browser.wait("document.querySelector('.line.current')?.innerText.includes('Traceback')")
    assert "line=" in browser.url()


def test_a_job_shows_how_to_run_it_again(served, browser):
    browser.open(f"{served.server.url}/ui/jobs/good")
    for kind in ("aws", "boto3", "sm rerun"):
        browser.wait("document.querySelector('[aria-label=Tool]')")
        browser.click_text(kind, ".chip")
        pressed = "document.querySelector('[aria-label=Tool] [aria-pressed=true]').innerText"
        browser.wait(f"{pressed} === '{kind}'")
    text = browser.run("return document.querySelector('pre.text').textContent")
    done = subprocess.run(["bash", "-ec", text], env=served.server.env() | {"PATH": path_with_sm()},
                          cwd=served.folder, check=True, capture_output=True, text=True,
                          timeout=SECONDS)  # fmt: skip
    again = done.stdout.strip()
    browser.open(f"{served.server.url}/ui/jobs")
    browser.wait_text(again)
    browser.open(f"{served.server.url}/ui/jobs/{again}")
    browser.wait("document.querySelector('.job-head .status')?.innerText.includes('Completed')")


def path_with_sm() -> str:
    return os.path.dirname(SM) + ":" + os.environ["PATH"]


@pytest.mark.smoke
def test_a_long_log_is_in_the_page_only_where_it_is_seen(served, browser):
    browser.open(f"{served.server.url}/ui/jobs/good/log?line=3")
    browser.wait_text(MARKUP)
    assert browser.run("return document.title") == "Log of good · muster"
    count = "return document.querySelectorAll('.log *').length"
    assert browser.run(count) < ELEMENTS_MAX
    browser.run("const log = document.querySelector('.log'); log.scrollTop = log.scrollHeight / 2")
    browser.wait("/epoch 2[3-6]\\d\\d loss/.test(document.querySelector('.log').innerText)")
    assert browser.run(count) < ELEMENTS_MAX
    browser.run("document.querySelector('.log').focus()")
    browser.keys("\ue010")  # End.
    browser.wait("document.querySelector('.log').innerText.includes('show all 100000 bytes')")
    browser.run("document.querySelector('.line button').click()")
    browser.wait("document.querySelector('dialog pre').innerText.length === 100000")
    browser.keys("\ue00c")  # Escape.
    browser.wait("!document.querySelector('dialog[open]')")


def test_a_search_sees_the_whole_log(served, browser):
    browser.open(f"{served.server.url}/ui/jobs/good/log?line=1")
    browser.wait("document.querySelector('.line')")
    browser.type(".log-tools input", "epoch 49")
    tally = "document.querySelector('.tally')?.innerText"
    browser.wait(f"{tally} === '111'")
    browser.keys("\ue007")  # Enter.
    browser.wait(f"{tally} === '1 of 111'")
    browser.wait("document.querySelector('.line.current')?.innerText.includes('epoch 49 ')")
    browser.click("[aria-label='Previous match']")
    browser.wait(f"{tally} === '111 of 111'")
    browser.wait("document.querySelector('.line.current')?.innerText.includes('epoch 4999 ')")
    browser.open(f"{served.server.url}/ui/jobs/good/log?q=epoch.[0-9]{{4}}%20&re=1")
    browser.wait(f"{tally} === '4000'")
    browser.open(f"{served.server.url}/ui/jobs/good/log?q=(&re=1")
    browser.wait_text("invalid regular expression")


@pytest.mark.smoke
def test_a_running_job_is_followed_and_stopped(served, browser):
    served.sm("submit", "waits.py", "--name", "lives")
    browser.open(f"{served.server.url}/ui/jobs/lives/log")
    browser.wait("document.querySelector('.log')?.innerText.includes('begun')", SECONDS)
    browser.click_text("Overview")
    browser.wait("document.querySelector('.job-head .status')?.innerText.includes('Running')")
    browser.click_text("Stop…")
    browser.click_text("Yes, stop it")
    browser.wait("/Stopped/.test(document.querySelector('.job-head .status').innerText)", SECONDS)


SLEEPS = """
import signal
signal.signal(signal.SIGUSR1, lambda *_: print("on it goes", flush=True))
while True: signal.pause()
"""


def test_a_job_that_hangs_is_marked_in_the_lists_and_in_its_head(served, browser):
    (served.folder / "sleeps.py").write_text(SLEEPS)
    served.sm("submit", "sleeps.py", "--name", "sleeps", "--env", "MUSTER_HANG_AFTER=10")
    try:
        browser.open(f"{served.server.url}/ui/jobs?name=sleeps")
        row = "document.querySelector('table.jobs tbody tr')?.innerText"
        browser.wait(f"/Hanging[^]*Training, no progress for [0-9]+ s/.test({row})", SECONDS)
        browser.open(f"{served.server.url}/ui/runs?name=sleeps")
        browser.wait("/Hanging/.test(document.querySelector('.runs tbody tr')?.innerText)")
        browser.click_text("sleeps", "th a")
        browser.wait_text("the job hangs: no output and no progress for 10 s")
        browser.click_text("Log", ".tabs a")
        browser.wait("document.querySelector('.log')")
        browser.wait_text("the job hangs: no output and no progress for 10 s")
        browser.click_text("Show stacks of all ranks")
        browser.wait("document.querySelector('.job-head').innerText"
                     ".includes('1 process on 1 host, at 1 place')")
        (pid,) = in_host("algo-1", lambda words: words[-1].endswith("sleeps.py"))
        os.kill(pid, signal.SIGUSR1)
        browser.wait("document.querySelector('.job-head .status').innerText.includes('Running')")
        browser.wait_text("Stacks captured during the hang")
        assert "The job hangs" not in browser.text()
        browser.wait("document.querySelector('.log').innerText.includes('no longer hangs')")
    finally:
        served.sm("stop", "--wait", "sleeps")


SAVES = """
import os, pathlib
pathlib.Path(os.environ["SM_MODEL_DIR"], "weights.bin").write_bytes(os.urandom(300_000))
pathlib.Path(os.environ["SM_OUTPUT_DATA_DIR"], "report.txt").write_text("good")
"""


def test_stacks_of_a_running_job_are_shown_when_they_are_asked_for(served, browser):
    served.sm("submit", "waits.py", "--name", "stacks")
    try:
        browser.open(f"{served.server.url}/ui/jobs/stacks?phases=open")
        browser.wait(f"{ROW}.some((each) => each.innerText.startsWith('running'))", SECONDS)
        browser.click_text("Show stacks of all ranks")
        browser.wait("document.body.innerText.includes('1 process on 1 host, at 1 place')")
        assert "waits.py" in browser.run("return document.querySelector('main').innerText")
    finally:
        served.sm("stop", "--wait", "stacks")


@pytest.mark.parametrize(
    ("script", "want"),
    [
        (RAS, "NCCL: communicator 0x1f of 2 ranks: AllReduce: rank 0 started 2, rank 1 started 1"),
        (FLIGHTS, FLIGHTS_SHOWN),
    ],
)
def test_what_ranks_wait_for_is_shown_with_the_stacks(served, browser, script, want):
    name = want.split(":")[0].replace(" ", "-")
    (served.folder / "collective.py").write_text(script)
    served.sm("submit", "collective.py", "--name", name)
    try:
        browser.open(f"{served.server.url}/ui/jobs/{name}/log")
        browser.wait_text("begun")  # The overview's last lines may be later ones of `train`.
        browser.open(f"{served.server.url}/ui/jobs/{name}?phases=open")
        browser.wait_text("Show stacks of all ranks")
        browser.click_text("Show stacks of all ranks")
        browser.wait_text(want)
    finally:
        served.sm("stop", "--wait", name)


def test_what_a_job_leaves_is_listed_and_comes_as_files(served, browser):
    (served.folder / "saves.py").write_text(SAVES)
    served.sm("submit", "saves.py", "--wait", "--name", "saves")
    browser.open(f"{served.server.url}/ui/jobs/saves")
    rows = "[...document.querySelectorAll('a[download]')]"
    browser.wait(f"{rows}.length === 2")
    names = browser.run(f"return {rows}.map((each) => each.innerText)")
    assert sorted(names) == ["model.tar.gz", "output.tar.gz"]
    s3 = served.server.client("s3", signature_version="s3v4")
    told = served.server.client("sagemaker").describe_training_job(TrainingJobName="saves")
    bucket, _, prefix = told["OutputDataConfig"]["S3OutputPath"].split("//")[1].partition("/")
    for name in names:
        kept = s3.get_object(Bucket=bucket, Key=f"{prefix}saves/output/{name}")["Body"].read()
        head, size, digest = browser.run(
            """const link = [...document.querySelectorAll('a[download]')]
              .find((each) => each.innerText === arguments[0]);
            const answer = await fetch(link.href);
            const bytes = new Uint8Array(await answer.arrayBuffer());
            return [answer.headers.get('content-disposition'), bytes.length,
                    bytes.reduce((sum, each) => (sum * 31 + each) % 1000003, 0)];""", name)
        expected = 0
        for byte in kept:
            expected = (expected * 31 + byte) % 1000003
        assert (head, size, digest) == (f'attachment; filename="{name}"', len(kept), expected)
        assert f"{len(kept)} bytes" in browser.text() or " KB" in browser.text()
    browser.click("[aria-label='Contents of model.tar.gz']")
    browser.wait("/weights.bin\\s+30/.test(document.querySelector('dialog').innerText)")
    browser.keys("\ue00c")  # Escape.
    browser.wait("!document.querySelector('dialog[open]')")
    browser.click("[aria-label='Contents of output.tar.gz']")
    browser.wait("document.querySelector('dialog').innerText.includes('report.txt')")


ROW = "[...document.querySelectorAll('.timeline tbody tr')]"


def test_a_timeline_adds_up_to_the_whole(served, browser):
    browser.open(f"{served.server.url}/ui/jobs/good?phases=open")
    browser.wait(f"{ROW}.some((each) => each.innerText.startsWith('results'))")
    names = browser.run(f"return {ROW}.map((each) => each.firstElementChild.innerText)")
    assert names[:2] == ["queued", "root file system"] and "first line" in names
    told = json.loads(served.sm("timeline", "good", "--json"))
    assert len(names) == len(told["hosts"][0]["points"])
    bars = "document.querySelectorAll('.timeline svg').length"
    first = browser.run(f"return {bars}")
    assert first == names.index("first line") + 1
    browser.click_text("All", ".chip")
    browser.wait(f"{bars} === {len(names)}")
    assert "scale=all" in browser.url()
    begins, ends = browser.run(
        "const all = [...document.querySelectorAll('.timeline rect')];"
        "return ['x', 'width'].map((name) => all.map((e) => Number(e.getAttribute(name))))")
    for i in range(1, len(begins)):  # A bar is never too thin to be seen.
        assert begins[i] == pytest.approx(begins[i - 1] + ends[i - 1], abs=2.1)
    browser.reload()
    browser.wait(f"{bars} === {len(names)}")


def phase_ms(served, job: str) -> dict[str, int]:
    """Each point of the job's only host with the milliseconds of the phase that it ends."""
    told = json.loads(served.sm("timeline", job, "--json"))
    took, begin = {}, told["submitted_ms"]
    for point in told["hosts"][0]["points"]:
        took[point["point"]] = max(point["ms"] - begin, 0)
        begin = max(point["ms"], begin)
    return took


def test_a_timeline_shows_the_difference_from_the_last_run_of_the_same_code(served, browser):
    browser.open(f"{served.server.url}/ui/jobs/bad?phases=open")
    browser.wait_text("the last run of the same code", SECONDS)
    link = browser.run("return document.querySelector('[aria-label=Timeline] p a').pathname")
    assert link == "/ui/jobs/good"
    told = browser.run(f"return {ROW}.map((each) => each.children[2].innerText)")
    now, then = phase_ms(served, "bad"), phase_ms(served, "good")
    assert list(now) == list(then) and len(told) == len(now)
    for point, text in zip(now, told):
        ms = now[point] - then[point]
        if abs(ms) < 1000:
            assert text == (f"{ms:+} ms" if ms else "±0 ms"), point
        else:
            assert text == f"{ms / 1000:+.1f} s", point
    browser.open(f"{served.server.url}/ui/jobs/good?phases=open")
    browser.wait(f"{ROW}.some((each) => each.innerText.startsWith('results'))")
    assert "the last run" not in browser.text()


def test_a_timeline_grows_while_the_job_runs(served, browser):
    served.sm("submit", "waits.py", "--name", "grows")
    browser.open(f"{served.server.url}/ui/jobs/grows?phases=open")
    row = f"{ROW}.find((each) => each.innerText.startsWith('running'))?.innerText"
    browser.wait(f"{row}?.includes('so far')", SECONDS)
    first = browser.run(f"return {row}")
    browser.wait(f"{row} !== {json.dumps(first)}")
    served.sm("stop", "grows")
    browser.wait(f"{ROW}.some((each) => each.innerText.startsWith('results'))", SECONDS)
    browser.wait("!document.querySelector('.timeline').innerText.includes('so far')")


def test_the_browser_found_nothing_to_complain_about(served):
    with Browser() as browser:
        served.enter(browser)
        browser.complaints()  # The refused call before the login is one.
        for path in ("jobs", "runs", "jobs/bad", "jobs/bad/log", "machine", "access"):
            browser.open(f"{served.server.url}/ui/{path}")
            browser.wait("document.querySelector('h1')")
            browser.wait("!document.body.innerText.includes('Loading')")
        assert browser.complaints() == []
