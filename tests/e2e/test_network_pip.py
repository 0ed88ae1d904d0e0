"""Where a job's packages come from: a proxy between it and the outside."""

from fit import GUARD_SECONDS
from outside import NAME, OUTSIDE, make_index

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


def end_of(process) -> str:
    assert process.wait(GUARD_SECONDS) == 0, process.text
    return process.text


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
