"""Attacks by a user of the server: one access key with a crowd of connections, viewers or calls.
The users of other keys must not notice it."""

import contextlib
import resource
import socket

import pytest

from raw_http import ANSWER_SECONDS, Keys, Request, Scope, head_of, signed
from sm_server import SmServer
from test_attacks_network import OPEN_FILES, Crowd, host_of, new_key, works
from test_attacks_page import SECONDS, Page, Streams
from test_server_jobs import BUCKET

ALL = OPEN_FILES // 4  # Connections of the server.
OF_KEY = ALL // 4  # Connections of a key; streams of events of all keys.


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    limits = (OPEN_FILES, OPEN_FILES)
    with SmServer(tmp_path_factory.mktemp("server"), open_files=limits) as server:
        server.client("s3").create_bucket(Bucket=BUCKET)
        yield server
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def status_of(connection: socket.socket) -> int:
    """The status of the response that starts to arrive; 0: the connection was closed."""
    connection.settimeout(ANSWER_SECONDS)
    with contextlib.suppress(ConnectionError):
        return int((connection.recv(12, socket.MSG_WAITALL).split() or [b"", b"0"])[1])
    return 0


def test_one_keys_downloads_keep_no_other_key_out(server):
    """Busy connections of a key are never closed for others, so each key has a part of them."""
    server.client("s3").put_object(Bucket=BUCKET, Key="large", Body=b"x" * (32 << 20))
    request = Request("GET", f"/{BUCKET}/large")
    opening = head_of(signed(request, new_key(server), Scope("s3"), host_of(server),
                             "UNSIGNED-PAYLOAD"))  # fmt: skip
    with Crowd(server.port, opening) as crowd:
        # One after the other: of many strangers at once, the oldest are closed for the newest.
        statuses = [status_of(crowd.grow(1).sockets[-1]) for _ in range(ALL + 50)]
        assert statuses == [200] * OF_KEY + [503] * (ALL + 50 - OF_KEY)
        works(server, "while they are there")


def visit(page: Page, key: Keys) -> str:
    answer = page.call("login", {"id": key.identity, "secret": key.secret})
    assert answer.status == 200, answer.text
    return answer.getheader("Set-Cookie").split(";")[0]


def test_one_keys_viewers_keep_no_other_keys_out(server):
    page = Page(server)
    other = visit(page, new_key(server))
    many = Keys(*page.keys)
    with Streams(page) as streams:
        visits = [visit(page, many) for _ in range(9)]
        opened = [streams.open(cookie) for cookie in visits for _ in range(12)]
        assert opened.count(200) >= OF_KEY - 4 and opened.count(503) >= 40, opened
        assert streams.open(other) == 200
        assert page.call("counts", cookie=other).status == 200
        assert page.call("ListTrainingJobs", cookie=other).status == 200
