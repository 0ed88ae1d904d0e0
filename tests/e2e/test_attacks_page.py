"""Attacks on the web page of `sm server`: who gets in, and what a page of others may make it do."""

import http.client
import io
import json
import socket
import subprocess
import tarfile
import time
import urllib.parse

import pytest
from lab import SM
from sm_server import SmServer

SECONDS = 30
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
OWN = {"Sec-Fetch-Site": "same-origin"}


class Page:
    """A browser's part, by hand, so that anything about it can be wrong."""

    def __init__(self, server):
        self.server = server
        self.keys = server.keys["AWS_ACCESS_KEY_ID"], server.keys["AWS_SECRET_ACCESS_KEY"]

    def ask(self, method: str, path: str, headers: dict | None = None, body: str = ""):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=SECONDS)
        connection.request(method, path, body.encode(), headers or {})
        answer = connection.getresponse()
        answer.text = answer.read().decode(errors="replace")
        connection.close()
        return answer

    def call(self, name: str, input: dict | None = None, cookie: str = "", **headers: str):
        given = {**OWN, "Cookie": cookie, **{k.replace("_", "-"): v for k, v in headers.items()}}
        given = {key: value for key, value in given.items() if value}
        return self.ask("POST", f"/ui/call/{name}", given, json.dumps(input or {}))

    def new_pass(self) -> str:
        done = subprocess.run([SM, "ui", "--url"], env=self.server.env(), capture_output=True,
                              text=True, check=True, timeout=SECONDS)  # fmt: skip
        return done.stdout.strip().split("#enter=")[1]

    def enter(self) -> str:
        answer = self.call("enter", {"pass": self.new_pass()})
        assert answer.status == 200, answer.text
        return answer.getheader("Set-Cookie").split(";")[0]


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("page")) as server:
        yield Page(server)


@pytest.fixture(scope="module")
def cookie(page):
    value = page.enter()
    assert page.call("visit", cookie=value).status == 200
    return value


# --- who gets in ---


def test_a_pass_is_good_once(page):
    secret = page.new_pass()
    assert page.call("enter", {"pass": secret}).status == 200
    assert page.call("enter", {"pass": secret}).status == 403


@pytest.mark.parametrize("secret", ["", "0" * 64, 7, None, ["a"], "x" * 10000])
def test_an_invalid_pass_does_not_log_in(page, secret):
    answer = page.call("enter", {"pass": secret})
    assert answer.status == 403 and answer.getheader("Set-Cookie") is None


@pytest.mark.parametrize("given", [{}, {"id": ""}, {"id": "x", "secret": ""}, {"secret": "x"}])
def test_no_login_without_the_keys_secret(page, given):
    assert page.call("login", given).status == 403
    assert page.call("login", {**given, "id": page.keys[0]}).status == 403


def test_a_link_is_made_for_a_signature_alone(page, cookie):
    headers = {"X-Amz-Target": "SageMaker.CreateWebLink", "Cookie": cookie, **OWN,
               "Content-Type": "application/x-amz-json-1.1"}  # fmt: skip
    answer = page.ask("POST", "/", headers, "{}")
    assert answer.status == 400 and "MissingAuthenticationToken" in answer.text


def test_a_revoked_key_ends_its_visits(page):
    data = ["--data", page.server.data]
    made = subprocess.run([SM, "key", "create", "--json", *data], capture_output=True, text=True,
                          timeout=SECONDS, env=page.server.env())  # fmt: skip
    assert made.returncode == 0, made
    key = json.loads(made.stdout)
    given = {"id": key["AccessKeyId"], "secret": key["SecretAccessKey"]}
    answer = page.call("login", given)
    assert answer.status == 200, answer.text
    own = answer.getheader("Set-Cookie").split(";")[0]
    assert page.call("visit", cookie=own).status == 200
    subprocess.run([SM, "key", "delete", key["AccessKeyId"], *data], check=True, timeout=SECONDS,
                   capture_output=True)  # fmt: skip
    assert page.call("visit", cookie=own).status == 401


