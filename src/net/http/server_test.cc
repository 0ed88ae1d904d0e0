#include "net/http/server.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <thread>

#include "net/http/grammar.h"
#include "net/loop/testing.h"

using namespace muster;
using namespace muster::http;
using namespace std::chrono_literals;

namespace {

/// A connection to the server; none if it was refused.
Fd connect_to(std::uint16_t port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(port);
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0)
    socket.reset();
  return socket;
}

/// Sends `text` and reads until the server closes, or `want` came.
std::string talk_on(const Fd& socket, const std::string& text, const std::string& want) {
  ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
  if (want.empty()) ::shutdown(socket.get(), SHUT_WR);
  std::string got;
  char buffer[65536];
  while (want.empty() || got.find(want) == std::string::npos) {
    const ssize_t count = ::recv(socket.get(), buffer, sizeof buffer, 0);
    if (count <= 0) break;
    got.append(buffer, static_cast<std::size_t>(count));
  }
  return got;
}

/// True if the other side has answered or closed.
bool has_ended(const Fd& socket) {
  char byte = 0;
  return ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || errno != EAGAIN;
}

std::string talk(std::uint16_t port, const std::string& text, const std::string& want = "") {
  const Fd socket = connect_to(port);
  return socket ? talk_on(socket, text, want) : "(refused)";
}

/// Answers by the target: /echo the body, /file a file, /stream chunks, /unread not reading.
loop::Task<void> handle(Exchange& exchange, std::string file) {
  const std::string target(exchange.request().target);
  Reply reply;
  if (target == "/echo") {
    Result<std::string> body = co_await read_whole(exchange, 1 << 20);
    if (!body) {
      reply.status = body.error().code == Errc::invalid_input ? 413 : 400;
      reply.body = body.error().text;
    } else {
      reply.body = *std::move(body);
    }
  } else if (target == "/file") {
    reply.file = Fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    reply.file_offset = 1;
    reply.file_bytes = 3;
  } else if (target == "/stream") {
    (void)co_await exchange.start(std::move(reply));
    const std::string_view first = "one,";
    const std::string_view second = "two";
    (void)co_await exchange.write(first);
    (void)co_await exchange.write(second);
    co_return;
  } else if (target == "/nothing") {
    co_return;
  } else if (target == "/proved") {
    reply.body = exchange.proved("AK1", "job") ? "in" : "later";
  } else {
    reply.body = "hello";
    reply.headers.emplace_back("X-Evil", "a\r\nInjected: b");
  }
  (void)co_await exchange.reply(std::move(reply));
}

/// A server with a client in a thread of its own; `use` runs in that thread.
void with_server(Server::Options options, const std::function<void(std::uint16_t)>& use) {
  const std::string file = "/tmp/muster-http-server-test-" + std::to_string(::getpid());
  REQUIRE(write_file(file, "abcdef"));
  loop::Loop loop;
  Result<std::unique_ptr<Server>> server =
      Server::open(loop, options, [file](Exchange& exchange) { return handle(exchange, file); });
  REQUIRE(server);
  const auto stop = [](Server& stopped, loop::Loop& of) -> loop::Task<void> {
    co_await stopped.stop(Clock::now() + 5s);
    of.stop();
  };
  loop::Tasks tasks(loop);
  std::thread client([&] {
    use((*server)->port());
    loop.post([&] { tasks.start(stop(**server, loop)); });
  });
  loop.run();
  client.join();
  ::unlink(file.c_str());
}

std::string body_of(const std::string& answer) {
  const std::size_t end = answer.find("\r\n\r\n");
  return end == std::string::npos ? answer : answer.substr(end + 4);
}

}  // namespace

