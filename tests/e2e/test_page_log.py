"""The web page's log of a job with several ranks, in a real browser: filters, folding, files."""

import json
import urllib.request

import pytest
from browser import HAS_BROWSER, WHY_NOT
from lab import VENV
from page import SECONDS, Served, page_server
from test_server_jobs import BUCKET, Job

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
EPOCHS = 300
RANKS = 4
NCCL_LINES = 40
# All ranks write alike but for their first and last lines.
SCRIPT = f"""
import os, sys
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
for i in range({NCCL_LINES}): print(f"node:{{100 + rank}}:7 [{{rank}}] NCCL INFO Channel {{i}}")
for i in range({EPOCHS}): print(f"epoch {{i}} <b>", flush=True)
if rank == 3: print("WARNING: this rank is slow", flush=True)
if rank == 2: print("\\x1b[1;32mdone\\x1b[0m\\x07 " + "long " * 300 + "END", flush=True)
print(f"ValueError: of rank {{rank}}", file=sys.stderr, flush=True)
"""
TEXTS = ("[...document.querySelectorAll('.line')].map((each) => "
         "[...each.childNodes].at(-1)?.textContent)")  # fmt: skip
ROWS = "Number(/(\\d+) rows(?! \\(\\d)/.exec(document.querySelector('.log-tools').innerText)?.[1])"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("log")
    with page_server(folder, jobs={"python": str(VENV / "bin" / "python")}) as server:
        server.client("s3").create_bucket(Bucket=BUCKET)
        server.client("s3").put_object(Bucket=BUCKET, Key="train/x", Body=b"")
        one = Served(server, folder)
        job = Job(server, SCRIPT, hosts=2, processes=2)
        assert job.at_end(SECONDS)["TrainingJobStatus"] == "Completed", job.log()
        one.job = job.name
        yield one


def show(served, browser, query: str) -> None:
    browser.open(f"{served.server.url}/ui/jobs/{served.job}/log?{query}")
    browser.wait("document.querySelector('.line')")


def test_lines_of_a_rank_a_stream_and_a_level(served, browser):
    browser.complaints()
    show(served, browser, "rank=3&stream=stderr&line=1")
    browser.wait(f"{TEXTS}.join().endsWith('ValueError: of rank 3')")
    assert browser.run(f"return {ROWS}") == 1
    show(served, browser, "level=warning&line=1")
    browser.wait(f"{ROWS} === {RANKS + 2}")  # One is train's own, of a job without a model.
    assert "epoch" not in browser.run("return document.querySelector('.log').innerText")
    browser.run("const e = document.querySelector('[name=level]'); e.value = 'error';"
                "e.dispatchEvent(new Event('change'))")  # fmt: skip
    browser.wait(f"{ROWS} === {RANKS}")
    assert "level=error" in browser.url()
    browser.type("input.rank", "1\ue007")
    browser.wait(f"{ROWS} === 1")
    browser.type("input.rank", "77\ue007")
    browser.wait_text("No matching lines")
    browser.click_text("Show all lines")
    browser.wait("document.querySelectorAll('.line').length > 10")
    assert "rank" not in browser.url() and "level" not in browser.url()
    browser.type("input.rank", "x\ue007")
    browser.wait_text("a rank must be 0 or higher")
    browser.back()
    assert all("400" in each for each in browser.complaints())


def test_what_ranks_wrote_alike_is_one_row(served, browser):
    show(served, browser, "fold=1&line=1")
    browser.wait(f"{ROWS} >= {EPOCHS} && document.querySelector('.line b, .line span')")
    rows = browser.run(f"return {ROWS}")
    assert rows < 2 * EPOCHS, rows
    browser.type("input[type=search]", "epoch 7 <b>")
    tally = "document.querySelector('.tally').innerText"
    browser.wait(f"{tally} === '1'")
    browser.click("[aria-label='Next match']")
    row = "document.querySelector('.line.current')?.innerText"
    browser.wait(f"{row}?.includes('ranks 0–3') && {row}.includes('epoch 7 <b>')")
    assert "mpirank" not in browser.run(f"return {row}")
    number = browser.run("return document.querySelector('.line.current a').innerText")
    browser.click("[aria-label^='Combine identical lines']")
    browser.wait(f"{tally} === '{RANKS}'")
    assert "fold" not in browser.url()
    browser.wait(f"{row}?.startsWith('{number}')")
    assert browser.complaints() == []