def test_a_visit_that_was_ended_is_over(page):
    mine, other = page.enter(), page.enter()
    (own,) = [v for v in json.loads(page.call("visits", cookie=mine).text)["visits"] if v["own"]]
    assert page.call("end-visit", {"id": own["id"]}, cookie=other).status == 200
    assert page.call("visit", cookie=mine).status == 401
    assert page.call("leave", cookie=other).status == 200
    assert page.call("visit", cookie=other).status == 401


# --- what a cookie opens ---

STOLEN = [
    ("GET", "/", {}),
    ("GET", "/bucket/key", {}),
    ("PUT", "/bucket", {}),
    ("DELETE", "/ui", {}),
    ("POST", "/", {"X-Amz-Target": "SageMaker.ListTrainingJobs"}),
    ("POST", "/ui/call/visit", {"X-Amz-Target": "SageMaker.ListTrainingJobs"}),
    ("POST", "/?Action=GetCallerIdentity&Version=2011-06-15", {}),
    ("GET", "/v2/_catalog", {}),
]


@pytest.mark.parametrize("method, path, headers", STOLEN)
def test_a_cookie_opens_no_api(page, cookie, method, path, headers):
    answer = page.ask(method, path, {"Cookie": cookie, **OWN, **headers})
    assert answer.status in (400, 401, 403, 405), (answer.status, answer.text)


def test_a_signature_opens_no_call_of_the_page(page):
    client = page.server.client("sagemaker")
    client.meta.events.register("before-sign.*.*", lambda request, **_: setattr(
        request, "url", f"{page.server.url}/ui/call/ListTrainingJobs"))  # fmt: skip
    try:
        client.list_training_jobs()  # Answered as the API's own, whatever its path.
    except Exception as error:  # noqa: BLE001
        assert "Signature" in str(error) or "403" in str(error), error
    auth = {"Authorization": "AWS4-HMAC-SHA256 Credential=a/b/c/s3/aws4_request"}
    assert page.ask("POST", "/ui/call/visit", {**OWN, **auth}, "{}").status in (400, 401, 403)


def test_an_object_below_a_name_of_the_servers_calls_nothing(page, cookie):
    """A page at mine.localhost is of the server's site: browsers send the cookie along."""
    port = page.server.port
    mine = f"http://mine.localhost:{port}"
    server = {"Host": f"localhost:{port}", "Origin": mine}
    assert page.call("visit", cookie=cookie, Sec_Fetch_Site="same-site", **server).status == 403
    assert page.call("visit", cookie=cookie, Sec_Fetch_Site="", **server).status == 403
    own = {"Host": f"mine.localhost:{port}", "Origin": mine}
    assert page.call("visit", cookie=cookie, **own).status == 421


@pytest.mark.parametrize("cookies", ["", "muster=", "muster-1=x", "; ;=", "a" * 5000])
def test_other_cookies_open_nothing(page, cookies):
    assert page.call("visit", cookie=cookies).status == 401


def test_a_cookie_that_comes_twice_opens_nothing(page, cookie):
    assert page.call("visit", cookie=f"{cookie}; {cookie}").status == 401


# --- pages of others ---

CROSS = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "Same-Origin"},
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": "https://127.0.0.1"},
    {},
]


@pytest.mark.parametrize("headers", CROSS)
def test_no_other_page_makes_a_call(page, cookie, headers):
    for name in ("visit", "StopTrainingJob", "leave", "enter", "login", "machine",
                 "keys", "make-key", "delete-key"):
        answer = page.ask("POST", f"/ui/call/{name}", {"Cookie": cookie, **headers}, "{}")
        assert answer.status == 403, (name, answer.text)
    assert page.call("visit", cookie=cookie).status == 200


def test_an_origin_that_is_the_host_is_the_page(page, cookie):
    origin = {"Origin": page.server.url, "Cookie": cookie}
    assert page.ask("POST", "/ui/call/visit", origin, "{}").status == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_calls_are_posts(page, cookie, method):
    answer = page.ask(method, "/ui/call/StopTrainingJob", {"Cookie": cookie, **OWN})
    assert answer.status in (403, 405), answer.status


@pytest.mark.parametrize("call", ["events", "download?job=x", "metric-csv?job=x&name=y",
                                  "object?job=x&place=output&name=y"])
