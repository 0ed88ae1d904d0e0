#include "net/sockets/relay.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "net/loop/testing.h"
#include "net/sockets/tcp.h"

namespace muster::loop {
namespace {

std::uint16_t own_port(const Fd& socket) {
  return port_of(own_address(socket));
}

/// Sends back what comes until its end, then "bye".
void echo_once(const Fd& listener) {
  const Fd peer(::accept(listener.get(), nullptr, nullptr));
  char piece[4096];
  for (ssize_t got = 1; got > 0;) {
    got = ::read(peer.get(), piece, sizeof piece);
    if (got > 0) REQUIRE(::write(peer.get(), piece, static_cast<std::size_t>(got)) == got);
  }
  REQUIRE(::write(peer.get(), "bye", 3) == 3);
}

/// Blocking, on 127.0.0.1.
Fd listen_here(int flags) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr storage{};
  std::memcpy(&storage, &address, sizeof storage);
  REQUIRE(::bind(socket.get(), &storage, sizeof address) == 0);
  REQUIRE(::listen(socket.get(), 16) == 0);
  return socket;
}

/// Sends `count` bytes and reads to the end; what came.
std::string call(std::uint16_t port, std::size_t count) {
  const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  sockaddr storage{};
  std::memcpy(&storage, &address, sizeof storage);
  if (::connect(socket.get(), &storage, sizeof address) != 0) return "refused";
  std::thread writer([&socket, count] {
    const std::string bytes(count, 'x');
    std::size_t sent = 0;
    while (sent < count) {
      const ssize_t put = ::send(socket.get(), bytes.data() + sent, count - sent, MSG_NOSIGNAL);
      if (put <= 0) break;
      sent += static_cast<std::size_t>(put);
    }
    ::shutdown(socket.get(), SHUT_WR);
  });
  std::string text;
  char piece[4096];
  for (ssize_t got = 1; got > 0;) {
    got = ::read(socket.get(), piece, sizeof piece);
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
  }
  writer.join();
  return text;
}

TEST_CASE("relay: bytes and ends pass both ways, however many") {
  Loop loop;
  const Fd target = listen_here(0);
  Fd listener = listen_here(SOCK_NONBLOCK);
  const std::uint16_t port = own_port(listener);
  const auto relay = Relay::open(loop, std::move(listener), {"127.0.0.1", own_port(target)});
  for (const std::size_t count : {std::size_t{0}, std::size_t{5}, std::size_t{3} << 20}) {
    std::thread server([&target] { echo_once(target); });
    std::string heard;
    std::thread client([&] {
      heard = call(port, count);
      loop.post([&loop] { loop.stop(); });
    });
    loop.restart();
    loop.run();
    client.join();
    server.join();
    CHECK(heard.size() == count + 3);
    CHECK(heard.ends_with("bye"));
  }
}

TEST_CASE("relay: a target on the loopback network sees the address that it was given") {
  struct {
    const char* from;
    const char* want;
  } const cases[] = {{"127.177.3.7", "127.177.3.7"}, {"", "127.0.0.1"}, {"10.0.0.1", "127.0.0.1"}};
  for (const auto& c : cases) {
    CAPTURE(c.from);
    Loop loop;
    const Fd target = listen_here(0);
    Fd listener = listen_here(SOCK_NONBLOCK);
    const std::uint16_t port = own_port(listener);
    const auto relay =
        Relay::open(loop, std::move(listener), {"127.0.0.1", own_port(target), c.from});
    std::string seen;
    std::thread server([&] {
      sockaddr_in from{};
      socklen_t size = sizeof from;
      const Fd came(::accept4(target.get(), reinterpret_cast<sockaddr*>(&from), &size, 0));
      char text[INET_ADDRSTRLEN] = "";
      ::inet_ntop(AF_INET, &from.sin_addr, text, sizeof text);
      seen = text;
    });
    std::thread client([&] {
      call(port, 0);
      loop.post([&loop] { loop.stop(); });
    });
    loop.run();
    client.join();
    server.join();
    CHECK(seen == c.want);
  }
}

TEST_CASE("relay: a caller sees an end if the target has no listener") {
  Loop loop;
  std::uint16_t nobody = 0;
  {
    const Fd gone = listen_here(0);
    nobody = own_port(gone);
  }
  Fd listener = listen_here(SOCK_NONBLOCK);
  const std::uint16_t port = own_port(listener);
  const auto relay = Relay::open(loop, std::move(listener), {"127.0.0.1", nobody});
  std::string heard = "?";
  std::thread client([&] {
    heard = call(port, 3);
    loop.post([&loop] { loop.stop(); });
  });
  loop.run();
  client.join();
  CHECK(heard.empty());
}

}  // namespace
}  // namespace muster::loop
