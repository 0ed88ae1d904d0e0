"""Bad requests over real HTTP: each gets AWS's error code, and the server continues to work."""

import dataclasses
import re
import select
import socket
import time

import bad_api
import bad_http
import bad_s3
import bad_signatures
import model_limits
import pytest
from raw_http import Answer, Keys, closed_within, head_of, read_answer, send, signed
from sm_server import SmServer

ROUNDS = 4
GROWTH_KIB = 4 << 10
IDLE_KIB = 40 << 10  # What a server may take that does nothing.
HEAD_SECONDS = 20.0  # http::Server::Options::head_max


class Bench:
    """A server with what the rows need, and who sends them."""

    def __init__(self, server: SmServer):
        self.server = server
        self.port = server.port
        self.host = f"127.0.0.1:{server.port}"
        own = server.keys
        self.keys = Keys(own["AWS_ACCESS_KEY_ID"], own["AWS_SECRET_ACCESS_KEY"])
        s3 = server.client("s3")
        s3.create_bucket(Bucket=bad_s3.BUCKET)
        s3.put_object(Bucket=bad_s3.BUCKET, Key="there", Body=b"body")
        place = {"Bucket": bad_s3.BUCKET, "Key": "k"}
        self.upload = s3.create_multipart_upload(**place)["UploadId"]
        for number in (1, 2):
            s3.upload_part(**place, UploadId=self.upload, PartNumber=number, Body=b"part")

    def api(self, row: bad_api.Bad) -> Answer:
        return send(self.port, signed(row.request, self.keys, row.service, self.host))

    def signature(self, row: bad_signatures.BadSignature) -> Answer:
        return send(self.port, row.make(self.keys, self.host))

    def s3(self, row: bad_s3.BadS3) -> Answer:
        query = [(name, value.replace(bad_s3.UPLOAD, self.upload)) for name, value in
                 row.request.query]  # fmt: skip
        request = dataclasses.replace(row.request, query=query)
        return send(self.port, signed(request, self.keys, "s3", self.host, row.payload))

    def chunks(self, body: bytes) -> list[Answer]:
        """The framing's faults, read by the API and by S3."""
        coding = {"Transfer-Encoding": "chunked"}
        listing = bad_signatures.listing()
        listing.headers.update(coding)
        put = bad_s3.put(**{"x_amz_decoded_content_length": "5"}, body=b"")
        put.headers.update(coding)
        payload = bad_s3.TRAILED
        heads = [head_of(signed(listing, self.keys, "sagemaker", self.host)),
                 head_of(signed(put, self.keys, "s3", self.host, payload))]  # fmt: skip
        return [send(self.port, head + body, end=True) for head in heads]


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    with SmServer(tmp_path_factory.mktemp("server")) as server:
        yield Bench(server)


def differences(rows, ask) -> list[str]:
    """What came otherwise, row by row."""
    found = []
    for row in rows:
        try:
            answer = ask(row)
        except OSError as error:
            found.append(f"{row.name}: {error!r}")
            continue
        if (answer.status, answer.code) != (row.status, row.code):
            found.append(f"{row.name}: want {row.status} {row.code}, got {answer.status} "
                         f"{answer.code}: {answer.text[:200]}")  # fmt: skip
        elif getattr(row, "says", "") not in answer.text:
            found.append(f"{row.name}: want {row.says!r} in {answer.text[:300]}")
    return found


def test_bad_input_of_an_api_gets_its_code(bench):
    found = differences(bad_api.rows(), bench.api)
    assert found == [], "\n".join(found)


def test_every_limit_of_the_models_holds(bench):
    found = differences(model_limits.rows(), bench.api)
    assert found == [], "\n".join(found)


def test_bad_signatures_get_their_code(bench):
    found = differences(bad_signatures.rows(), bench.signature)
    assert found == [], "\n".join(found)


def test_bad_requests_to_s3_get_their_code(bench):
    found = differences(bad_s3.rows(), bench.s3)
    assert found == [], "\n".join(found)


def test_data_other_than_http_is_refused_and_the_connection_ends(bench):
    found = []
    for name, raw, status in bad_http.ROWS:
        with socket.create_connection(("127.0.0.1", bench.port), timeout=10) as connection:
            try:
                connection.sendall(raw)
                answer = read_answer(connection, "GET")
                ended = closed_within(connection, 10)
            except OSError as error:
                found.append(f"{name}: {error!r}")
                continue
        if answer.status != status or not ended:
            found.append(f"{name}: want {status} and the end, got {answer.status}, ended: {ended}")
    for name, body in bad_http.CHUNKS:
        for answer, want in zip(bench.chunks(body), ("SerializationException", "IncompleteBody"),
                                strict=True):  # fmt: skip
            if (answer.status, answer.code) != (400, want):
                found.append(f"chunks: {name}: want {want}, got {answer.status} {answer.code}: "
                             f"{answer.text[:200]}")  # fmt: skip
    assert found == [], "\n".join(found)