def test_no_other_page_reads_events_or_logs(page, cookie, call):
    headers = {"Cookie": cookie, "Sec-Fetch-Site": "cross-site"}
    assert page.ask("GET", f"/ui/call/{call}", headers).status == 403
    assert page.ask("GET", f"/ui/call/{call}", OWN).status == 401


NAMES = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "",
         "evil.example:80@127.0.0.1", "127.0.0.1, evil.example"]  # fmt: skip


@pytest.mark.parametrize("host", NAMES)
def test_a_name_of_others_is_not_the_servers(page, cookie, host):
    for path in ("/ui/", "/ui/call/visit"):
        method = "POST" if "call" in path else "GET"
        answer = page.ask(method, path, {"Host": host, "Cookie": cookie, **OWN})
        assert answer.status in (400, 421), (answer.status, answer.text)


PATHS = ["/ui/", "/ui/jobs/x", "/ui", "/ui/nothing/at/all", "/ui/call/visit", "/ui/call/none"]


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_of_the_page_has_its_policy(page, path):
    answer = page.ask("GET", path, {"Cookie": ""})
    assert answer.getheader("Content-Security-Policy") == POLICY
    assert answer.getheader("X-Content-Type-Options") == "nosniff"
    assert answer.getheader("Access-Control-Allow-Origin") is None


def test_an_object_cannot_act_as_a_page_of_the_server(page):
    s3 = page.server.client("s3", signature_version="s3v4")
    s3.create_bucket(Bucket="pages")
    s3.put_object(Bucket="pages", Key="a.html", Body=b"<script>1</script>", ContentType="text/html")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "pages", "Key": "a.html"})
    path = url.split(str(page.server.port), 1)[1]
    for headers in ({"Sec-Fetch-Mode": "navigate"}, {"Accept": "text/html,*/*"},
                    {"Sec-Fetch-Mode": "no-cors"}):  # fmt: skip
        answer = page.ask("GET", path, headers)
        assert answer.status == 200
        assert answer.getheader("Content-Security-Policy") == "sandbox"
    assert page.ask("GET", path).getheader("Content-Security-Policy") is None
    refused = page.ask("GET", "/pages/a.html", {"Sec-Fetch-Mode": "navigate"})
    assert refused.status == 403 and refused.getheader("Content-Security-Policy") == "sandbox"


# --- access keys ---


def key_ids(page, cookie: str) -> list[str]:
    return [each["id"] for each in json.loads(page.call("keys", cookie=cookie).text)["keys"]]


def test_keys_are_listed_after_login_without_their_secrets(page, cookie):
    for name in ("keys", "make-key", "delete-key", "machine"):
        assert page.call(name).status == 401
        assert page.ask("GET", f"/ui/call/{name}", {"Cookie": cookie, **OWN}).status in (403, 405)
    answer = page.call("keys", cookie=cookie)
    assert answer.getheader("Cache-Control") == "no-store"
    assert page.keys[0] in answer.text and page.keys[1] not in answer.text


def test_a_new_key_is_shown_once_and_is_in_no_cache_or_log(page, cookie):
    answer = page.call("make-key", {"comment": "x" * 256}, cookie=cookie)
    assert answer.status == 200 and answer.getheader("Cache-Control") == "no-store"
    made = json.loads(answer.text)
    assert made["secret"] not in page.call("keys", cookie=cookie).text
    own = page.call("login", made)
    assert own.status == 200
    mine = own.getheader("Set-Cookie").split(";")[0]
    assert page.call("delete-key", {"id": made["id"]}, cookie=mine).status == 200
    assert page.call("visit", cookie=mine).status == 401
    assert page.call("visit", cookie=cookie).status == 200
    assert made["id"] not in key_ids(page, cookie)


@pytest.mark.parametrize("headers", CROSS)
def test_no_other_page_makes_or_deletes_a_key(page, cookie, headers):
    before = key_ids(page, cookie)
    for name, given in (("make-key", {}), ("delete-key", {"id": page.keys[0]})):
        asked = {"Cookie": cookie, **headers}
        assert page.ask("POST", f"/ui/call/{name}", asked, json.dumps(given)).status == 403
    assert key_ids(page, cookie) == before


