#include <doctest/doctest.h>

#include "job/wire/stacks.h"
#include "platform/test_run.h"

namespace muster::platform {
namespace {

using job::Outcome;
using job::Phase;

job::HostStacks one_rank() {
  job::HostStacks host;
  host.host = "algo-1";
  job::ProcessStacks& process = host.processes.emplace_back();
  process.pid = 7;
  process.rank = 0;
  return host;
}

TEST_CASE("job run: a job that hangs is marked until its next line, and its log says so") {
  RunBench bench(1);
  bench.options.hang_after = 1s;
  engine::FakeHost& host = bench.host("algo-1");
  host.stacks = one_rank();
  host.phase(Phase::downloading).phase(Phase::training).says(0, "begun\n");
  const std::string verdict = "the job hangs: no output and no progress for 1 s";
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("[" + verdict + "];");
    CHECK(bench.sink.stands->noticed >= bench.sink.stands->since + 1s);
    CHECK(bench.sink.text.find("moves;") == std::string::npos);
    host.says(0, "on it goes\n");
    co_await bench.sink.until("moves;");
    const std::string& asked = bench.job().asked;
    CHECK(asked.find("note algo-1 " + verdict + ";") != std::string::npos);
    CHECK(asked.find("note algo-1 the job no longer hangs: it printed a line after ") !=
          std::string::npos);
    host.outcome(Outcome::exited(0)).ends();
  });
  CHECK(bench.sink.text.find("Training(beside);[") != std::string::npos);
  CHECK(!bench.sink.stands);
}

TEST_CASE("job run: a job that is stopped while it hangs does not go on") {
  RunBench bench(1);
  bench.options.hang_after = 1s;
  engine::FakeHost& host = bench.host("algo-1");
  host.stacks = one_rank();
  host.phase(Phase::training);
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("[the job hangs");
    bench.requests.stop();
    host.says(0, "caught SIGTERM\n");
    co_await bench.sink.until("caught");
    CHECK(bench.job().asked.find("no longer hangs") == std::string::npos);
  });
  CHECK(!bench.sink.stands);
}

TEST_CASE("job run: a job without watchers counts as silent after a while, until its next line") {
  RunBench bench(1);
  bench.options.silent_after = platform::silent_after;  // In the engine's time it is 1970.
  engine::FakeHost& host = bench.host("algo-1");
  host.phase(Phase::downloading).phase(Phase::training);
  bench.run([&]() -> loop::Task<> {
    co_await bench.sink.until("silent;");
    CHECK(bench.sink.stands->since == bench.cluster.wall());
    host.says(0, "here\n");
    co_await bench.sink.until("moves;");
    host.outcome(Outcome::exited(0)).ends();
  });
  CHECK(!bench.sink.stands);
  CHECK(bench.report.end.status == JobEnd::Status::completed);
}

}  // namespace
}  // namespace muster::platform
