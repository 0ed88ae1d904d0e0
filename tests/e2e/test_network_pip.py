"""Where a job's packages come from: a mirror that the site names for pip, a proxy."""

import os
import re
import subprocess

import pytest

from fit import GUARD_SECONDS
from lab import SM, VENV
from oci_image import layer, programs, write_layout
from outside import NAME, OUTSIDE, make_index
from sm_server import SmServer
from test_server_jobs import BUCKET, Job

IMPORT = """
import far_away
print("far_away says", far_away.WORD, flush=True)
"""
SECRET = "s3cret-of-the-mirror"
CONF = f"""[global]
index-url = http://reader:{SECRET}@{NAME}/simple
trusted-host = {NAME}
retries = 0
disable-pip-version-check = true
"""

# Takes whole URLs and CONNECT; every name is this machine's, port 80.
PROXY = """
import http.server, select, socket, sys, urllib.parse
class Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.log_message()
        url = urllib.parse.urlsplit(self.path)
        with socket.create_connection(("127.0.0.1", 80), 10) as peer:
            peer.sendall(f"GET {url.path} HTTP/1.0\\r\\nHost: {url.netloc}\\r\\n\\r\\n".encode())
            while piece := peer.recv(65536):
                self.wfile.write(piece)
    def do_CONNECT(self):
        with socket.create_connection(("127.0.0.1", 80), 10) as peer:
            self.send_response(200)
            self.end_headers()
            while True:
                for ready in select.select([peer, self.connection], [], [])[0]:
                    piece = ready.recv(65536)
                    if not piece:
                        return
                    (peer if ready is self.connection else self.connection).sendall(piece)
    def log_message(self, *words):
        print("asked", self.command, self.path, flush=True)
server = http.server.ThreadingHTTPServer(("", 3128), Proxy)
print("ready", flush=True)
server.serve_forever()
"""
BY_PROXY = """
import os, urllib.request
import far_away
print("far_away says", far_away.WORD, flush=True)
print("index.html:", urllib.request.urlopen("http://NAME/index.html").read().decode(), flush=True)
import http.client
tunnel = http.client.HTTPConnection("192.0.2.1", 3128, timeout=20)
tunnel.set_tunnel("secure.nowhere.example", 443)
tunnel.request("GET", "/index.html")
print("tunnel:", tunnel.getresponse().read().decode(), flush=True)
""".replace("NAME", NAME)

SHOW = b"""#!/bin/sh
echo "conf $PIP_CONFIG_FILE"
while read -r line; do echo "has $line"; done <"$PIP_CONFIG_FILE"
(echo x >"$PIP_CONFIG_FILE") 2>/dev/null || echo "nobody writes it"
"""


def conf_in(folder, mode: int = 0o600, text: str = CONF):
    path = folder / "mirror.conf"
    path.write_text(text)
    path.chmod(mode)
    return path


def command_lines() -> bytes:
    lines = b""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                lines += file.read()
        except OSError:
            pass
    return lines


def end_of(process) -> str:
    assert process.wait(GUARD_SECONDS) == 0, process.text
    return process.text


@pytest.mark.deep
def test_pip_reads_what_the_caller_names(outside, at):
    """By flag, or as the caller's own pip: by PIP_CONFIG_FILE. The file's login shows nowhere."""
    make_index(outside.site)
    (at.source / "requirements.txt").write_text("far-away\n")
    conf = conf_in(at.folder)
    text = end_of(at.fit(IMPORT, "--pip-conf", conf, "--verbose", "--keep", "--name", "flag",
                         hosts=2))  # fmt: skip
    assert text.count("far_away says hello") == 2 and SECRET not in text
    job = at.state / "jobs/flag"
    shown = [path for path in job.rglob("*") if path.is_file() and path.stat().st_size < 1 << 20
             and SECRET.encode() in path.read_bytes()]  # fmt: skip
    assert all(path.name == "pip.conf" and path.stat().st_mode & 0o77 == 0 for path in shown), shown
    words = ("fit", "script.py", "--source-dir", at.source, "--python", VENV / "bin/python",
             "--output", at.folder / "second")  # fmt: skip
    again = at.sm(*words, environment={"PIP_CONFIG_FILE": str(conf)})
    assert "far_away says hello" in end_of(again)
    refused = at.fit(IMPORT, "--pip-conf", at.folder / "none", output=at.folder / "third")
    assert refused.wait(GUARD_SECONDS) == 2
    assert "--pip-conf: " in refused.text and "No such file" in refused.text
    nothing = at.sm(*words[:-1], at.folder / "fourth", environment={"PIP_CONFIG_FILE": "/dev/null"})
    assert nothing.wait(GUARD_SECONDS) == 1, "as for pip, that is no configuration"