@pytest.mark.parametrize("comment", ["x" * 257, "a\nb", "\x00", "\x7f", 7, None, ["a"], {"a": 1}])
def test_a_key_has_a_comment_of_one_line_or_is_not_made(page, cookie, comment):
    before = key_ids(page, cookie)
    assert page.call("make-key", {"comment": comment}, cookie=cookie).status == 400
    assert key_ids(page, cookie) == before


@pytest.mark.parametrize("key", ["", "../x", "AKIANONE", "x" * 5000, "' OR 1=1 --", "\0", 7, None,
                                 ["a"]])  # fmt: skip
def test_an_unknown_key_is_not_deleted(page, cookie, key):
    before = key_ids(page, cookie)
    assert page.call("delete-key", {"id": key}, cookie=cookie).status == 404
    assert key_ids(page, cookie) == before


def test_the_last_key_stays(page, cookie):
    assert key_ids(page, cookie) == [page.keys[0]]
    answer = page.call("delete-key", {"id": page.keys[0]}, cookie=cookie)
    assert answer.status == 400 and "last key" in answer.text
    assert page.call("visit", cookie=cookie).status == 200


# --- paths and sizes ---


@pytest.mark.parametrize("path", [
    "/ui/../etc/passwd", "/ui/..%2f..%2fetc/passwd", "/ui/%2e%2e/v2/", "/ui//etc/passwd", "/ui/./",
    "/ui/jobs/../../x", "/ui/index.html", "/ui/README.md", "/ui/0123456789abcdef/index.html",
    "/ui/call/", "/ui/call/../visit", "/ui/\\..\\x", "/ui/jobs/a%00b", "/ui/" + "a" * 20000,
])  # fmt: skip
def test_no_path_leads_out_of_the_page(page, path):
    answer = page.ask("GET", path)
    assert answer.status in (400, 403, 404, 414, 431), answer.status
    assert "root:" not in answer.text


def test_a_head_has_an_end(page, cookie):
    with socket.create_connection(("127.0.0.1", page.server.port), timeout=SECONDS) as raw:
        raw.sendall(b"GET /ui/ HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: " + b"a" * 100_000)
        assert b" 431 " in raw.recv(100) or raw.recv(1) == b""
    assert page.call("visit", cookie=cookie).status == 200


@pytest.mark.parametrize("body, status", [
    ("x" * 70_000, 413), ("[]", 400), ("{", 400), ('{"a":' * 5000, 400), ("null", 400), ("7", 400),
])  # fmt: skip
def test_a_call_is_a_small_object(page, cookie, body, status):
    answer = page.ask("POST", "/ui/call/log", {**OWN, "Cookie": cookie}, body)
    assert answer.status == status, answer.text


@pytest.mark.parametrize("given", [
    {"job": "../x"}, {"job": "none"}, {"job": 7}, {"job": "none", "from": -1, "count": 10**15},
])  # fmt: skip
def test_an_unknown_log_is_refused(page, cookie, given):
    assert page.call("log", given, cookie=cookie).status == 400
    assert page.call("search-log", {**given, "pattern": "a"}, cookie=cookie).status == 400


@pytest.mark.parametrize("given, status", [
    ({"MusterInstanceType": "' OR 1=1 --"}, 200), ({"MusterInstanceType": "%"}, 200),
    ({"MusterTag": {"Key": "x' OR '1'='1"}}, 200), ({"MusterTag": {"Key": "%", "Value": "%"}}, 200),
    ({"MusterInstanceType": 7}, 400), ({"MusterInstanceType": "x" * 65}, 400),
    ({"MusterTag": "team"}, 400), ({"MusterTag": {}}, 400), ({"MusterTag": {"Key": ["x"]}}, 400),
    ({"MusterTag": {"Key": "x" * 513}}, 400), ({"MusterTag": {"Key": "x", "Value": None}}, 400),
])  # fmt: skip
def test_a_filter_of_jobs_is_a_text_and_no_statement(page, cookie, left, given, status):
    answer = page.call("ListTrainingJobs", given, cookie=cookie)
    assert answer.status == status, answer.text
    if status == 200:
        assert json.loads(answer.text) == {"TrainingJobSummaries": []}
        assert "left" in page.call("ListTrainingJobs", {}, cookie=cookie).text


