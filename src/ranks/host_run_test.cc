#include "ranks/host_run.h"

#include <doctest/doctest.h>

#include <csignal>
#include <string_view>

#include "ranks/rank_testing.h"

namespace muster::ranks {
namespace {

using namespace std::chrono_literals;

/// A host whose ranks come as a launcher starts them.
struct Bench {
  Bench() { REQUIRE(host_run.listen({})); }

  void begin_call(const std::string& script) {
    launch::RankRun run;
    run.command = {shell(script), {{"PATH", "/usr/bin:/bin"}}, "/"};
    const HostRun::Sink sink = [this](job::Lines lines) -> loop::Task<> {
      text += lines.bytes;
      moved.notify();
      co_return;
    };
    host_run.begin_call(std::move(run), sink, [this](const job::Verdict& verdict) {
      ends[verdict.rank] = verdict.outcome;
      moved.notify();
    });
  }
  void start_rank(int rank) {
    Env env = {{"OMPI_COMM_WORLD_RANK", std::to_string(rank)},
               {"OMPI_COMM_WORLD_LOCAL_RANK", "0"},
               {"MUSTER_SOCKET", host_run.socket_path()}};
    reaper.watch(fork_entry([&env] { return rank_main({}, env); }, STDERR_FILENO, 2),
                 [](const Outcome&) {});
  }
  loop::Task<> until_ends(std::size_t count) {
    while (ends.size() < count) co_await moved.wait();
  }
  loop::Task<> until_said(std::string_view words) {
    while (text.find(words) == std::string::npos) co_await moved.wait();
  }

  loop::Loop loop;
  supervise::Reaper reaper{loop};
  loop::Event moved{loop};
  Log log{STDERR_FILENO, "test", Log::Level::error};
  HostRun host_run{loop, reaper, "localhost", log};
  std::string text;
  std::map<int, Outcome> ends;
};

TEST_CASE_FIXTURE(Bench, "host run: a rank that comes after a stop is stopped like those before") {
  const auto story = [](Bench& b) -> loop::Task<> {
    b.begin_call("echo runs; sleep 1000");
    b.start_rank(0);
    co_await b.until_said("runs");
    b.host_run.stop(SIGTERM, 20s);
    co_await b.until_ends(1);
    b.start_rank(1);  // Nobody runs any more; the stop still holds.
    co_await b.until_ends(2);
  };
  loop::run_task(loop, story(*this), guard);
  CHECK(ends[0] == Outcome::signaled(SIGTERM));
  CHECK(ends[1] == Outcome::signaled(SIGTERM));
}

TEST_CASE_FIXTURE(Bench, "host run: a rank that comes after a stop's grace is killed") {
  const auto story = [](Bench& b) -> loop::Task<> {
    b.begin_call("trap '' TERM; sleep 1000");
    b.host_run.stop(SIGTERM, 0s);
    b.start_rank(0);
    co_await b.until_ends(1);
  };
  loop::run_task(loop, story(*this), guard);
  CHECK(ends[0] == Outcome::signaled(SIGKILL));
}

}  // namespace
}  // namespace muster::ranks
