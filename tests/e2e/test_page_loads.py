"""The web page when its files fail to load: it reloads, at most three times, and then says so."""

import contextlib
import http.client
import http.server
import re
import threading
from collections import Counter

import pytest
from browser import HAS_BROWSER, WHY_NOT, Browser
from page import SECONDS, page_server
from process import wait_until

pytestmark = [pytest.mark.page, pytest.mark.skipif(not HAS_BROWSER, reason=WHY_NOT)]
FILE = re.compile(r"/ui/[0-9a-f]{16}/(.*)")
SENTENCE = "getComputedStyle(document.getElementById('failed')).visibility === 'visible'"
LOGIN = "It prints a login link that works once"


@contextlib.contextmanager
def spoiled(server, is_aborted):
    """A proxy for `server` that breaks a file's answer off where `is_aborted(file, asked)`; `asked`
    counts its requests. Yields its URL and the requests by path."""
    asked = Counter()

    class Handler(http.server.BaseHTTPRequestHandler):
        def forward(self):
            asked[self.path] += 1
            found = FILE.fullmatch(self.path)
            if found and is_aborted(found[1], asked[self.path]):
                self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                return
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            upstream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
            upstream.request(self.command, self.path, body, dict(self.headers))
            answer = upstream.getresponse()
            data = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("content-length", "transfer-encoding", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            upstream.close()

        do_GET = do_POST = forward

        def log_message(self, *_):
            pass

    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=proxy.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{proxy.server_port}", asked
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


def test_a_page_whose_files_each_fail_once_reloads(tmp_path):
    with page_server(tmp_path) as server, Browser() as browser:
        with spoiled(server, lambda _, asked: asked == 1) as (url, asked):
            browser.open(f"{url}/ui/jobs")
            browser.wait_text(LOGIN, SECONDS)
            assert 1 < asked["/ui/jobs"] <= 4
            assert browser.run("return history.state") is None
            assert not browser.run("return document.getElementById('failed')")


def test_a_page_with_a_missing_module_says_so_and_has_a_link(tmp_path):
    aborts = ["app/text.js"]
    with page_server(tmp_path) as server, Browser() as browser:
        with spoiled(server, lambda file, _: file in aborts) as (url, asked):
            browser.open(f"{url}/ui/jobs")
            # On a slow machine the sentence may appear before each reload, too.
            wait_until("the third reload", lambda: asked["/ui/jobs"] == 4, SECONDS)
            browser.wait(SENTENCE, SECONDS)
            assert "The page failed to load" in browser.text()
            assert asked["/ui/jobs"] == 4
            aborts.clear()
            browser.click_text("Reload")
            browser.wait_text(LOGIN, SECONDS)