@pytest.mark.parametrize("name, value", [
    ("rank", "-1"), ("rank", "x"), ("rank", "9" * 30), ("rank", "1e3"), ("stream", "log"),
    ("stream", "stdout,stderr"), ("level", "ERROR"), ("level", "x" * 9999),
])  # fmt: skip
def test_a_filter_of_the_log_is_one_of_those_it_has(page, cookie, name, value):
    given = {"job": "none", name: value}
    told = page.call("log", given, cookie=cookie)
    assert (told.status, name in told.text) == (400, True), told.text
    assert page.call("search-log", {**given, "pattern": "a"}, cookie=cookie).status == 400
    query = urllib.parse.urlencode(given)
    answer = page.ask("GET", f"/ui/call/download?{query}", {**OWN, "Cookie": cookie})
    assert answer.status == 400, answer.text


@pytest.mark.parametrize("given", [
    {"job": "../x"}, {"job": "none"}, {"job": 7}, {"job": "'; DROP TABLE jobs --"}, {},
])  # fmt: skip
def test_metrics_of_no_job_are_refused(page, cookie, given):
    assert page.call("metrics", given).status == 401
    assert page.call("metrics", given, cookie=cookie).status == 400
    assert page.call("ListTrainingJobs", cookie=cookie).status == 200


@pytest.mark.parametrize("given", [{"TrainingJobName": "../x"}, {"TrainingJobName": "none"}, {}])
def test_a_timeline_of_no_job_is_refused(page, cookie, given):
    for name in ("DescribeTrainingJobTimeline", "DescribeTrainingJobUsage"):
        assert page.call(name, given).status == 401
        assert page.call(name, given, cookie=cookie).status == 400


@pytest.mark.parametrize("given", [{"job": "' OR ''='"}, {"job": "none"}, {"job": 7}, {}])
def test_the_last_run_of_an_unknown_job_is_empty(page, cookie, given):
    assert page.call("last-run", given).status == 401
    answer = page.call("last-run", given, cookie=cookie)
    assert answer.status == 200 and json.loads(answer.text) == {"job": ""}


@pytest.mark.parametrize("given", [{"job": "../x"}, {"job": "none"}, {"job": 7}, {}])
def test_stacks_of_no_job_are_refused(page, cookie, given):
    assert page.call("stacks", given).status == 401
    assert page.call("stacks", given, cookie=cookie).status == 400


@pytest.mark.parametrize("given", [
    {"buckets": 0}, {"buckets": -1}, {"buckets": 2001}, {"buckets": 10**15}, {"buckets": "7"},
    {"from": -1}, {"from": 100}, {"to": 2**62}, {"to": -5}, {"from": 1e300}, {"from": None},
    {"name": ""}, {"name": "x" * 256}, {"name": ["x"]}, {"by": "rank"},
    {"by": "step", "to": 2**53 + 2}, {"by": "step", "from": 100}, {"by": "step", "buckets": 0},
])  # fmt: skip
def test_a_metric_is_returned_within_limits_or_refused(page, cookie, given):
    good = {"job": "none", "name": "loss", "from": 0, "to": 100, "buckets": 10}
    for by in ({}, {"by": "time"}, {"by": "step"}, {"by": "step", "to": 2**53 + 1}):
        answer = page.call("metric", {**good, **by}, cookie=cookie)
        assert answer.status == 200 and json.loads(answer.text)["buckets"] == []
    assert page.call("metric", good).status == 401
    assert page.call("metric", {**good, **given}, cookie=cookie).status == 400


@pytest.mark.parametrize("query", ["", "?job=none&name=loss", "?name=%00", "?job=%0d%0aX:y&name=a",
                                   "?job=../../x&name=y", "?job=a%22b&name=%3D1"])  # fmt: skip