def test_a_length_that_lies_is_found_out(bench):
    listing = signed(bad_signatures.listing(), bench.keys, "sagemaker", bench.host)
    listing.headers["Content-Length"] = "100"
    cut = send(bench.port, listing, end=True)
    assert (cut.status, cut.code) == (400, "SerializationException"), cut.text
    put = signed(bad_s3.put("half"), bench.keys, "s3", bench.host)
    put.headers["Content-Length"] = "100"
    cut = send(bench.port, put, end=True)
    assert (cut.status, cut.code) == (400, "IncompleteBody"), cut.text
    # What comes behind a body that is longer than it says is another request: none, here.
    short = signed(bad_signatures.listing(), bench.keys, "sagemaker", bench.host)
    short.headers["Content-Length"] = "2"
    with socket.create_connection(("127.0.0.1", bench.port), timeout=10) as connection:
        connection.sendall(head_of(short) + b"{}smuggled nonsense\r\n\r\n")
        came = b""
        while piece := connection.recv(65536):
            came += piece
        assert re.findall(rb"HTTP/1.1 (\d+)", came) == [b"200", b"400"], came


def test_a_body_without_end_is_cut_off(bench):
    """Chunk after chunk: the answer comes though the body does not end, and so does the end."""
    listing = bad_signatures.listing()
    listing.headers["Transfer-Encoding"] = "chunked"
    piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with socket.create_connection(("127.0.0.1", bench.port), timeout=10) as connection:
        connection.sendall(head_of(signed(listing, bench.keys, "sagemaker", bench.host)))
        sent = 0
        while sent < 64 << 20 and not select.select([connection], [], [], 0)[0]:
            connection.sendall(piece)
            sent += len(piece)
        answer = read_answer(connection, "POST")
        assert (answer.status, answer.code) == (413, "RequestEntityTooLargeException")
        assert sent < 32 << 20
    # The server does not read a body of a terabyte, either.
    put = bad_s3.put("tera", body=b"", Content_Length=str(1 << 40))
    with socket.create_connection(("127.0.0.1", bench.port), timeout=10) as connection:
        connection.sendall(head_of(signed(put, bench.keys, "s3", bench.host)))
        connection.shutdown(socket.SHUT_WR)
        assert read_answer(connection, "PUT").status in (400, 507)


@pytest.mark.deep
def test_a_head_that_trickles_is_cut_off(bench):
    """A byte at a time, for as long as the server takes it; others are served meanwhile."""
    begun = time.monotonic()
    with socket.create_connection(("127.0.0.1", bench.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX: ")
        while not select.select([connection], [], [], 0.25)[0]:
            assert time.monotonic() - begun < 2 * HEAD_SECONDS, "it was never cut off"
            connection.sendall(b"y")
        assert closed_within(connection, 5)
    assert time.monotonic() - begun > HEAD_SECONDS / 2, "slow, but not that slow"
    assert bench.server.client("sts").get_caller_identity()["Account"]


def all_rows(bench):
    differences(bad_api.rows(), bench.api)
    differences(bad_signatures.rows(), bench.signature)
    differences(bad_s3.rows(), bench.s3)
    for _, raw, _ in bad_http.ROWS:
        try:
            send(bench.port, raw)
        except OSError:
            pass
    for _, body in bad_http.CHUNKS:
        bench.chunks(body)


def test_after_all_of_them_the_server_is_the_same_and_no_larger(bench):
    """Each thread has its memory, and a connection's thread is whose turn it is: the first rounds
    bring the largest row to each of them."""
    process = bench.server.process
    sizes = []
    for _ in range(ROUNDS):
        all_rows(bench)
        sizes.append(bench.server.resident_kib())
    print("VmRSS by round, KiB:", sizes)
    assert process.poll() is None and bench.server.process is process
    assert sizes[-1] - sizes[0] < GROWTH_KIB and sizes[-1] < IDLE_KIB, sizes
    s3 = bench.server.client("s3")
    s3.put_object(Bucket=bad_s3.BUCKET, Key="fine", Body=b"fine")
    assert s3.get_object(Bucket=bad_s3.BUCKET, Key="fine")["Body"].read() == b"fine"
    listed = bench.server.client("sagemaker").list_training_jobs()["TrainingJobSummaries"]
    assert listed == []  # None of the bad ones has become a job.
    assert {each["Key"] for each in s3.list_objects_v2(Bucket=bad_s3.BUCKET)["Contents"]} == {
        "there", "fine"
    }  # fmt: skip


def test_the_table_is_as_large_as_it_should_be():
    assert len(bad_api.rows()) + len(bad_signatures.rows()) + len(bad_s3.rows()) >= 500
