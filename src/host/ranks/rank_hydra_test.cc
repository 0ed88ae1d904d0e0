#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/text.h"
#include "host/ranks/rank_testing.h"

using namespace muster;
using namespace muster::ranks;

namespace {

/// Rank 3 of hydra with a daemon that speaks PMI to it.
struct HydraRank {
  HydraRank(Host& host, Args argv) {
    host.run.command.argv = std::move(argv);
    auto [ours, theirs] = *make_socket_pair();
    daemon = std::move(ours);
    Fd inherited(::fcntl(theirs.get(), F_DUPFD, 17));  // As hydra's: not close-on-exec.
    REQUIRE(inherited);
    number = std::to_string(inherited.get());
    host.start_with(
        3, {{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"MPI_LOCALRANKID", "1"}, {"PMI_FD", number}},
        STDERR_FILENO, inherited.get());
  }
  Fd daemon;
  std::string number;
};

/// A Python program that has `pmi`, the socket of PMI_FD.
Args pmi_program(const std::string& text) {
  return {"python3", "-c",
          "import os, socket, sys\npmi = socket.socket(fileno=int(os.environ['PMI_FD']))\n" + text};
}

}  // namespace

TEST_CASE("rank: hydra's rank is known, and its program speaks with the daemon through PMI_FD") {
  Host host;
  HydraRank rank(host, pmi_program("pmi.send(b'cmd=init\\n'); print(pmi.recv(99));"
                                   "print(sorted(int(fd) for fd in os.listdir('/proc/self/fd')))"));
  loop::run_task(host.loop, host.until([&host] { return !host.started.empty(); }), guard);
  CHECK(read_until(rank.daemon, "\n") == "cmd=init\n");
  REQUIRE(write_all(rank.daemon.get(), "cmd=response_to_init\n"));
  loop::run_task(host.loop, host.until_ended(3), guard);
  CHECK(host.hellos.at(0).rank == 3);
  CHECK(host.hellos.at(0).local_rank == 1);
  CHECK(host.out(3) ==
        "b'cmd=response_to_init\\n'\n[0, 1, 2, 3, " + rank.number + "]\n");  // listdir's is 3.
  CHECK(host.ends[3] == std::vector{Outcome::exited(0)});
  host.socket->close_launcher_channels();
  CHECK(read_to_end(rank.daemon).empty());
}

TEST_CASE("rank: MPI_Abort under hydra is the rank's own exit, and the daemon never hears of it") {
  Host host;
  HydraRank rank(host, pmi_program("pmi.send(b'cmd=put\\ncmd=abort exitcode=42\\n')\n"
                                   "pmi.recv(99)"));
  loop::run_task(host.loop, host.until_ended(3), guard);
  CHECK(host.ends[3] == std::vector{Outcome::exited(42)});
  CHECK(host.exits.at(3) == Outcome::exited(42));
  host.socket->close_launcher_channels();
  CHECK(read_to_end(rank.daemon) == "cmd=put\n");
}

TEST_CASE("rank: hydra's daemon sees no end of a rank's channel before its launcher is gone") {
  Host host;
  HydraRank rank(host, pmi_program("pmi.send(b'cmd=finalize\\n'); pmi.close()"));
  loop::run_task(host.loop, host.until_ended(3), guard);
  CHECK(read_until(rank.daemon, "\n") == "cmd=finalize\n");
  char byte = 0;
  CHECK(::recv(rank.daemon.get(), &byte, 1, MSG_DONTWAIT) < 0);
  CHECK(errno == EAGAIN);
  host.socket->close_launcher_channels();
  CHECK(read_to_end(rank.daemon).empty());
}

TEST_CASE("rank: the program, not the relay, reacts to a hydra daemon that disappears") {
  Host host;
  HydraRank rank(host, pmi_program("print('end' if pmi.recv(99) == b'' else 'more'); sys.exit(5)"));
  rank.daemon.reset();
  loop::run_task(host.loop, host.until_ended(3), guard);
  CHECK(host.out(3) == "end\n");
  CHECK(host.ends[3] == std::vector{Outcome::exited(5)});
}

TEST_CASE("rank: a PMI_FD that is not open or not a number is not used as a channel") {
  for (const char* value : {"", "x", "-1", "0", "2", "999", "4294967299"}) {
    CAPTURE(value);
    Host host;
    host.run.command.argv = shell("ls /proc/self/fd");
    host.start(0, {{"PMI_FD", value}});
    loop::run_task(host.loop, host.until_ended(0), guard);
    CHECK(split_words(host.out(0)) == Args{"0", "1", "2", "3"});
  }
}