def test_a_file_of_an_unknown_metric_is_not_found(page, cookie, query):
    answer = page.ask("GET", f"/ui/call/metric-csv{query}", {"Cookie": cookie, **OWN})
    assert answer.status == 404 and answer.text == ""
    assert answer.getheader("X") is None
    assert page.ask("POST", f"/ui/call/metric-csv{query}", {"Cookie": cookie, **OWN}).status == 404


@pytest.fixture(scope="module")
def left(page, tmp_path_factory):
    """A job, and objects that are and are not of it."""
    folder = tmp_path_factory.mktemp("left")
    (folder / "train.py").write_text("print(1)")
    command = [SM, "submit", "train.py", "--wait", "--name", "left"]
    subprocess.run(command, check=True, env=page.server.env(), cwd=folder, capture_output=True,
                   timeout=SECONDS * 4)  # fmt: skip
    described = page.server.client("sagemaker").describe_training_job(TrainingJobName="left")
    bucket, _, prefix = described["OutputDataConfig"]["S3OutputPath"][5:].partition("/")
    s3 = page.server.client("s3", signature_version="s3v4")
    for key in ("left/output/a\r\nX: y.html", "left/output/<b>", "left/secret", "other/secret"):
        s3.put_object(Bucket=bucket, Key=prefix + key, Body=b"<script>1</script>")


def test_objects_are_those_of_the_job(page, cookie, left):
    assert page.call("objects", {"job": "left"}).status == 401
    answer = page.call("objects", {"job": "left"}, cookie=cookie)
    names = {each["name"] for each in json.loads(answer.text)["objects"]}
    assert names == {"a\r\nX: y.html", "<b>", "model.tar.gz"}
    for job in ("none", "../x", 7, ""):
        assert page.call("objects", {"job": job}, cookie=cookie).status == 400


@pytest.mark.parametrize("place, name", [
    ("output", "../secret"), ("output", "../../other/secret"), ("output", "/left/secret"),
    ("output", "%2e%2e/secret"), ("", "left/secret"), ("checkpoints", "left/secret"),
    ("output/..", "secret"), ("output", ""), ("output", "x" * 3000), ("output", "\0"),
])  # fmt: skip
def test_no_other_object_is_handed_out(page, cookie, left, place, name):
    query = urllib.parse.urlencode({"job": "left", "place": place, "name": name})
    answer = page.ask("GET", f"/ui/call/object?{query}", {"Cookie": cookie, **OWN})
    assert answer.status == 404 and answer.text == "", answer.status


