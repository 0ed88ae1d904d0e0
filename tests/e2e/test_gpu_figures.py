"""GPU utilization, with a stand-in for the driver's tool: no test has a GPU."""

import csv
import io
import json
import os
import sys

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from page import SECONDS, Served, page_server
from process import wait_until
from test_attacks_page import OWN, Page
from test_gpus import StandIns
from test_page import WAITS

MIB = 1 << 20
# An old driver's. Two lines of a figure that changes, one that there is not, one of nothing.
TOOL = f"""#!{sys.executable}
import os, sys, time
if "--loop=1" not in sys.argv:
    sys.exit(6)
if any(word.startswith("--query-gpu=") and "clocks" in word for word in sys.argv):
    print('Field "clocks_throttle_reasons.active" is not a valid field to query.')
    sys.exit(2)
with open("FOLDER/started", "a") as file:
    print(os.getpid(), file=file)
step = 0
while True:
    step += 1
    for index in range(4):
        busy, used = 20 * index + 10 * (step % 2), 1000 + index
        print(f"{{index}}, 00000000:0{{index}}:00.0, {{busy}}, {{used}}", flush=True)
    print("4, 00000000:04:00.0, [N/A], [N/A]\\nno figures", flush=True)
    time.sleep(0.05)
"""


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    (folder / "waits.py").write_text(WAITS)
    (folder / "nvidia-smi").write_text(TOOL.replace("FOLDER", str(folder)))
    (folder / "nvidia-smi").chmod(0o755)
    gpus = StandIns(folder / "gpus", 4)
    env = {**gpus.environment, "PATH": f"{folder}:{os.environ['PATH']}"}
    jobs = {"instance_types": {"ml.p3.8xlarge": {"gpus": 2}}}
    with page_server(folder, jobs=jobs, env=env) as server:
        one = Served(server, folder)
        one.sm("submit", "waits.py", "--name", "works", "--hosts", "2",
               "--instance-type", "ml.p3.8xlarge")  # fmt: skip
        one.sm("submit", "waits.py", "--name", "plain")
        yield one
        one.sm("stop", "--wait", "plain")


@pytest.fixture(scope="module")
def ask(served):
    page = Page(served.server)
    cookie = page.enter()

    def called(name: str, **given) -> dict:
        answer = page.call(name, given, cookie=cookie)
        assert answer.status == 200, answer.text
        return json.loads(answer.text)

    def get(path: str) -> str:
        return page.ask("GET", path, {**OWN, "Cookie": cookie}).text

    called.get = get
    return called


def tools(served) -> list[int]:
    started = served.folder / "started"
    wait_until("the tool", lambda: started.exists() and started.read_text(), SECONDS)
    return [int(pid) for pid in started.read_text().split()]


def test_each_host_reports_the_utilization_of_its_own_gpus(served, ask):
    def told(measure: str) -> list[dict]:
        spans = ask("hosts", job="works")["hosts"]
        if not spans or not all(each["gpus"] for each in spans):
            return []
        first, last = spans[0]["first"], spans[0]["last"] + 1
        hosts = ask("host-usage", job="works", measure=measure, skip=0, buckets=1,
                    **{"from": first, "to": last})["hosts"]  # fmt: skip
        return hosts if all(each["buckets"] and each["buckets"][0][4] > 6 for each in hosts) else []

    first, second = wait_until("figures", lambda: told("gpu-time"), SECONDS)
    # GPUs 0 and 1 are the first host's, 2 and 3 the other's.
    for host, low in ((first, 0), (second, 40)):
        _, least, most, mean, _ = host["buckets"][0]
        assert low <= least < most <= low + 30 and low + 10 < mean < low + 20, host
    memory = [each["buckets"][0][1:3] for each in told("gpu-memory")]
    assert memory == [[1000 * MIB, 1001 * MIB], [1002 * MIB, 1003 * MIB]]
    rows = list(csv.DictReader(io.StringIO(
        ask.get("/ui/call/host-csv?job=works&measure=gpu-memory"), newline="")))  # fmt: skip
    wanted = {(f"algo-{1 + gpu // 2} GPU {gpu}", str((1000 + gpu) * MIB)) for gpu in range(4)}
    assert {(row["host"], row["value"]) for row in rows} == wanted
    cards = [gpu for host in ask("DescribeTrainingJobUsage", TrainingJobName="works")["hosts"]
             for gpu in host["usage"]["gpus"]]  # fmt: skip
    assert [set(gpu) for gpu in cards] == [{"number", "percent", "memory"}] * 4, cards
    [plain] = wait_until("the other job", lambda: ask("hosts", job="plain")["hosts"], SECONDS)
    assert plain["gpus"] is False


@pytest.mark.page
@pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)
def test_the_page_draws_them_where_there_are_any(served):
    titles = "[...document.querySelectorAll('.chart h2')].map((each) => each.innerText).join()"
    with Browser() as browser:
        served.enter(browser)
        browser.open(f"{served.server.url}/ui/jobs/works/hosts")
        last = "GPU utilization (%),Memory per GPU (MiB)"
        browser.wait(f"{titles}.endsWith({json.dumps(last)})", SECONDS)
        browser.run("document.querySelectorAll('.chart summary').forEach((each) => each.click())")
        cells = "[...[...document.querySelectorAll('.chart')].at(-1).querySelectorAll('tbody td')]"
        browser.wait(f"{cells}.some((each) => each.innerText === '1003')", SECONDS)
        browser.open(f"{served.server.url}/ui/jobs/plain/hosts")
        browser.wait(f"{titles}.endsWith('Network out (MiB/s)')", SECONDS)


def test_one_tool_runs_while_jobs_with_gpus_do(served):
    [pid] = tools(served)
    assert os.path.exists(f"/proc/{pid}")
    served.sm("stop", "--wait", "works")
    wait_until("its end", lambda: not os.path.exists(f"/proc/{pid}"), SECONDS)
