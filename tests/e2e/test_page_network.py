"""The web page over a network: secrets pass by TLS or stay on the machine; cookies over TLS."""

import gzip
import http.client
import json
import re
import socket
import ssl

import pytest
from lab import SM
from sm_server import SmServer
from test_server_tls import certificates, config  # noqa: F401

SECONDS = 30
OWN = {"Sec-Fetch-Site": "same-origin"}


def address_of_machine() -> str:
    """One of this machine's that is not loopback; empty: it has none. Sends nothing."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return ""
        return probe.getsockname()[0]


ADDRESS = address_of_machine()
needs_address = pytest.mark.skipif(not ADDRESS or ADDRESS.startswith("127."),
                                   reason="this machine has no address but loopback")  # fmt: skip


# A debug build maps more of itself and of libraries than a release.
RESIDENT_MAX = 20_000_000
ANONYMOUS_KIB_MAX = 8 << 10


def test_an_idle_server_is_small_with_the_page_in_it(tmp_path):
    with SmServer(tmp_path) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)

        def get(path: str) -> bytes:
            connection.request("GET", path)
            answer = connection.getresponse()
            assert answer.status == 200, path
            return gzip.decompress(answer.read())

        index = get("/ui/").decode()
        files = re.findall(r'(?:href|src)="(/ui/[^"]+)"', index)
        assert len(files) > 15
        for path in files:
            get(path)
        assert call(connection, "visit").json["login"] is True
        with open(f"/proc/{server.process.pid}/status") as status:
            anonymous = int(re.search(r"RssAnon:\s+(\d+)", status.read())[1])
        assert anonymous < ANONYMOUS_KIB_MAX
        if b"/lib64/ld-linux" not in SM.read_bytes()[:4096]:
            assert server.resident_kib() * 1024 < RESIDENT_MAX


def call(connection, name: str, input: dict | None = None, cookie: str = ""):
    headers = {**OWN, "Cookie": cookie} if cookie else OWN
    connection.request("POST", f"/ui/call/{name}", json.dumps(input or {}), headers)
    answer = connection.getresponse()
    answer.json = json.loads(answer.read())
    return answer


def pair_of(server: SmServer) -> dict:
    return {"id": server.keys["AWS_ACCESS_KEY_ID"],
            "secret": server.keys["AWS_SECRET_ACCESS_KEY"]}  # fmt: skip


def over_tls(host: str, port: int, certificates):  # noqa: F811
    context = ssl.create_default_context(cafile=certificates / "ca.pem")
    context.check_hostname = False  # The certificate is for loopback's names.
    return http.client.HTTPSConnection(host, port, timeout=SECONDS, context=context)


@needs_address
def test_no_secret_passes_over_a_network_in_the_clear(tmp_path):
    server = SmServer(tmp_path, "--insecure-http")
    server.listen = "0.0.0.0:0"
    with server:
        far = http.client.HTTPConnection(ADDRESS, server.port, timeout=SECONDS)
        near = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
        assert call(far, "visit").json["login"] is False
        refused = call(far, "login", pair_of(server))
        assert refused.status == 403 and "without TLS" in refused.json["message"]
        assert refused.getheader("Set-Cookie") is None
        assert call(near, "visit").json["login"] is True
        answer = call(near, "login", pair_of(server))
        assert answer.status == 200
        assert "Secure" not in answer.getheader("Set-Cookie")
        cookie = answer.getheader("Set-Cookie").split(";")[0]
        assert call(near, "keys", cookie=cookie).json["may_make"] is True
        assert call(far, "visit", cookie=cookie).status == 200
        assert call(far, "keys", cookie=cookie).json["may_make"] is False
        made = call(far, "make-key", cookie=cookie)
        assert made.status == 403 and "without TLS" in made.json["message"]
        assert len(call(near, "keys", cookie=cookie).json["keys"]) == 1


@pytest.mark.parametrize(
    "host", ["127.0.0.1", pytest.param(ADDRESS, marks=needs_address, id="network")])  # fmt: skip
def test_a_key_lets_in_over_tls_by_a_cookie_for_tls_alone(tmp_path, certificates,  # noqa: F811
                                                          host):  # fmt: skip
    server = SmServer(tmp_path, config=config(certificates))
    server.listen = "0.0.0.0:0" if host == ADDRESS else "127.0.0.1:0"
    with server:
        connection = over_tls(host, server.port, certificates)
        assert call(connection, "visit").json["login"] is True
        answer = call(connection, "login", pair_of(server))
        assert answer.status == 200
        parts = answer.getheader("Set-Cookie").split("; ")
        assert {"Secure", "HttpOnly", "SameSite=Strict", "Path=/ui/"} <= set(parts)
        assert call(connection, "make-key", cookie=parts[0]).status == 200
        gone = call(connection, "leave", cookie=parts[0])
        assert "Secure" in gone.getheader("Set-Cookie").split("; ")