def tar_with(members) -> bytes:
    """A gzipped tar of names and sizes; the files are zeros."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as tar:
        for name, size in members:
            info = tarfile.TarInfo(name)
            info.size = size
            tar.addfile(info, io.BytesIO(bytes(size)))
    return packed.getvalue()


@pytest.fixture(scope="module")
def archives(page, left):
    """Archives that a job might save as its model, by name, and the expected listing or error."""
    packed = tar_with([("weights", 3_000_000)])
    return {
        "many.tar.gz": (tar_with([(f"{i}", 0) for i in range(3000)]), "more"),
        "bomb.tar.gz": (tar_with([("zeros", 100 << 20), ("behind", 1)]), "behind"),
        "names.tar.gz": (tar_with([("../../\x1b[2J\n<b>", 1)]), "\\\\x1b[2J"),
        "text.tar.gz": (b"no archive, as one reads it" * 20, "text.tar.gz: not a tar archive"),
        "empty.tar.gz": (b"", "not a tar archive"),
        "half.tar.gz": (packed[: len(packed) // 2], "half.tar.gz: the file ends in the middle"),
        "damaged.tar.gz": (packed[:40] + b"\xff" * 99, "damaged.tar.gz: the archive is damaged"),
    }


@pytest.mark.parametrize("name", ["many.tar.gz", "bomb.tar.gz", "names.tar.gz", "text.tar.gz",
                                  "empty.tar.gz", "half.tar.gz", "damaged.tar.gz"])  # fmt: skip
def test_an_archive_is_listed_within_limits_or_refused_in_a_line(page, cookie, archives, name):
    body, want = archives[name]
    described = page.server.client("sagemaker").describe_training_job(TrainingJobName="left")
    bucket, _, prefix = described["OutputDataConfig"]["S3OutputPath"][5:].partition("/")
    s3 = page.server.client("s3", signature_version="s3v4")
    key = f"{prefix}left/output/{name}"
    s3.put_object(Bucket=bucket, Key=key, Body=body)
    given = {"job": "left", "place": "output", "name": name}
    try:
        answer = page.call("contents", given, cookie=cookie)
    finally:
        s3.delete_object(Bucket=bucket, Key=key)
    assert want in answer.text and len(answer.text) < 200_000
    told = json.loads(answer.text)
    if answer.status == 200:
        assert len(told["members"]) <= 1000 and told["more"] == (name == "many.tar.gz")
        assert all(text.isprintable() for each in told["members"] for text in (each[0], each[4]))
    else:
        assert answer.status == 400 and "\n" not in told["message"]
    assert page.server.resident_kib() < 200_000


@pytest.mark.parametrize("place, name", [
    ("output", "../secret"), ("", "left/secret"), ("checkpoints", "model.tar.gz"), ("output", ""),
    ("output", 7), ("output", "x" * 3000), ("output/..", "secret"),
])  # fmt: skip
def test_no_other_archive_is_looked_into(page, cookie, left, place, name):
    given = {"job": "left", "place": place, "name": name}
    assert page.call("contents", given).status == 401
    answer = page.call("contents", given, cookie=cookie)
    assert answer.status == 400 and "the job has no object with this name" in answer.text
    assert page.call("contents", {**given, "job": "none"}, cookie=cookie).status == 400


def test_an_object_of_a_job_is_a_file_and_no_page(page, cookie, left):
    for name, file in (("a\r\nX: y.html", "a__X__y.html"), ("<b>", "_b_")):
        query = urllib.parse.urlencode({"job": "left", "place": "output", "name": name})
        answer = page.ask("GET", f"/ui/call/object?{query}", {"Cookie": cookie, **OWN})
        assert answer.status == 200 and answer.text == "<script>1</script>"
        assert answer.getheader("Content-Disposition") == f'attachment; filename="{file}"'
        assert answer.getheader("Content-Type").startswith("application/octet-stream")
        assert answer.getheader("Content-Security-Policy") == POLICY
        assert answer.getheader("X") is None


@pytest.mark.parametrize("name", ["CreateTrainingJob", "DeleteTrainingJob", "AddTags", "Search",
                                  "operate", "log-", "events"])  # fmt: skip
def test_the_page_calls_what_it_needs_and_no_more(page, cookie, name):
    assert page.call(name, cookie=cookie).status == 404


class Streams:
    """Streams of events that stay open until this ends; open() returns the response's status."""

    def __init__(self, page):
        self.page = page
        self.sockets: list[socket.socket] = []

    def open(self, cookie: str) -> int:
        raw = socket.create_connection(("127.0.0.1", self.page.server.port), timeout=SECONDS)
        self.sockets.append(raw)
        raw.sendall("GET /ui/call/events HTTP/1.1\r\n"
                    f"Host: 127.0.0.1:{self.page.server.port}\r\n"
                    f"Cookie: {cookie}\r\n"
                    "Sec-Fetch-Site: same-origin\r\n\r\n".encode())  # fmt: skip
        return int(raw.recv(4096).split()[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for raw in self.sockets:
            raw.close()


def test_events_of_one_browser_are_bounded(page):
    cookie = page.enter()
    with Streams(page) as streams:
        assert [streams.open(cookie) for _ in range(13)] == [200] * 12 + [503]
        assert page.call("visit", cookie=cookie).status == 200


@pytest.mark.deep
def test_no_stream_of_events_lasts_longer_than_ten_minutes(page, cookie):
    begin = time.monotonic()
    with Streams(page) as streams:
        assert streams.open(cookie) == 200
        (stream,) = streams.sockets
        last = b""
        while not last.endswith(b"\r\n0\r\n\r\n"):  # A chunked body's; beats come until then.
            more = stream.recv(65536)
            assert more, "the server closed the connection"
            last = (last + more)[-16:]
            assert time.monotonic() - begin < 660
    assert 595 < time.monotonic() - begin