def test_an_image_has_it_too_with_any_user_and_network(at):
    shell = {**programs("/bin/sh"), "etc/passwd": b"root:x:0:0::/root:/bin/sh\n"}
    for user in ("", "1000:1000"):
        folder = at.folder / f"image{user[:4]}"
        members = [layer(shell), layer({"bin/train": SHOW})]
        write_layout(folder, members, process={"Env": ["PATH=/bin"], "User": user})
        brought = at.sm("image", "import", f"oci:{folder}:v1", "--name", f"team/box{user[:4]}:v1")
        end_of(brought)
        text = end_of(at.sm("fit", "--image", f"team/box{user[:4]}:v1", "--pip-conf",
                            conf_in(at.folder), "--network", "none",
                            "--output", at.folder / f"output{user[:4]}"))  # fmt: skip
        assert "conf /run/muster/pip.conf" in text
        assert f"has index-url = http://reader:{SECRET}@" in text, "its own program may print it"
        assert "nobody writes it" in text


def test_jobs_of_a_server_install_from_its_mirror(outside, folder):
    make_index(outside.site)
    jobs = {"python": str(VENV / "bin" / "python"), "pip_conf": str(conf_in(folder))}
    with SmServer(folder, jobs=jobs, within=outside.inside) as server:
        with outside.inside.visited():
            server.client("s3").create_bucket(Bucket=BUCKET)
            server.client("s3").put_object(Bucket=BUCKET, Key="train/a.txt", Body=b"a")
            job = Job(server, IMPORT, files={"requirements.txt": "far-away\n"})
            told = job.at_end()
            assert told["TrainingJobStatus"] == "Completed", told.get("FailureReason")
            text = job.text()
        assert "far_away says hello" in text
        assert SECRET not in text + str(told) and SECRET.encode() not in command_lines()
        server.stop()
        assert SECRET not in server.output
    outside.wait_for_nothing_left()


def test_a_file_that_others_can_change_is_refused(tmp_path):
    for mode, code in ((0o644, 0), (0o664, 2), (0o646, 2)):
        config = tmp_path / "server.json"
        config.write_text('{"jobs": {"pip_conf": "%s"}}' % conf_in(tmp_path, mode))
        words = [SM, "server", "--data", tmp_path / "data", "--config", config, "--check"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == code, done.stderr
        refused = re.search(r"jobs.pip_conf: .*: other users can change it", done.stderr)
        assert bool(refused) == (code == 2), done.stderr


def test_pip_and_scripts_go_by_a_proxy(outside, at):
    """The index's name is known to the proxy alone; what no_proxy names is asked directly."""
    make_index(outside.site)
    proxy = outside.outside.serve(PROXY)
    (at.source / "requirements.txt").write_text("far-away\n")
    where = f"http://{OUTSIDE}:3128"
    variables = {"http_proxy": where, "https_proxy": where, "no_proxy": NAME, "PIP_RETRIES": "0",
                 "PIP_INDEX_URL": "http://index.nowhere.example/simple",
                 "PIP_TRUSTED_HOST": "index.nowhere.example"}  # fmt: skip
    words = [word for key, value in variables.items() for word in ("--env", f"{key}={value}")]
    text = end_of(at.fit(BY_PROXY, *words))
    assert "far_away says hello" in text
    assert "index.html: the outside" in text and "tunnel: the outside" in text
    assert "asked GET http://index.nowhere.example/simple/far-away/" in proxy.text
    assert "asked CONNECT secure.nowhere.example:443" in proxy.text
    assert f"http://{NAME}/index.html" not in proxy.text
