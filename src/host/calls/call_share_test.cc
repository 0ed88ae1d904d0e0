#include "host/calls/call_share.h"

#include <doctest/doctest.h>

#include "host/calls/testing.h"

namespace muster::calls {
namespace {

struct Bench : OneHost {
  Bench() : OneHost("algo-1", "algo-1", {"algo-1"}) {}
  /// Begins the share, and keeps its reports.
  void begin(const launch::Call& call) {
    ShareEnds ends;
    ends.lines = [](job::Lines) -> loop::Task<> { co_return; };
    ends.ended = [this](const job::Verdict& verdict) { ended.push_back(verdict); };
    ends.done = [this] { ++done; };
    begin_share(shared, call, std::move(ends));
  }
  HostContext shared = context();
  std::vector<job::Verdict> ended;
  int done = 0;
};

TEST_CASE_FIXTURE(Bench, "share: one in which nothing decides is done at once") {
  launch::Call call = direct_call({"algo-1"}, "exit 0");
  call.programs[0].decides = false;
  begin(call);
  CHECK(done == 1);
  loop::run_task(loop, until([this] { return ended.size() == 1; }));
  CHECK(done == 1);
}

TEST_CASE_FIXTURE(Bench, "share: it is done when the last of those that decide has ended") {
  launch::Call call = direct_call({"algo-1"}, "exit 0");
  call.programs.push_back({"rank 1", 1, shell("exit 0"), true});
  call.programs.push_back({"ps 0", 2, shell("sleep 1000"), false});
  begin(call);
  CHECK(done == 0);
  loop::run_task(loop, until([this] { return done == 1; }));
  CHECK(ended.size() == 2);
  loop::run_task(loop, host_run.finish(Duration()));
  CHECK(done == 1);
}

TEST_CASE_FIXTURE(Bench,
                  "share: in a stop it is done when those that do not decide have ended too") {
  launch::Call call = direct_call({"algo-1"}, "exit 0");
  call.programs.push_back({"ps 0", 1, shell("sleep 1000"), false});
  begin(call);
  loop::run_task(loop, until([this] { return done == 1; }));
  CHECK(ended.size() == 1);
  host_run.stop(std::chrono::hours(1));
  loop::run_task(loop, until([this] { return done == 2; }));
  CHECK(ended.size() == 2);
}

TEST_CASE_FIXTURE(Bench,
                  "share: an ssh server that cannot start is reported like a program that failed") {
  launch::Call call;
  call.name = "mpirun";
  call.hosts = {"algo-1"};
  call.by_ssh = true;
  begin(call);  // The host has no socket that the server could hand on.
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].process == "sshd");
  CHECK(ended[0].host == "algo-1");
  CHECK(ended[0].outcome.kind == job::Outcome::Kind::failed);
}

}  // namespace
}  // namespace muster::calls
