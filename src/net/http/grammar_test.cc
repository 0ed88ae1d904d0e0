#include "net/http/grammar.h"

#include <doctest/doctest.h>

using namespace muster;
using namespace muster::http;

TEST_CASE("grammar: an answer's head, and how its body is framed") {
  using Framing = Body::Framing;
  struct {
    const char* head;
    bool to_head;
    int status;
    Framing framing;
    std::uint64_t left;
    bool done;
    bool keep_alive;
  } const cases[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", false, 200, Framing::length, 5, false, true},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true, 200, Framing::length, 0, true, true},
      {"HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", false, 200, Framing::length, 0, true, true},
      {"HTTP/1.1 206 \r\nA: b\r\n\r\n", false, 206, Framing::to_end, 0, false, false},
      {"HTTP/1.1 404 Not\tFound \xe4\r\ntransfer-encoding: Chunked\r\n\r\n", false, 404,
       Framing::chunks, 0, false, true},
      {"HTTP/1.1 100 Continue\r\n\r\n", false, 100, Framing::length, 0, true, true},
      {"HTTP/1.1 204 No Content\r\n\r\n", false, 204, Framing::length, 0, true, true},
      {"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", false, 304, Framing::length, 0,
       true, true},
      {"HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\n", false, 200,
       Framing::length, 1, false, false},
      {"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\n", false, 200, Framing::length, 1, false,
       false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.head);
    const Result<ParsedAnswer, BadHead> got = parse_answer(c.head, c.to_head);
    REQUIRE(got);
    CHECK(got->head.status == c.status);
    CHECK(got->body.framing() == c.framing);
    CHECK(got->body.left() == c.left);
    CHECK(got->body.done() == c.done);
    CHECK(got->keep_alive == c.keep_alive);
  }
  const auto fields = parse_answer("HTTP/1.1 200 OK\r\nETag:  \"a\" \r\nX-Y:\r\n\r\n", false);
  REQUIRE(fields);
  CHECK(fields->head.headers == Headers{{"ETag", "\"a\""}, {"X-Y", ""}});
}

TEST_CASE("grammar: a response that two readers may understand in two ways is refused") {
  struct {
    const char* head;
    const char* why;
  } const cases[] = {
      {"HTTP/2 200\r\n\r\n", "it is not HTTP/1.1"},
      {"HTTP/1.1\r\n\r\n", "it is not HTTP/1.1"},
      {"HTTP/1.1 20\r\n\r\n", "the status is missing"},
      {"HTTP/1.1 099 x\r\n\r\n", "the status is missing"},
      {"HTTP/1.1 2000 OK\r\n\r\n", "the status is missing"},
      {"HTTP/1.1 +20 OK\r\n\r\n", "the status is missing"},
      {"HTTP/1.1 200 O\rK\r\n\r\n", "the message head contains a control character"},
      {"HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n", "a header line has no name"},
      {"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "a header line has no name"},
      {"HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n", "the message head contains a control character"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n", "invalid Content-Length"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\n",
       "there are two Content-Length headers"},
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
       "the message has both Content-Length and chunked encoding"},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
       "Transfer-Encoding is not chunked"},
      {"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
       "HTTP/1.0 does not support chunked encoding"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.head);
    const Result<ParsedAnswer, BadHead> got = parse_answer(c.head, false);
    REQUIRE_FALSE(got);
    CHECK(got.error().why == c.why);
  }
}

TEST_CASE("grammar: bytes that are not a response are refused before their end") {
  for (const char* bytes : {"", "H", "HTTP/1", "HTTP/1.", "HTTP/1.1 2"}) {
    CAPTURE(bytes);
    CHECK(may_begin_answer(bytes));
  }
  for (const char* bytes : {"h", "HTTP/2", "HTTPS", "SSH-2.0-OpenSSH", "\r"}) {
    CAPTURE(bytes);
    CHECK_FALSE(may_begin_answer(bytes));
  }
}

TEST_CASE("grammar: a body ends where its framing says") {
  Body none;
  CHECK(none.done());
  CHECK(none.next("x")->data == 0);

  Body five(Body::Framing::length, 5);
  CHECK(five.next("abc")->data == 3);
  CHECK(five.left() == 2);
  CHECK_FALSE(five.done());
  CHECK(five.next("defgh")->data == 2);
  CHECK(five.done());

  Body chunks(Body::Framing::chunks);
  CHECK(chunks.next("2\r\nab\r\n")->skipped == 3);
  CHECK(chunks.next("ab\r\n")->data == 2);
  CHECK(chunks.next("\r\n0\r\n\r\n")->skipped == 2);
  CHECK(chunks.next("0\r\n\r\n")->skipped == 3);
  CHECK_FALSE(chunks.done());
  CHECK(chunks.next("\r\n")->skipped == 2);
  CHECK(chunks.done());
  Body broken(Body::Framing::chunks);
  CHECK(broken.next("x\r\n").error().code == Errc::protocol);

  Body open(Body::Framing::to_end);
  CHECK(open.next("abc")->data == 3);
  CHECK_FALSE(open.done());
}
