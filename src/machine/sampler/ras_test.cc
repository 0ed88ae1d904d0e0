#include "machine/sampler/ras.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "job/wire/nccl_report.h"
#include "net/loop/tasks.h"

using namespace muster;
using namespace std::chrono_literals;

namespace {

/// A stand-in for RAS: `talk` gets its one connection, once the request has arrived.
class StandIn {
 public:
  explicit StandIn(std::function<void(int)> talk)
      : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener_.get(), 1) == 0);
    REQUIRE(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this, talk = std::move(talk)] {
      const Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::string got(job::nccl_request.size(), '\0');
      ::recv(peer.get(), got.data(), got.size(), MSG_WAITALL);
      request = got;
      talk(peer.get());
    });
  }
  ~StandIn() { thread_.join(); }

  std::uint16_t port = 0;
  std::string request;

 private:
  Fd listener_;
  std::thread thread_;
};

/// To the end of the connection.
void wait_for_end(int fd) {
  char byte = 0;
  while (::recv(fd, &byte, 1, 0) > 0) {
  }
}

std::string asked(sampler::RasWay way, Duration limit) {
  loop::Loop loop;
  std::string answer;
  const auto ask = [&]() -> loop::Task<> {
    answer = co_await sampler::ask_ras(loop, std::move(way), limit);
    loop.stop();
  };
  loop::Tasks tasks(loop);
  tasks.start(ask());
  loop.run();
  return answer;
}

std::string asked(std::uint16_t port, Duration limit) {
  const auto made = [](int family) {
    return Fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  };
  return asked({.ipv4 = made(AF_INET), .ipv6 = made(AF_INET6), .port = port}, limit);
}

constexpr Duration guard = 60s;

}  // namespace

TEST_CASE("ras: the answer is what arrives until the connection ends") {
  const std::string text = "SERVER PROTOCOL 2\nOK\nOK\n{\"communicators\": []}\n";
  std::string request;
  {
    StandIn ras([&](int fd) { ::send(fd, text.data(), text.size(), MSG_NOSIGNAL); });
    CHECK(asked(ras.port, guard) == text);
    request = ras.request;
  }
  CHECK(request == "CLIENT PROTOCOL 2\nTIMEOUT 1\nSET FORMAT json\nVERBOSE STATUS\n");
}

TEST_CASE("ras: an endless answer is cut off") {
  StandIn ras([](int fd) {
    const std::string chunk(65536, 'x');
    while (::send(fd, chunk.data(), chunk.size(), MSG_NOSIGNAL) > 0) {
    }
  });
  CHECK(asked(ras.port, guard).size() == job::nccl_answer_bytes_max);
}

TEST_CASE("ras: a program that does not answer is left at the limit, with what it has sent") {
  StandIn silent(wait_for_end);
  CHECK(asked(silent.port, 50ms).empty());
  StandIn half([](int fd) {
    ::send(fd, "SERVER", 6, MSG_NOSIGNAL);
    wait_for_end(fd);
  });
  const std::string answer = asked(half.port, 200ms);
  CHECK((answer == "SERVER" || answer.empty()));  // On a busy machine it may not be sent yet.
}

TEST_CASE("ras: without RAS there is no answer") {
  std::uint16_t port = 0;
  {
    const Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    REQUIRE(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port = ntohs(address.sin_port);  // Bound, so nobody else listens there later either.
    CHECK(asked(port, guard).empty());
  }
}

TEST_CASE("ras: in a shared network only a port that a process sets is asked") {
  using namespace std::string_literals;
  CHECK(sampler::ras_port_in("A=1\0NCCL_RAS_ADDR=localhost:28100\0"s) == 28100);
  CHECK(sampler::ras_port_in("NCCL_RAS_ADDR=127.0.0.1:28101\0"s) == 28101);
  CHECK(sampler::ras_port_in("NCCL_RAS_ADDR=[::1]:28102\0"s) == 28102);
  CHECK(!sampler::ras_port_in("NCCL_RAS_ADDR=10.0.0.1:22\0"s));
  CHECK(!sampler::ras_port_in("NCCL_RAS_ADDR=localhost:99999\0"s));
  CHECK(!sampler::ras_port_in("NCCL_RAS_ADDR=\0"s));
  CHECK(!sampler::ras_port_in(""));
  CHECK(!sampler::ras_way(::getpid()));
}

TEST_CASE("ras: the way leads into the host's own network, where RAS listens on ::1") {
  const std::string text = "SERVER PROTOCOL 2\nOK\nOK\n{\"communicators\": []}\n";
  Pipe ready = *make_pipe();
  const pid_t host = ::fork();
  REQUIRE(host >= 0);
  if (host == 0) {  // As a host: a network of its own, in which RAS has NCCL's own port.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ifreq loopback{};
    std::strcpy(loopback.ifr_name, "lo");
    sockaddr_in6 address{};
    address.sin6_family = AF_INET6;
    address.sin6_addr = in6addr_loopback;
    address.sin6_port = htons(28028);
    if (::unshare(CLONE_NEWNET) != 0) ::_exit(2);
    const int listener = ::socket(AF_INET6, SOCK_STREAM, 0);
    loopback.ifr_flags = IFF_UP;
    if (::ioctl(listener, SIOCSIFFLAGS, &loopback) != 0 ||
        ::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener, 1) != 0 || ::write(ready.write.get(), ".", 1) != 1)
      ::_exit(1);
    const int peer = ::accept(listener, nullptr, nullptr);
    ::send(peer, text.data(), text.size(), MSG_NOSIGNAL);
    ::shutdown(peer, SHUT_WR);
    wait_for_end(peer);
    ::_exit(0);
  }
  ready.write.reset();
  char byte = 0;
  const bool is_ready = ::read(ready.read.get(), &byte, 1) == 1;
  std::optional<sampler::RasWay> way = sampler::ras_way(host);
  if (is_ready) {
    REQUIRE(way);
    CHECK(way->port == 28028);
    CHECK(asked(*std::move(way), guard) == text);
  }
  int status = 0;
  REQUIRE(::waitpid(host, &status, 0) == host);
  CHECK((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 2));  // 2: not root.
}
