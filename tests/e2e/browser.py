"""A headless Chromium under test, by WebDriver over HTTP (https://www.w3.org/TR/webdriver2).

    with Browser() as browser:
        browser.open(url)
        browser.wait("document.querySelector('h1')?.textContent === 'Jobs'")
        browser.run("return document.title"), browser.click("button.main"), browser.keys("abc")
"""

import base64
import json
import pathlib
import re
import select
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

START_SECONDS = 60
GUARD_SECONDS = 30
LOOK_SECONDS = 0.02
HAS_BROWSER = bool(shutil.which("chromium") and shutil.which("chromedriver"))
WHY_NOT = "chromium and chromium-driver are not installed (requirements/packages.txt, [browser])"


class Browser:
    def __init__(self, width: int = 1280, height: int = 860, dark: bool = False,
                 rules: str = "", tls: bool = True):  # fmt: skip
        """`rules`: Chromium's --host-resolver-rules; `tls`: certificates have to hold."""
        self.size = width, height
        self.dark = dark
        self.rules = rules
        self.tls = tls

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="muster-browser-")
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            bufsize=0,  # Nothing may wait behind select().
            env={"PATH": "/usr/bin:/bin", "HOME": self.folder.name},
        )  # fmt: skip
        try:
            self.base = f"http://127.0.0.1:{self._port()}"
            self.session = self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if hasattr(self, "session"):
            self._ask("DELETE", "")
        self.driver.kill()
        self.driver.wait()
        self.driver.stdout.close()
        self.folder.cleanup()

    def _port(self) -> int:
        said, deadline = "", time.monotonic() + START_SECONDS
        while not (found := re.search(r"started successfully on port (\d+)", said)):
            left = deadline - time.monotonic()
            assert left > 0 and select.select([self.driver.stdout], [], [], left)[0], said
            line = self.driver.stdout.readline().decode()
            assert line, said
            said += line
        return int(found[1])

    def _begin(self) -> str:
        arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            f"--window-size={self.size[0]},{self.size[1]}", "--hide-scrollbars=false",
            f"--user-data-dir={self.folder.name}/profile", "--disable-background-networking",
            f"--blink-settings=preferredColorScheme={0 if self.dark else 1}",
        ]  # fmt: skip
        if self.rules:
            arguments.append(f"--host-resolver-rules={self.rules}")
        wanted = {"browserName": "chrome", "acceptInsecureCerts": not self.tls,
                  "goog:chromeOptions": {"args": arguments},
                  "goog:loggingPrefs": {"browser": "ALL"}}  # fmt: skip
        self.session = ""
        return self._ask("POST", "", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def _ask(self, method: str, path: str, body: dict | None = None):
        url = f"{self.base}/session" + (f"/{self.session}{path}" if self.session else "")
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(url, data, {"Content-Type": "application/json"},
                                         method=method)  # fmt: skip
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise RuntimeError(f"{path}: {value['error']}: {value['message']}") from None

    def open(self, url: str) -> None:
        self._ask("POST", "/url", {"url": url})

    def url(self) -> str:
        return self._ask("GET", "/url")

    def back(self) -> None:
        self._ask("POST", "/back")

    def forward(self) -> None:
        self._ask("POST", "/forward")

    def reload(self) -> None:
        self._ask("POST", "/refresh")

    def run(self, script: str, *arguments):
        """The script's value; a promise is waited for."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait(self, condition: str, seconds: float = GUARD_SECONDS):
        """The value of the JavaScript expression, once it is true. An element that is not there
        yet, so that the expression throws, is waited for too."""
        deadline = time.monotonic() + seconds
        script = (f"try {{ return ({condition}) }} catch (error) "
                  "{ if (!(error instanceof TypeError)) throw error }")  # fmt: skip
        while not (value := self.run(script)):
            if time.monotonic() > deadline:
                raise AssertionError(f"{condition}: not so; the console says: {self.complaints()}; "
                                     f"the page says: {self.text()[:2000]}")  # fmt: skip
            select.select([], [], [], LOOK_SECONDS)
        return value

    def wait_text(self, text: str, seconds: float = GUARD_SECONDS) -> None:
        self.wait(f"document.body.innerText.includes({json.dumps(text)})", seconds)

    def text(self) -> str:
        return self.run("return document.body ? document.body.innerText : ''")

    def click(self, selector: str) -> None:
        (element,) = self._ask("POST", "/element", {"using": "css selector",
                                                    "value": selector}).values()  # fmt: skip
        self._ask("POST", f"/element/{element}/click")

    def click_text(self, text: str, selector: str = "button, a") -> None:
        """The one element of the selector that says exactly this."""
        script = """const all = [...document.querySelectorAll(arguments[0])];
            const fits = all.filter((each) => each.innerText.trim() === arguments[1]);
            if (fits.length !== 1) throw new Error(`${fits.length} say so`);
            fits[0].click();"""
        self.run(script, selector, text)

    def keys(self, text: str) -> None:
        """To what has the focus; special keys as WebDriver's keyboard actions have them."""
        actions = [{"type": kind, "value": c} for c in text for kind in ("keyDown", "keyUp")]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def chord(self, *keys: str) -> None:
        """All of them held down, one after the other, then let go."""
        actions = [{"type": "keyDown", "value": key} for key in keys]
        actions += [{"type": "keyUp", "value": key} for key in reversed(keys)]
        self._ask("POST", "/actions", {"actions": [{"type": "key", "id": "k", "actions": actions}]})

    def type(self, selector: str, text: str) -> None:
        script = "const e = document.querySelector(arguments[0]); e.focus(); e.select?.()"
        self.run(script, selector)
        self.keys(text)

    def resize(self, width: int, height: int) -> None:
        self._ask("POST", "/window/rect", {"width": width, "height": height})

    def narrow(self, width: int, height: int) -> None:
        """As a phone shows it: no window is narrower than 500."""
        given = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._ask("POST", "/goog/cdp/execute", {"cmd": "Emulation.setDeviceMetricsOverride",
                                                "params": given})  # fmt: skip

    def picture(self, path: pathlib.Path) -> None:
        path.write_bytes(base64.b64decode(self._ask("GET", "/screenshot")))

    def cookies(self) -> list[dict]:
        return self._ask("GET", "/cookie")

    def complaints(self) -> list[str]:
        """What the browser's console said since the last call: errors and refused loads."""
        entries = self._ask("POST", "/se/log", {"type": "browser"})
        return [e["message"] for e in entries if e["level"] in ("SEVERE", "WARNING")]
