#include "net/sockets/datagram_relay.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <thread>

#include "net/loop/testing.h"
#include "net/sockets/tcp.h"

namespace muster::loop {
namespace {

constexpr int guard_ms = 20'000;
constexpr std::size_t longest = 4096;

sockaddr address_of(std::uint16_t port, std::uint32_t host = INADDR_LOOPBACK) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(host);
  sockaddr storage{};
  std::memcpy(&storage, &address, sizeof storage);
  return storage;
}

Fd bound(std::uint16_t port = 0, std::uint32_t host = INADDR_LOOPBACK) {
  Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const sockaddr address = address_of(port, host);
  REQUIRE(::bind(socket.get(), &address, sizeof address) == 0);
  return socket;
}

/// What came within the guard.
std::string received(const Fd& socket, sockaddr* from = nullptr) {
  pollfd readable{socket.get(), POLLIN, 0};
  if (::poll(&readable, 1, guard_ms) != 1) return "nothing";
  std::string bytes(2 * longest, '\0');
  sockaddr ignored{};
  socklen_t size = sizeof ignored;
  const ssize_t count = ::recvfrom(socket.get(), bytes.data(), bytes.size(), 0,
                                   from == nullptr ? &ignored : from, &size);
  bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return bytes;
}

/// Turns `loop` while `talk` runs in a thread of its own.
void while_it_turns(Loop& loop, const std::function<void()>& talk) {
  const Pipe over = *make_pipe();
  std::thread talker([&] {
    talk();
    CHECK(::write(over.write.get(), "x", 1) == 1);
  });
  const auto wait = [](Loop& own, int fd) -> Task<> {
    Watch watch(own, fd);
    co_await watch.readable();
  };
  run_task(loop, wait(loop, over.read.get()), std::chrono::seconds(60));
  talker.join();
}

TEST_CASE("datagram_relay: an answer reaches its own caller, however many callers there are") {
  Loop loop;
  const Fd server = bound();
  Fd socket = bound();
  const std::uint16_t port = port_of(own_address(socket));
  const auto relay =
      DatagramRelay::open(loop, std::move(socket), {{"127.0.0.1"}, port_of(own_address(server))});
  while_it_turns(loop, [&] {
    const Fd first = bound(), second = bound();
    const sockaddr to = address_of(port);
    REQUIRE(::sendto(first.get(), "one", 3, 0, &to, sizeof to) == 3);
    REQUIRE(::sendto(second.get(), "two", 3, 0, &to, sizeof to) == 3);
    sockaddr asked[2];
    std::string questions[2];
    for (int i = 0; i < 2; ++i) questions[i] = received(server, &asked[i]);
    for (int i = 1; i >= 0; --i) {  // The later one is answered first.
      const std::string answer = "to " + questions[i];
      REQUIRE(::sendto(server.get(), answer.data(), answer.size(), 0, &asked[i], sizeof asked[i]) ==
              static_cast<ssize_t>(answer.size()));
    }
    CHECK(received(first) == "to one");
    CHECK(received(second) == "to two");
  });
}

TEST_CASE("datagram_relay: a server that is not there is followed by the next") {
  Loop loop;
  const Fd server = bound(0, INADDR_LOOPBACK + 1);  // 127.0.0.2
  Fd socket = bound();
  const std::uint16_t port = port_of(own_address(socket));
  const auto relay = DatagramRelay::open(
      loop, std::move(socket), {{"127.0.0.1", "127.0.0.2"}, port_of(own_address(server))});
  while_it_turns(loop, [&] {
    const Fd asker = bound();
    const sockaddr to = address_of(port);
    REQUIRE(::sendto(asker.get(), "where", 5, 0, &to, sizeof to) == 5);
    sockaddr from{};
    CHECK(received(server, &from) == "where");
    REQUIRE(::sendto(server.get(), "here", 4, 0, &from, sizeof from) == 4);
    CHECK(received(asker) == "here");
  });
}

TEST_CASE("datagram_relay: only the server that was asked can answer, and not at any length") {
  Loop loop;
  const Fd server = bound();
  const Fd stranger = bound();
  Fd socket = bound();
  const std::uint16_t port = port_of(own_address(socket));
  const auto relay =
      DatagramRelay::open(loop, std::move(socket), {{"127.0.0.1"}, port_of(own_address(server))});
  while_it_turns(loop, [&] {
    const Fd asker = bound();
    const sockaddr to = address_of(port);
    const std::string too_long(longest + 1, 'x');
    REQUIRE(::sendto(asker.get(), too_long.data(), too_long.size(), 0, &to, sizeof to) > 0);
    REQUIRE(::sendto(asker.get(), "", 0, 0, &to, sizeof to) == 0);
    REQUIRE(::sendto(asker.get(), "real", 4, 0, &to, sizeof to) == 4);
    sockaddr from{};
    CHECK(received(server, &from) == "real");
    REQUIRE(::sendto(stranger.get(), "forged", 6, 0, &from, sizeof from) == 6);
    REQUIRE(::sendto(server.get(), too_long.data(), too_long.size(), 0, &from, sizeof from) > 0);
    const std::string longest_answer(longest, 'y');
    REQUIRE(::sendto(server.get(), longest_answer.data(), longest, 0, &from, sizeof from) > 0);
    CHECK(received(asker) == longest_answer);
  });
}

TEST_CASE("datagram_relay: 128 questions wait at a time, no more") {
  Loop loop;
  const Fd server = bound();
  Fd socket = bound();
  const std::uint16_t port = port_of(own_address(socket));
  const auto relay =
      DatagramRelay::open(loop, std::move(socket), {{"127.0.0.1"}, port_of(own_address(server))});
  while_it_turns(loop, [&] {
    const Fd asker = bound();
    const sockaddr to = address_of(port);
    sockaddr from{};
    for (int i = 0; i < 128; ++i) {
      REQUIRE(::sendto(asker.get(), "q", 1, 0, &to, sizeof to) == 1);
      REQUIRE(received(server, &from) == "q");
    }
    REQUIRE(::sendto(asker.get(), "late", 4, 0, &to, sizeof to) == 4);
    REQUIRE(::sendto(server.get(), "a", 1, 0, &from, sizeof from) == 1);
    CHECK(received(asker) == "a");
    // The answered one's place is free a moment after the answer went.
    pollfd readable{server.get(), POLLIN, 0};
    for (int i = 0; i < 400 && readable.revents == 0; ++i) {
      REQUIRE(::sendto(asker.get(), "next", 4, 0, &to, sizeof to) == 4);
      ::poll(&readable, 1, 50);
    }
    CHECK(received(server) == "next");
  });
}

}  // namespace
}  // namespace muster::loop