TEST_CASE("http_server: answers bodies, files, streams and mistakes of handlers") {
  struct {
    const char* name;
    std::string request;
    const char* status;
    std::string body;
  } const cases[] = {
      {"text", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK", "hello"},
      {"echo", "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", "200 OK", "abc"},
      {"chunks",
       "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
       "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nT: u\r\n\r\n",
       "200 OK", "abcdefg"},
      {"file", "GET /file HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK", "bcd"},
      {"head of a file", "HEAD /file HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK", ""},
      {"stream", "GET /stream HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK",
       "4\r\none,\r\n3\r\ntwo\r\n0\r\n\r\n"},
      {"stream for HTTP/1.0", "GET /stream HTTP/1.0\r\n\r\n", "200 OK", "one,two"},
      {"no answer", "GET /nothing HTTP/1.1\r\nHost: a\r\n\r\n", "500 Internal Server Error", ""},
      {"too long",
       "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n" +
           std::string(2000000, 'x'),
       "413 Content Too Large", "the body is larger than 1048576 bytes"},
      {"broken chunks", "PUT /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       "400", "a chunk has no valid size"},
  };
  for (const int threads : {0, 2}) {
    CAPTURE(threads);
    with_server({.threads = threads}, [&](std::uint16_t port) {
      for (const auto& c : cases) {
        CAPTURE(c.name);
        const std::string answer = talk(port, c.request);
        CHECK(answer.find(std::string("HTTP/1.1 ") + c.status) == 0);
        CHECK(body_of(answer) == c.body);
      }
    });
  }
}

TEST_CASE("http_server: a connection carries one request after the other") {
  with_server({.threads = 1}, [](std::uint16_t port) {
    const std::string request = "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n";
    const std::string answer = talk(port, request + "1" + request + "2" +
                                              "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                                              "\r\nGET /never HTTP/1.1\r\n\r\n");
    CHECK(answer.find("\r\n\r\n1HTTP/1.1 200") != std::string::npos);
    CHECK(answer.find("\r\n\r\n2HTTP/1.1 200") != std::string::npos);
    CHECK(answer.ends_with("hello"));
  });
}

TEST_CASE("http_server: strangers make room, proved clients stay, and each client has a limit") {
  const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const std::string prove = "GET /proved HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const int threads : {0, 2}) {
    CAPTURE(threads);
    const Server::Options options{.threads = threads,
                                  .limits = {.all = 4, .of_peer = 3, .of_party = 1}};
    with_server(options, [&](std::uint16_t port) {
      const Fd proved = connect_to(port);
      CHECK(body_of(talk_on(proved, prove, "in")) == "in");
      std::vector<Fd> strangers;
      for (int i = 0; i < 100; ++i) strangers.push_back(connect_to(port));
      CHECK(body_of(talk_on(strangers.back(), get, "hello")) == "hello");
      CHECK(talk_on(strangers.front(), get, "hello").empty());
      CHECK(body_of(talk_on(proved, prove, "in")) == "in");
      CHECK(body_of(talk_on(strangers.back(), prove, "in")) == "in");  // One idles: it goes.
      CHECK(talk_on(proved, prove, "in").empty());
    });
  }
}

TEST_CASE("http_server: a body that trickles has an end") {
  const Server::Options options{.body_wait = 1s, .body_bytes_a_second_min = 1000};
  with_server(options, [](std::uint16_t port) {
    const Fd slow = connect_to(port);
    std::string answer =
        talk_on(slow, "PUT /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n12345678", "body");
    CHECK(answer.find("HTTP/1.1 400") == std::string::npos);
    CHECK(answer.empty());  // Cut: there is no reader for a response.
  });
}

TEST_CASE("http_server: bodies of strangers have a common limit, those of proved clients none") {
  const Server::Options options{.threads = 2, .limits = {.stranger_bytes = 300'000}};
  with_server(options, [](std::uint16_t port) {
    const auto put = [](std::size_t bytes) {
      return "PUT /echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: " +
             std::to_string(bytes) + "\r\n\r\n";
    };
    const Fd large = connect_to(port);
    const std::string most = put(200'000) + std::string(190'000, 'x');
    ::send(large.get(), most.data(), most.size(), MSG_NOSIGNAL);
    // Others pass, for none holds as much; once the server has read what the large one sent, it
    // goes.
    for (int i = 0; i < 1000 && !has_ended(large); ++i) {
      const Fd other = connect_to(port);
      const std::string answer = talk_on(other, put(120'000) + std::string(120'000, 'y'), "none");
      CHECK(body_of(answer).size() == 120'000);
    }
    const std::string told = talk_on(large, "x", "none");
    CHECK((told.empty() || told.find("too many request bodies") != std::string::npos));
    const Fd known = connect_to(port);
    const std::string prove = "GET /proved HTTP/1.1\r\nHost: a\r\n\r\n";
    CHECK(body_of(talk_on(known, prove, "in")) == "in");
    CHECK(body_of(talk_on(known, put(900'000) + std::string(900'000, 'z'), "none")).size() ==
          900'000);
    const Fd stranger = connect_to(port);
    const std::string refused = talk_on(stranger, put(900'000) + std::string(900'000, 'z'), "none");
    CHECK(refused.find("too many request bodies") != std::string::npos);
  });
}

TEST_CASE("http_server: 100 Continue is sent when the body is read, and only then") {
  with_server({}, [](std::uint16_t port) {
    const std::string expects =
        " HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n"
        "Content-Length: 3\r\n\r\n";
    CHECK(talk(port, "PUT /echo" + expects, "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n");
    const std::string refused = talk(port, "PUT /" + expects, "hello");
    CHECK(refused.find("100 Continue") == std::string::npos);
    CHECK(refused.find("Connection: close") != std::string::npos);
  });
}

TEST_CASE("http_server: a header cannot bring another one in") {
  with_server({}, [](std::uint16_t port) {
    const std::string answer = talk(port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    CHECK(answer.find("X-Evil: a  Injected: b\r\n") != std::string::npos);
  });
}

TEST_CASE("http_server: malformed requests are refused") {
  struct {
    const char* name;
    std::string request;
    const char* status;
  } const cases[] = {
      {"TLS, and nothing more", std::string("\x16\x03\x01\x02", 4), "400"},
      {"no version", "GET /\r\n\r\n", "400"},
      {"old version", "GET / HTTP/0.9\r\nHost: a\r\n\r\n", "505"},
      {"no host", "GET / HTTP/1.1\r\n\r\n", "400"},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400"},
      {"two lengths", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
       "400"},
      {"Content-Length and chunks",
       "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       "400"},
      {"HTTP/1.0 does not support chunked encoding",
       "PUT / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400"},
      {"signed length", "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: +1\r\n\r\n", "400"},
      {"space before colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", "400"},
      {"folded line", "GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n", "400"},
      {"bare line feed in value", "GET / HTTP/1.1\r\nHost: a\r\nX: a\nY: b\r\n\r\n", "400"},
      {"other coding", "GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", "501"},
      {"long head", "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(70000, 'x'), "431"},
  };
  with_server({}, [&](std::uint16_t port) {
    for (const auto& c : cases) {
      CAPTURE(c.name);
      CHECK(talk(port, c.request).find(std::string("HTTP/1.1 ") + c.status) == 0);
    }
  });
}

TEST_CASE("http_server: chunks are parsed in pieces of any size") {
  const std::string framed = "5\r\nhello\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n";
  for (std::size_t size = 1; size <= framed.size(); ++size) {
    CAPTURE(size);
    ChunkDecoder decoder;
    std::string unread;
    std::string data;
    for (std::size_t at = 0; at < framed.size(); at += size) {
      unread += framed.substr(at, size);
      while (true) {
        Result<ChunkDecoder::Step> step = decoder.next(unread);
        REQUIRE(step);
        if (step->skipped + step->data == 0) break;
        data += unread.substr(step->skipped, step->data);
        unread.erase(0, step->skipped + step->data);
      }
    }
    CHECK(data == "hello!");
    CHECK(decoder.done());
  }
}

TEST_CASE("http_server: framing of chunks that others may read in another way is refused") {
  for (const char* framed : {"5;a\nb\r\nhello\r\n0\r\n\r\n", "0\r\nA: b\rC: d\r\n\r\n", "+5\r\n",
                             "0x5\r\n", "ffffffffffffffff\r\n", "\r\n"}) {
    CAPTURE(framed);
    ChunkDecoder decoder;
    std::string unread = framed;
    Result<ChunkDecoder::Step> step = decoder.next(unread);
    while (step && step->skipped + step->data > 0) {
      unread.erase(0, step->skipped + step->data);
      step = decoder.next(unread);
    }
    REQUIRE_FALSE(step);
    CHECK(step.error().code == Errc::protocol);
  }
}

TEST_CASE("http_server: work for a request can ask whether its client has hung up") {
  loop::Loop loop;
  std::function<bool()> gone;
  const auto keep = [&gone](Exchange& exchange) -> loop::Task<void> {
    gone = exchange.gone();
    Reply reply{.body = gone() ? "gone" : "there"};
    (void)co_await exchange.reply(std::move(reply));
  };
  Result<std::unique_ptr<Server>> server = Server::open(loop, {}, keep);
  REQUIRE(server);
  const auto stop = [](Server& stopped, loop::Loop& of) -> loop::Task<void> {
    co_await stopped.stop(Clock::now() + 5s);
    of.stop();
  };
  loop::Tasks tasks(loop);
  std::thread client([&] {
    Fd socket = connect_to((*server)->port());
    CHECK(body_of(talk_on(socket, "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "there")) == "there");
    CHECK(!gone());
    socket.reset();
    const TimePoint deadline = Clock::now() + 10s;
    while (!gone() && Clock::now() < deadline) std::this_thread::yield();
    CHECK(gone());
    loop.post([&] { tasks.start(stop(**server, loop)); });
  });
  loop.run();
  client.join();
  CHECK(gone());
}

TEST_CASE("http_server: addresses in use or invalid are errors") {
  loop::Loop loop;
  const auto nobody = [](Exchange&) -> loop::Task<void> { co_return; };
  Result<std::unique_ptr<Server>> first = Server::open(loop, {}, nobody);
  REQUIRE(first);
  const auto second = Server::open(loop, {.port = (*first)->port()}, nobody);
  CHECK(second.error().text.find("in use") != std::string::npos);
  CHECK(Server::open(loop, {.host = "localhost"}, nobody).error().code == Errc::invalid_input);
  const auto tls =
      Server::open(loop, {.certificate_file = "/nonexistent", .key_file = "/nonexistent"}, nobody);
  CHECK(tls.error().code == Errc::system);
}
