"""A server whose web page a test looks at."""

import http.client
import json
import sqlite3
import subprocess

from browser import Browser
from lab import SM
from sm_server import SmServer

SECONDS = 120


def page_server(folder, jobs: dict | None = None, **options) -> SmServer:
    """A server for a browser. Its jobs change nothing in the machine's network: Chromium gives up
    what it is loading when an interface comes or goes (ERR_NETWORK_CHANGED)."""
    return SmServer(folder, jobs={"network": "none", **(jobs or {})}, **options)


def page_call(
    connection: http.client.HTTPConnection, name: str, given: dict, cookie: str = ""
) -> tuple[dict, str]:
    """What the page answers, and the cookie that it sets. Closes the connection."""
    headers = {"Sec-Fetch-Site": "same-origin", "Cookie": cookie}
    connection.request("POST", f"/ui/call/{name}", json.dumps(given).encode(), headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status == 200, text
    return json.loads(text or b"{}"), (answer.getheader("Set-Cookie") or "").split(";")[0]


class Served:
    """A server with its page, and who uses it: by `sm` in `folder`, and by a browser."""

    def __init__(self, server, folder):
        self.server = server
        self.folder = folder

    def sm(self, *args: str, code: int | None = 0) -> str:
        done = subprocess.run([SM, *args], env=self.server.env(), capture_output=True, text=True,
                              timeout=SECONDS, cwd=self.folder)  # fmt: skip
        assert code is None or done.returncode == code, done
        return done.stdout

    def sm_key(self, *args: str) -> str:
        return self.sm("key", *args, "--data", str(self.server.data))

    def put(self, job: str, name: str, rows) -> None:
        """Stores seconds of a metric, as if a job had reported them for weeks."""
        with sqlite3.connect(self.server.data / "muster.db", timeout=SECONDS) as store:
            (number,) = store.execute("SELECT number FROM jobs WHERE name = ?", (job,)).fetchone()
            store.executemany(
                "INSERT INTO metrics (job, name, second, sum, least, most, count) "
                "VALUES (?, ?, ?, ?, ?, ?, 1)",
                ((number, name, second, *[value] * 3) for second, value in rows))  # fmt: skip
            store.execute(
                "INSERT INTO metric_minutes SELECT job, name, second / 60 * 60, sum(sum), "
                "min(least), max(most), sum(count) FROM metrics WHERE job = ? AND name = ? "
                "GROUP BY second / 60", (number, name))  # fmt: skip
            store.execute("INSERT INTO final_metrics VALUES (?, ?, ?, ?)", (number, name, 0, 0.0))
        store.close()

    def put_steps(self, job: str, name: str, rows) -> None:
        """Stores steps of a metric that put() has stored by time."""
        with sqlite3.connect(self.server.data / "muster.db", timeout=SECONDS) as store:
            (number,) = store.execute("SELECT number FROM jobs WHERE name = ?", (job,)).fetchone()
            store.executemany(
                "INSERT INTO metric_steps VALUES (?, ?, 1, ?, 1, ?, ?, ?, 1)",
                ((number, name, step, *[value] * 3) for step, value in rows))  # fmt: skip
            for width in (64, 64**2, 64**3):
                store.execute(
                    "INSERT INTO metric_steps SELECT job, name, ?3, step / ?3 * ?3, 0, sum(sum), "
                    "min(least), max(most), sum(count) FROM metric_steps WHERE job = ?1 "
                    "AND name = ?2 AND width = ?3 / 64 GROUP BY step / ?3",
                    (number, name, width))  # fmt: skip
        store.close()

    def enter(self, browser: Browser) -> None:
        browser.open(self.sm("ui", "--url").strip())
        browser.wait("location.pathname === '/ui/jobs'")

    def show_metrics(self, browser: Browser, job: str, query: str = "") -> None:
        browser.open(f"{self.server.url}/ui/jobs/{job}/metrics{query}")
