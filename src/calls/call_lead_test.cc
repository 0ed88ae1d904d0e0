#include "calls/call_lead.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "base/fd.h"
#include "calls/conduct.h"
#include "loop/testing.h"

namespace muster::calls {
namespace {

constexpr Duration guard = std::chrono::seconds(30);

job::Training training_of(const std::string& host) {
  job::Training training;
  training.current_host = host;
  training.hosts = {host};
  return training;
}

/// The leader of a job of one host.
struct Leader {
  Leader() { REQUIRE(host_run.listen({})); }
  Leader(const Leader&) = delete;
  Leader& operator=(const Leader&) = delete;
  ~Leader() { std::filesystem::remove_all(folder); }

  /// Makes the call and waits for its answer.
  job::Verdict ask(const launch::Call& call) {
    std::optional<job::Verdict> verdict;
    const auto make = [&](const launch::CallResult& result) {
      verdict = result.verdict;
      answered.notify();
    };
    REQUIRE(calls.call(call, make, false));
    const auto wait = [](Leader& self, std::optional<job::Verdict>& end) -> loop::Task<> {
      const TimePoint until = Clock::now() + guard;
      while (!end && Clock::now() < until) co_await self.answered.wait_until(until);
    };
    loop::run_task(loop, wait(*this, verdict), 2 * guard);
    REQUIRE(verdict);
    return *verdict;
  }
  /// A program that leaves what is known of its signals in `name`.
  Command tells(const std::string& name) const {
    const std::string line = "grep SigIgn /proc/self/status > " + folder + "/" + name;
    return {{"sh", "-c", line}, {{"PATH", "/usr/bin:/bin"}}, "/"};
  }
  std::string told(const std::string& name) const { return *read_file(folder + "/" + name); }

  loop::Loop loop;
  supervise::Reaper reaper{loop};
  Log log{2, "test", Log::Level::error};
  std::string folder = *make_private_folder("/tmp", "muster-calls-");
  job::Training training = training_of("algo-1");
  env::TrainOptions options{};
  ranks::HostRun host_run{loop, reaper, "algo-1", log};
  Output output{loop, std::nullopt};
  HostContext context{loop, training, options, "", host_run, output, log, {}, true, ""};
  CallLead calls{context, [](const std::string&, job::Message, std::string_view) {}};
  loop::Event answered{loop};
};

TEST_CASE_FIXTURE(Leader, "call: its launcher ignores SIGPIPE, the users' programs do not") {
  launch::Call mpi;
  mpi.name = "mpirun";
  mpi.hosts = {"algo-1"};
  mpi.rank.command = tells("rank");
  mpi.launcher = tells("launcher");
  CHECK(ask(mpi).success());
  CHECK(told("launcher") == "SigIgn:\t0000000000001000\n");
  launch::Call direct;
  direct.name = "run";
  direct.hosts = {"algo-1"};
  direct.kind = launch::Call::Kind::direct;
  direct.programs.push_back({"sh", 0, tells("program"), true});
  CHECK(ask(direct).success());
  CHECK(told("program") == "SigIgn:\t0000000000000000\n");
}

TEST_CASE_FIXTURE(Leader,
                  "call: a program that cannot start is the answer, and the next call runs") {
  launch::Call call;
  call.name = "run";
  call.hosts = {"algo-1"};
  call.kind = launch::Call::Kind::direct;
  call.programs.push_back({"none", 0, {{"/none"}, {}, "/"}, true});
  const job::Verdict verdict = ask(call);
  CHECK(verdict.process == "none");
  CHECK(verdict.outcome.kind == job::Outcome::Kind::failed);
  CHECK(calls.last_failure() == verdict);
  call.programs[0].command = tells("program");
  CHECK(ask(call).success());
  CHECK(!calls.last_failure());
}

TEST_CASE_FIXTURE(Leader, "call: a launcher that is not there fails it in one line") {
  launch::Call call;
  call.name = "mpirun train.py";
  call.hosts = {"algo-1"};
  call.rank.command = tells("rank");
  CHECK(ask(call).outcome.text == "mpirun train.py has no launcher on algo-1");
  call.launcher = Command{{"/none/mpirun"}, {}, "/"};
  CHECK(ask(call).outcome.kind == job::Outcome::Kind::failed);
}

TEST_CASE_FIXTURE(Leader, "call: a daemon is refused where no launcher runs, in one line") {
  std::string refused;
  ranks::AgentCall agent;
  agent.host = "algo-1";
  agent.reply = [&](int code, const std::string& error) {
    refused = std::to_string(code) + " " + error;
  };
  calls.agent(std::move(agent));
  CHECK(refused == "1 no launch is under way");
}

}  // namespace
}  // namespace muster::calls