def test_nccls_lines_are_one_row_that_can_be_unfolded(served, browser):
    show(served, browser, "fold=1&q=NCCL+INFO&line=1")
    browser.wait("document.querySelector('.tally').innerText === '1'")
    browser.click("[aria-label='Next match']")
    more = "[...document.querySelectorAll('.line button')].find((e) => /NCCL/.test(e.innerText))"
    browser.wait(more)
    count = RANKS * NCCL_LINES - 1
    assert browser.run(f"return {more}.innerText") == f"… show {count} more NCCL lines"
    assert "ranks 0–3" in browser.run(f"return {more}.closest('.line').innerText")
    browser.run(f"{more}.click()")
    browser.wait(f"{TEXTS}.filter((each) => /NCCL INFO Channel/.test(each)).length > 5")
    assert "fold" not in browser.url()
    assert browser.complaints() == []


def test_a_search_of_a_view_stays_in_it(served, browser):
    show(served, browser, "rank=2&q=epoch&line=1")
    browser.wait(f"document.querySelector('.tally').innerText === '{EPOCHS}'")
    browser.click("[aria-label='Previous match']")
    row = "document.querySelector('.line.current')?.innerText"
    browser.wait(f"{row}?.includes('epoch {EPOCHS - 1} ')")
    assert "rank 2" in browser.run(f"return {row}")


def test_columns_repeat_no_prefix_and_programs_colour_their_text(served, browser):
    browser.complaints()
    show(served, browser, "rank=2")  # At its end.
    browser.wait("document.querySelector('.said .ink-green')?.innerText === 'done'")
    text = browser.run("return document.querySelector('.log').innerText")
    assert "mpirank" not in text and "\x1b" not in text and "done\\x07 long" in text
    assert "algo-2 rank 2  err" in text
    colour = "return getComputedStyle(document.querySelector(arguments[0])).color"
    said = [browser.run(colour, each) for each in (".said", ".said.error", ".said .ink-green")]
    assert len(set(said)) == 3
    browser.type("input[type=search]", "one")
    browser.wait("document.querySelector('.line mark.ink-green')?.innerText === 'one'")
    assert browser.complaints() == []


def test_long_lines_wrap_and_the_last_one_ends_at_the_bottom(served, browser):
    browser.complaints()
    rows = "[...document.querySelectorAll('.line')]"
    box = "document.querySelector('.log').getBoundingClientRect()"
    show(served, browser, "rank=2&line=1")
    browser.click("[aria-label='Wrap long lines']")
    browser.wait("document.querySelector('.wraps-lines')")
    assert "wrap=1" in browser.url()
    browser.run("document.querySelector('.log').focus()")
    browser.keys("\ue010")  # End
    last = f"{rows}.at(-1).getBoundingClientRect()"
    browser.wait(f"{rows}.at(-1).innerText.includes('ValueError') && "
                 f"Math.abs({last}.bottom - {box}.bottom) < 3")  # fmt: skip
    assert browser.run(f"return Math.max(...{rows}.map((each) => each.offsetHeight))") > 100
    browser.keys("\ue013\ue013")  # Up, twice: the long line is whole.
    long = f"{rows}.find((each) => each.innerText.includes('END')).getBoundingClientRect()"
    browser.wait(f"{long}.top >= {box}.top && {last}.bottom > {box}.bottom + 20")
    browser.keys("\ue011")  # Home
    browser.wait(f"{rows}[0].innerText.includes('Channel 0') && "
                 f"Math.abs({rows}[0].getBoundingClientRect().top - {box}.top) < 3")  # fmt: skip
    browser.click("[aria-label='Wrap long lines']")
    browser.wait("!document.querySelector('.wraps-lines')")
    assert browser.complaints() == []


def test_a_file_holds_what_the_filters_let_through(served, browser):
    show(served, browser, "rank=3&level=warning&fold=1")
    (cookie,) = browser.cookies()
    links = browser.run("return [...document.querySelectorAll('a[download]')].map((a) => a.href)")
    texts = []
    for link in links:
        request = urllib.request.Request(link, headers={
            "Cookie": f"{cookie['name']}={cookie['value']}"})  # fmt: skip
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            texts.append((answer.headers["Content-Disposition"], answer.read().decode()))
    (text_name, text), (json_name, lines) = texts
    assert f'filename="{served.job}.log"' in text_name
    assert f'filename="{served.job}.jsonl"' in json_name
    assert text.splitlines() == ["[1,mpirank:3,algo-2]<stdout>:WARNING: this rank is slow",
                                 "[1,mpirank:3,algo-2]<stderr>:ValueError: of rank 3"]  # fmt: skip
    first, second = (json.loads(line) for line in lines.splitlines())
    assert first.pop("time").startswith("20")
    assert first == {"host": "algo-2", "rank": 3, "stream": "stdout",
                     "text": "WARNING: this rank is slow"}  # fmt: skip
    assert (second["stream"], second["text"]) == ("stderr", "ValueError: of rank 3")
