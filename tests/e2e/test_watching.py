"""For machines that watch a server: /healthz, /readyz, /metrics, the log of requests."""

import base64
import os
import re
import signal
import subprocess
import urllib.error
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

from fit import GUARD_SECONDS
from lab import SM, VENV
from process import wait_until
from sm_server import SmServer

TOKEN = "a-token-of-some-length"


def ask(server, path: str, method="GET", **headers) -> tuple[int, str]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}{path}", method=method, headers=headers
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


def basic(server) -> str:
    env = server.env()
    login = f"{env['AWS_ACCESS_KEY_ID']}:{env['AWS_SECRET_ACCESS_KEY']}"
    return "Basic " + base64.b64encode(login.encode()).decode()


def metrics(server) -> dict[str, float]:
    status, text = ask(server, "/metrics", Authorization=f"Bearer {TOKEN}")
    assert status == 200, text
    return {
        sample.name + "".join(f"|{value}" for value in sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.fixture
def server(tmp_path):
    token = tmp_path / "token"
    token.touch(0o600)
    token.write_text(TOKEN + "\n")
    config = {"metrics_token_file": str(token), "access_log": str(tmp_path / "access.log")}
    jobs = {"python": str(VENV / "bin" / "python")}
    with SmServer(tmp_path, config=config, jobs=jobs) as server:
        yield server


def test_liveness_and_readiness_need_no_key(server):
    assert ask(server, "/healthz") == (200, "ok\n")
    assert ask(server, "/readyz") == (200, "ready\n")
    assert ask(server, "/healthz", method="HEAD") == (200, "")
    assert ask(server, "/healthz", method="POST")[0] == 403  # A bucket's name to all others.


def test_metrics_are_for_who_has_a_key_or_the_token(server, tmp_path):
    wrong = "Basic " + base64.b64encode(b"AKIANOBODY:secret").decode()
    for login in (
        {},
        {"Authorization": wrong},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": "Bearer " + "x" * len(TOKEN)},
    ):
        status, text = ask(server, "/metrics", **login)
        assert status == 401 and "muster_jobs" not in text
    assert ask(server, "/metrics", Authorization=basic(server))[0] == 200
    first = metrics(server)
    assert first["process_resident_memory_bytes"] > 1e6 and first["process_open_fds"] > 3
    assert first["muster_jobs_waiting"] == 0


def test_jobs_and_requests_are_counted(machine, server, tmp_path):
    (tmp_path / "train.py").write_text("print('x')\n")
    words = ("submit", "train.py", "--name", "counted", "--source-dir", tmp_path, "--wait")
    submit = machine.sm(*words, environment=server.env())
    assert submit.wait(GUARD_SECONDS) == 0, submit.text
    told = metrics(server)
    assert told["muster_jobs|Completed"] == 1
    assert told["muster_job_restarts_total"] == 0
    assert told["muster_job_phase_seconds_count|container"] == 1
    assert 0 < told["muster_job_phase_seconds_sum|container"] < GUARD_SECONDS
    assert told["muster_http_requests_total|api|2xx"] >= 2
    assert told["muster_http_requests_total|s3|2xx"] >= 1
    assert told["muster_http_received_bytes_total|s3"] > 0


def test_names_of_probes_stay_names_of_buckets_for_who_signs(server):
    s3 = server.client("s3")
    s3.create_bucket(Bucket="metrics")
    s3.put_object(Bucket="metrics", Key="a", Body=b"x")
    assert s3.list_objects_v2(Bucket="metrics")["KeyCount"] == 1
    assert ask(server, "/metrics")[0] == 401
    assert ask(server, "/metrics/a")[0] == 403


def test_each_request_is_a_line_and_no_line_has_a_signature(server, tmp_path):
    s3 = server.client("s3", signature_version="s3v4")
    s3.create_bucket(Bucket="logged")
    s3.put_object(Bucket="logged", Key="a b", Body=b"12345")
    url = s3.generate_presigned_url("get_object", Params={"Bucket": "logged", "Key": "a b"})
    assert urllib.request.urlopen(url, timeout=30).read() == b"12345"
    ask(server, "/%22x?secret")
    log = tmp_path / "access.log"
    lines = wait_until("four lines", lambda: len(log.read_text().splitlines()) >= 4
                       and log.read_text().splitlines())
    key = server.env()["AWS_ACCESS_KEY_ID"]
    form = r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z 127\.0\.0\.1 %s "%s %s" %d \d+ \d+ \d+\.\d'
    # A line is logged after its response, so another connection's next request can come first.
    for request in (
        (key, "PUT", "/logged/?", 200),
        (key, "PUT", "/logged/a%20b", 200),
        (key, "GET", "/logged/a%20b", 200),
        ("-", "GET", "/%22x", 403),
    ):
        assert any(re.fullmatch(form % request, line) for line in lines), (request, lines)
    assert "Signature" not in log.read_text() and "secret" not in log.read_text()
    assert os.stat(log).st_mode & 0o777 == 0o600

    log.rename(tmp_path / "access.log.1")
    server.process.send_signal(signal.SIGHUP)
    wait_until("the file anew", log.exists)
    ask(server, "/healthz")
    wait_until("its first line", lambda: '"GET /healthz" 200' in log.read_text())


def test_a_full_disk_is_not_ready_and_alive(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1g,mode=755", "small", data], check=True)
    try:
        with SmServer(tmp_path) as server:
            assert ask(server, "/readyz")[0] == 200
            with open(data / "filler", "wb", buffering=0) as filler:
                try:
                    while True:
                        filler.write(b"x" * (1 << 20))
                except OSError:
                    pass
            wait_until("unreadiness", lambda: ask(server, "/readyz") == (503, "not ready\n"))
            assert ask(server, "/healthz")[0] == 200
            (data / "filler").unlink()
            wait_until("readiness", lambda: ask(server, "/readyz")[0] == 200)
    finally:
        subprocess.run(["umount", data], check=True)


def test_a_steward_that_is_stopped_is_not_ready_and_counted(machine, server, tmp_path):
    script = "import signal\nprint('begun', flush=True)\nsignal.pause()\n"
    (tmp_path / "train.py").write_text(script)
    words = ("submit", "train.py", "--name", "waits", "--source-dir", tmp_path, "--hosts", "2")
    submit = machine.sm(*words, environment=server.env())
    assert submit.wait(GUARD_SECONDS) == 0, submit.text

    def is_begun():
        told = machine.sm("logs", "waits", environment=server.env())
        return told.wait(GUARD_SECONDS) == 0 and told.out.count(b"begun") == 2

    wait_until("two programs", is_begun)
    assert ask(server, "/readyz") == (200, "ready\n")
    file = server.data / "machine/jobs/waits/algo-2/steward.pid"
    steward = int(file.read_text().split()[0])
    os.kill(steward, signal.SIGSTOP)
    try:
        silent = (503, "1 of 2 stewards does not respond\n")
        wait_until("its silence", lambda: ask(server, "/readyz") == silent)
        assert ask(server, "/healthz")[0] == 200
    finally:
        os.kill(steward, signal.SIGCONT)
    wait_until("its answer", lambda: ask(server, "/readyz") == (200, "ready\n"))
    stop = machine.sm("stop", "waits", "--wait", environment=server.env())
    assert stop.wait(GUARD_SECONDS) == 0, stop.text
    wait_until("readiness", lambda: ask(server, "/readyz") == (200, "ready\n"))


def test_a_token_that_others_can_read_or_guess_is_refused(tmp_path):
    token = tmp_path / "token"
    config = tmp_path / "muster.json"
    config.write_text('{"metrics_token_file": "%s"}' % token)
    for text, mode, says in (
        (TOKEN, 0o644, str(token)),
        ("short", 0o600, "at least 16 characters"),
        (None, 0, str(token)),
    ):
        token.unlink(missing_ok=True)
        if text:
            token.touch(mode)
            token.write_text(text)
        words = [SM, "server", "--config", config, "--check"]
        checked = subprocess.run(words, capture_output=True, text=True, check=False)
        assert checked.returncode in (2, 3) and says in checked.stderr, checked
