"""Pages of others, in a browser that is logged in to the web page: what they can make it do."""

import http.server
import json
import threading

import pytest
from browser import HAS_BROWSER, WHY_NOT
from page import SECONDS, Served, page_server
from test_page import WAITS

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
STOLEN = "document.title = 'stolen'; parent.document.title = 'stolen'"
KEY = f"<img src=x onerror={json.dumps(STOLEN)}>"
# Each way, and what came of it as the page of others sees it. `job`, `base`: what it attacks.
WAYS = """
const [base, job] = arguments;
const stop = JSON.stringify({ TrainingJobName: job });
const call = `${base}/ui/call/`;
const post = (name, body, more) =>
  fetch(call + name, { method: "POST", credentials: "include", body, ...more });
const told = {};
const say = async (name, way) => {
  told[name] = await Promise.race([
    Promise.resolve().then(way).then((value) => String(value), () => "refused"),
    new Promise((done) => setTimeout(done, 5000, "silence")),
  ]);
};
const element = (kind, attributes) => new Promise((done, fail) => {
  const one = Object.assign(document.createElement(kind), attributes);
  one.onload = () => done("loaded");
  one.onerror = fail;
  document.body.append(one);
});
const readable = (answer) => answer.text().then((text) => `read ${text.length}`);
const json = { headers: { "Content-Type": "application/json" } };
const blind = { mode: "no-cors" };
await say("simple request", () => post("StopTrainingJob", stop, blind).then((a) => a.type));
await say("request with preflight", () => post("StopTrainingJob", stop, json).then(readable));
await say("cors request", () => post("ListTrainingJobs", "{}").then(readable));
await say("leave", () => post("leave", "{}", blind).then((a) => a.type));
await say("make key", () => post("make-key", "{}", blind).then((a) => a.type));
await say("beacon", () => navigator.sendBeacon(call + "StopTrainingJob", stop));
const log = `${call}download?job=${job}`;
await say("read the log", () => fetch(log, { credentials: "include" }).then(readable));
await say("log as a script", () => element("script", { src: log }));
await say("page as a script", () => element("script", { src: `${base}/ui/` }));
await say("log as an image", () => element("img", { src: log }));
await say("events", () => new Promise((done, fail) => {
  const source = new EventSource(`${call}events`, { withCredentials: true });
  source.onopen = done;
  source.onerror = fail;
}));
await say("socket", () => new Promise((done, fail) => {
  const socket = new WebSocket(`${call}events`.replace("http", "ws"));
  socket.onopen = done;
  socket.onerror = fail;
}));
await say("form", () => {
  const form = document.createElement("form");
  Object.assign(form, { method: "POST", action: call + "StopTrainingJob", enctype: "text/plain",
                        target: "inner" });
  // As text it is {"TrainingJobName":"…","x":"="}.
  form.append(Object.assign(document.createElement("input"),
                            { name: stop.slice(0, -1) + ',"x":"', value: '"}' }));
  const inner = Object.assign(document.createElement("iframe"), { name: "inner" });
  document.body.append(inner, form);
  form.submit();
  return new Promise((done) => { inner.onload = () => done("answered"); });
});
await say("frame", () => {
  const frame = Object.assign(document.createElement("iframe"), { src: `${base}/ui/jobs/${job}` });
  document.body.append(frame);
  return new Promise((done) => { frame.onload = () => done("blank or not"); });
});
return told;
"""
READ = ("request with preflight", "cors request", "read the log", "log as a script",
        "page as a script", "log as an image", "events", "socket")  # fmt: skip


class Evil:
    """Another user's web server on this machine."""

    def __enter__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(b"<!doctype html><title>evil</title><body>")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evil")
    (folder / "waits.py").write_text(WAITS)
    with page_server(folder) as server:
        one = Served(server, folder)
        one.sm("submit", "waits.py", "--name", "victim")
        yield one
        one.sm("stop", "--wait", "victim")


def status(served: Served) -> str:
    api = served.server.client("sagemaker")
    return api.describe_training_job(TrainingJobName="victim")["TrainingJobStatus"]


# Another site, and another origin of the same one, whose requests bring the cookie along.
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_page_of_others_does_and_reads_nothing(served, browser, host):
    browser.open(f"{served.server.url}/ui/jobs/victim")
    browser.wait("document.querySelector('.job-head .status')?.innerText.includes('Running')",
                 SECONDS)  # fmt: skip
    keys = served.sm_key("list")
    with Evil() as evil:
        browser.open(f"http://{host}:{evil.port}/")
        browser.complaints()
        told = browser.run(f"return (async (...arguments) => {{{WAYS}}})(...arguments)",
                           served.server.url, "victim")  # fmt: skip
        complaints = "\n".join(browser.complaints())
    assert {name: told[name] for name in READ} == dict.fromkeys(READ, "refused"), told
    assert "frame-ancestors" in complaints, complaints
    assert status(served) == "InProgress"
    assert served.sm_key("list") == keys
    browser.open(f"{served.server.url}/ui/jobs/victim")  # Still logged in.
    browser.wait("document.querySelector('.job-head .status')?.innerText.includes('Running')")


@pytest.mark.parametrize("kind, body", [
    ("text/html", f"<!doctype html><title>mine</title><script>{STOLEN}</script><img src=x "
                  f"onerror={json.dumps(STOLEN)}><p id=here>here</p>"),
    ("image/svg+xml", f'<svg xmlns="http://www.w3.org/2000/svg" onload="{STOLEN}">'
                      f"<script>{STOLEN}</script><text id='here'>here</text></svg>"),
    ("application/xhtml+xml", f'<html xmlns="http://www.w3.org/1999/xhtml"><body onload="{STOLEN}">'
                              f"<script>{STOLEN}</script><p id='here'>here</p></body></html>"),
])  # fmt: skip
def test_an_object_that_is_opened_runs_nothing(served, browser, kind, body):
    s3 = served.server.client("s3", signature_version="s3v4")
    s3.create_bucket(Bucket="pages")
    s3.put_object(Bucket="pages", Key="page", Body=body.encode(), ContentType=kind)
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "pages", "Key": "page"})
    browser.open(url)
    browser.wait("document.getElementById('here')")
    assert browser.run("return document.title") != "stolen"
    assert browser.run("return self.origin") == "null"


def test_names_of_objects_are_text(served, browser):
    told = served.server.client("sagemaker").describe_training_job(TrainingJobName="victim")
    bucket, _, prefix = told["OutputDataConfig"]["S3OutputPath"][5:].partition("/")
    s3 = served.server.client("s3")
    s3.put_object(Bucket=bucket, Key=f"{prefix}victim/output/{KEY}", Body=b"x")
    browser.complaints()
    browser.open(f"{served.server.url}/ui/jobs/victim")
    browser.wait(f"[...document.querySelectorAll('a[download]')].some((each) => "
                 f"each.innerText === {json.dumps(KEY)})")  # fmt: skip
    assert browser.run("return document.title") != "stolen"
    assert browser.run("return document.querySelectorAll('main img').length") == 0
    assert browser.complaints() == []

