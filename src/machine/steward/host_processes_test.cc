#include "machine/steward/host_processes.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using namespace muster;
using steward::HostProcesses;
using steward::ProcessOwner;

namespace {

/// A process that does nothing until this object ends.
struct Idle {
  Idle() : pid(::fork()) {
    REQUIRE(pid >= 0);
    if (pid == 0)
      while (true) ::pause();
  }
  void end() {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    ended = true;
  }
  ~Idle() {
    if (!ended) end();
  }

  pid_t pid;
  bool ended = false;
};

}  // namespace

TEST_CASE("host processes: a noted program is its rank's, also after its end") {
  Idle rank, other;
  HostProcesses host(::getpid());
  host.note(3, rank.pid);
  CHECK(host.owner_of(rank.pid) == ProcessOwner{ProcessOwner::Kind::host, -1});  // Not found yet.
  CHECK_FALSE(host.knows(3));
  host.look();
  CHECK(host.knows(3));
  CHECK(host.owner_of(rank.pid) == ProcessOwner{ProcessOwner::Kind::host, 3});
  CHECK(host.owner_of(other.pid) == ProcessOwner{ProcessOwner::Kind::host, -1});
  rank.end();
  other.end();
  CHECK(host.owner_of(rank.pid) == ProcessOwner{ProcessOwner::Kind::host, 3});
  CHECK(host.name_of(rank.pid) == "rank 3");
  CHECK(host.owner_of(other.pid) == ProcessOwner{});
}

TEST_CASE("host processes: a host's word names no process of another host") {
  Idle own, others;
  HostProcesses host(own.pid);
  host.note(0, others.pid);
  host.look();
  CHECK(host.owner_of(others.pid) == ProcessOwner{ProcessOwner::Kind::outside, -1});
  for (int pid = 1; pid < 100'000; ++pid) host.note(0, pid);  // As a hostile host may send.
  host.look();
  CHECK_FALSE(host.knows(0));
}

TEST_CASE("host processes: processes are named by what they are to the host") {
  const std::string own = std::to_string(::getpid());
  CHECK(HostProcesses(::getppid()).name_of(::getpid()) == "process " + own + " of the host");
  CHECK(HostProcesses(::getpid()).name_of(::getppid()) ==
        "process " + std::to_string(::getppid()) + " outside the job");
  CHECK(HostProcesses(::getpid()).name_of(4194304) == "process 4194304");
}
