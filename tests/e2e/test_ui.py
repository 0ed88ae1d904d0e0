"""`sm ui` on a desktop: it opens the browser, and no argument or other user reveals the link."""

import os
import sys

import pytest
from lab import SM
from sm_server import SmServer
from terminal import on_terminal

NOBODY = 65534
# A stand-in for xdg-open: it records its arguments, and sends a request like a browser.
OPENER = """#!{python}
import http.client, json, os, sys, urllib.parse
with open({told!r}, "w") as told:
    json.dump({{"argv": sys.argv[1:], "env": sorted(os.environ)}}, told)
led = open({led!r}, "w")
"a".encode("idna"), "a".encode("iso-8859-1")  # Another user may be unable to load codecs.
if {uid}: os.setuid({uid})
where = urllib.parse.urlsplit(sys.argv[1])
connection = http.client.HTTPConnection(where.netloc)
connection.request("GET", where.path, headers={headers!r})
answer = connection.getresponse()
print(answer.status, answer.getheader("Location"), file=led, flush=True)
sys.exit(0 if answer.status == 307 else 7)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("ui")) as one:
        yield one


@pytest.fixture
def desktop(server, tmp_path):
    def shown(*words: str, headers: dict | None = None, uid: int = 0, **env: str):
        for name in ("told", "led"):
            (tmp_path / name).touch()
        program = tmp_path / "xdg-open"
        program.write_text(OPENER.format(
            python=sys.executable, told=str(tmp_path / "told"), led=str(tmp_path / "led"),
            headers=headers or {}, uid=uid))  # fmt: skip
        program.chmod(0o755)
        env = {**server.env(), "DISPLAY": ":7", "PATH": f"{tmp_path}:{os.environ['PATH']}", **env}
        return on_terminal([SM, "ui", *words], env=env)

    shown.told = lambda: (tmp_path / "told").read_text()
    shown.led = lambda: (tmp_path / "led").read_text().split()
    return shown


def link_in(text: str) -> str:
    (link,) = (line.strip() for line in text.split("\n") if "#enter=" in line)
    return link


def test_the_browser_is_led_to_the_link_which_stands_in_no_argument(desktop):
    shown = desktop(headers={"Sec-Fetch-Site": "none"})
    assert shown.code == 0 and "Your browser has opened it." in shown.text, shown.text
    assert desktop.led() == ["307", link_in(shown.text)]
    assert "enter" not in desktop.told() and "http://127.0.0.1:" in desktop.told()
    assert "AWS_" not in desktop.told()


@pytest.mark.parametrize("headers", [{"Sec-Fetch-Site": "cross-site"}, {"Host": "rebound.example"}])
def test_a_page_of_others_is_led_nowhere(desktop, headers):
    shown = desktop(headers=headers)
    assert shown.code == 0 and "exit code 7: open the link yourself" in shown.text, shown.text
    assert desktop.led() == ["403", "None"]
    assert link_in(shown.text)


@pytest.mark.skipif(os.geteuid() != 0, reason="asks as another user")
def test_another_users_process_is_led_nowhere(desktop):
    shown = desktop(uid=NOBODY)
    assert "open the link yourself" in shown.text, shown.text
    assert desktop.led() == ["403", "None"]


@pytest.mark.parametrize(
    "words, env", [(["--no-browser"], {}), (["--url"], {}), ([], {"DISPLAY": ""})]
)
def test_no_browser_is_opened_where_none_is_or_none_is_wanted(desktop, words, env):
    shown = desktop(*words, **env)
    assert shown.code == 0 and link_in(shown.text)
    assert desktop.led() == []
