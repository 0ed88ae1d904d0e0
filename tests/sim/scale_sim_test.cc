// A thousand hosts: more than one machine holds, so only the state machines are real.

#include <doctest/doctest.h>

#include <csignal>

#include "call_world.h"

using namespace muster;
using namespace std::chrono_literals;
using launch::Call;
using sim::CallPlan;
using sim::CallWorld;
using sim::Fault;

namespace {

constexpr std::size_t hosts = 1000;
constexpr Duration job_max = 5min;  ///< By the simulation clock.

CallPlan large_job() {
  CallPlan plan;
  plan.hosts = hosts;
  plan.taking_part = hosts;
  plan.steps = {{Call::Kind::exchange, 0s}, {Call::Kind::mpi, 2s}};
  plan.prompt = true;
  return plan;
}

void check_all_ended(CallWorld& run) {
  std::size_t alive = 0;
  for (std::size_t host = 0; host < hosts; ++host) alive += run.world().alive(host) ? 1 : 0;
  CHECK(alive == 0);
  CHECK(run.wrong().empty());
}

}  // namespace

TEST_CASE("sim: a thousand hosts gather, exchange what they have, run ranks and end") {
  CallWorld run(1, large_job());
  run.run(job_max);
  check_all_ended(run);
  CHECK(run.answers().size() == 2 * hosts);
  for (const sim::Answered& answer : run.answers()) {
    if (!answer.result.verdict.success()) FAIL(answer.result.verdict.outcome.text);
    if (answer.name == "call-0") CHECK(answer.result.data.size() == hosts);
  }
  REQUIRE(run.world().verdict());
  CHECK(run.world().verdict()->success());
}

TEST_CASE("sim: one rank of a thousand hosts crashes, and every host learns which") {
  CallPlan plan = large_job();
  plan.fault = Fault::rank_crashes;
  plan.victim = 700;
  plan.step = 1;
  plan.fault_after = 500ms;
  CallWorld run(2, plan);
  run.run(job_max);
  check_all_ended(run);
  REQUIRE(run.world().verdict());
  CHECK(run.world().verdict()->outcome == job::Outcome::signaled(SIGSEGV));
  CHECK(run.world().verdict()->host == run.name_of(plan.victim));
}
