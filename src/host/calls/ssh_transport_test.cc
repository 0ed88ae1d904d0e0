#include "host/calls/ssh_transport.h"

#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/loop/testing.h"
#include "net/sockets/probe_port.h"

namespace muster::calls {
namespace {

using namespace std::chrono_literals;

/// A server on 127.0.0.1 that greets every client, as sshd does, once it is opened.
class Server {
 public:
  explicit Server(loop::Loop& loop, std::string greeting = "SSH-2.0-test\r\n")
      : loop_(loop), greeting_(std::move(greeting)), tasks_(loop) {}
  void open(std::uint16_t port) {
    socket_ = Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0);
    REQUIRE(::listen(socket_.get(), 8) == 0);
    tasks_.start(serve(*this));
  }

 private:
  static loop::Task<> serve(Server& self) {
    loop::Watch watch(self.loop_, self.socket_.get());
    while (true) {
      const bool came = co_await watch.readable();
      if (!came) co_return;
      const Fd peer(::accept4(self.socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!peer) continue;
      for (const char sign : self.greeting_)  // In pieces, as a network may deliver it.
        CHECK(::send(peer.get(), &sign, 1, MSG_NOSIGNAL) == 1);
    }
  }
  loop::Loop& loop_;
  std::string greeting_;
  Fd socket_;
  loop::Tasks tasks_;
};

TEST_CASE("ssh: the transport is chosen by its name, and by no other") {
  CHECK(*transport_from({}) == launch::Transport::sessions);
  CHECK(*transport_from({{"MUSTER_MPI_TRANSPORT", "sessions"}}) == launch::Transport::sessions);
  CHECK(*transport_from({{"MUSTER_MPI_TRANSPORT", "ssh"}}) == launch::Transport::ssh);
  const Result<launch::Transport> other = transport_from({{"MUSTER_MPI_TRANSPORT", "rsh"}});
  REQUIRE_FALSE(other);
  CHECK(other.error().code == Errc::invalid_input);
  CHECK(other.error().text == "MUSTER_MPI_TRANSPORT is \"rsh\"; expected \"sessions\" or \"ssh\"");
}

TEST_CASE("ssh: the server hands its host's socket on, or is said to be missing") {
  const Env env{{"PATH", "/usr/bin"}, {"OMPI_MCA_oob_tcp_if_include", "ens5"}};
  const Result<Command> command = sshd_command(env, "/tmp/muster-1/socket");
  if (::access("/usr/sbin/sshd", X_OK) != 0) {
    CHECK(command.error().code == Errc::not_found);
    CHECK(command.error().text.find("install openssh-server") != std::string::npos);
    return;
  }
  REQUIRE(command);
  CHECK(command->argv.back() ==
        "SetEnv=MUSTER_SOCKET=/tmp/muster-1/socket OMPI_MCA_oob_tcp_if_include=ens5 "
        "PMIX_MCA_gds=hash");
  CHECK(command->env == env);
  for (const char* path : {"", "/tmp/a b", "/tmp/a#b", "/tmp/a=b", "/tmp/\"a\""}) {
    CAPTURE(path);
    CHECK(sshd_command(env, path).error().code == Errc::invalid_input);
  }
}

TEST_CASE("ssh: the wait ends when every host's server answers, even a late one") {
  loop::Loop loop;
  const std::uint16_t port = loop::free_ports(1)->front();
  Server server(loop);
  const auto test = [](loop::Loop& on, Server& late, std::uint16_t at) -> loop::Task<> {
    loop::Tasks opening(on);
    const auto open = [](loop::Loop& l, Server& s, std::uint16_t p) -> loop::Task<> {
      loop::Timer pause(l);
      co_await pause.after(100ms);
      s.open(p);
    };
    opening.start(open(on, late, at));
    const TimePoint begun = Clock::now();
    Args hosts{"127.0.0.1", "localhost"};
    const Result<void> done = co_await wait_for_ssh(on, std::move(hosts), at, Clock::now() + 20s);
    CHECK(done);
    CHECK(Clock::now() - begun >= 100ms);
  };
  loop::run_task(loop, test(loop, server, port));
}

TEST_CASE("ssh: another program that answers at the port is not taken for an ssh server") {
  for (const char* said : {"HTTP/1.1 400\r\n", "SS\33[31m", "S"}) {
    CAPTURE(said);
    loop::Loop loop;
    const std::uint16_t port = loop::free_ports(1)->front();
    Server server(loop, said);
    server.open(port);
    const auto test = [](loop::Loop& on, std::uint16_t at) -> loop::Task<> {
      Args hosts{"127.0.0.1"};
      const Result<void> done =
          co_await wait_for_ssh(on, std::move(hosts), at, Clock::now() + 300ms);
      REQUIRE_FALSE(done);
      CHECK(done.error().code == Errc::timeout);
      const std::string& text = done.error().text;
      CHECK((text.find("responded with \"") != std::string::npos ||
             text.find("closed immediately") != std::string::npos));
      CHECK(text.find('\33') == std::string::npos);
    };
    loop::run_task(loop, test(loop, port));
  }
}

TEST_CASE("ssh: hosts whose server does not answer are named at the deadline, with the reason") {
  loop::Loop loop;
  const std::uint16_t port = loop::free_ports(1)->front();
  const auto test = [](loop::Loop& on, std::uint16_t at) -> loop::Task<> {
    Args hosts{"127.0.0.1"};
    const Result<void> done = co_await wait_for_ssh(on, std::move(hosts), at, Clock::now() + 300ms);
    REQUIRE_FALSE(done);
    CHECK(done.error().code == Errc::timeout);
    CHECK(done.error().text.starts_with("no SSH server responds on port " + std::to_string(at) +
                                        " of 127.0.0.1 ("));
    CHECK(done.error().text.find("refused") != std::string::npos);
  };
  loop::run_task(loop, test(loop, port));
}

}  // namespace
}  // namespace muster::calls
