"""The web page's log in unusual cases: a deleted job's name is used again, more filters are in use
than the server keeps."""

import json
import urllib.error
import urllib.request

import pytest
from browser import HAS_BROWSER, WHY_NOT
from lab import VENV
from page import SECONDS, Served, page_server
from process import wait_until
from test_server_jobs import BUCKET, Job

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
LINES = 3000
SCRIPT = f'for i in range({LINES}): print(f"epoch {{i}}", flush=True)'
SHOWN = "document.querySelector('.log')?.innerText"
WAYS = 16  # In which the server filters one log at a time.

@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("again")
    with page_server(folder, jobs={"python": str(VENV / "bin" / "python")}) as server:
        server.client("s3").create_bucket(Bucket=BUCKET)
        server.client("s3").put_object(Bucket=BUCKET, Key="train/x", Body=b"")
        one = Served(server, folder)
        job = Job(server, SCRIPT)
        assert job.at_end(SECONDS)["TrainingJobStatus"] == "Completed", job.log()
        one.job = job.name
        yield one


def test_a_job_of_the_same_name_has_its_own_log(served, browser):
    for text in ("old", "new"):
        lines = "\n".join(f"print('{text} {i}')" for i in range(50))
        (served.folder / f"{text}.py").write_text(lines)
    served.sm("submit", "old.py", "--wait", "--name", "twice")
    browser.open(f"{served.server.url}/ui/jobs/twice/log?line=1")
    browser.wait(f"{SHOWN}?.includes('old 0')")
    served.sm("delete", "twice")
    browser.wait("document.querySelector('[role=alert]')")
    served.sm("submit", "new.py", "--wait", "--name", "twice")
    browser.wait(f"{SHOWN}?.includes('new 0')", SECONDS)
    assert "old" not in browser.run(f"return {SHOWN}")
    browser.complaints()


def ask_log(served, browser, **wish) -> int:
    (cookie,) = browser.cookies()
    request = urllib.request.Request(
        f"{served.server.url}/ui/call/log", json.dumps({"job": served.job, **wish}).encode(),
        {"Cookie": f"{cookie['name']}={cookie['value']}", "Origin": served.server.url,
         "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json"})  # fmt: skip
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        assert error.code != 503 or b"try again later" in error.read()
        return error.code


def test_ways_to_filter_a_log_do_not_push_each_other_out(served, browser):
    for rank in range(WAYS):
        assert ask_log(served, browser, rank=str(rank), stream="stderr") == 200
    assert ask_log(served, browser, rank="77") == 503
    assert ask_log(served, browser, rank="0", stream="stderr") == 200
    wait_until("room for another way", lambda: ask_log(served, browser, rank="77") == 200, SECONDS)
