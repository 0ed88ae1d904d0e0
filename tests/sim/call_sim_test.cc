// Whole jobs of collective calls from a seed: the real CallCourse, programs and sessions of ours.

#include <doctest/doctest.h>

#include <csignal>

#include "base/text.h"
#include "call_world.h"
#include "seeds.h"

using namespace muster;
using namespace std::chrono_literals;
using job::Outcome;
using sim::CallPlan;
using sim::CallWorld;
using sim::Fault;

namespace {

constexpr Duration job_max = 20min;  ///< Five steps of 40 s late and 20 s of work are far from it.

/// What holds of every job, whatever happened in it.
void check_always(CallWorld& run) {
  CAPTURE(join(run.wrong(), "\n"));
  CAPTURE(static_cast<int>(run.plan().fault));
  CAPTURE(run.plan().victim);
  CAPTURE(run.plan().step);
  CHECK(run.wrong().empty());
  // No host goes on for ever: all ended, by the job's end or their own.
  for (std::size_t host = 0; host < run.plan().hosts; ++host)
    if (run.world().alive(host)) FAIL_CHECK(run.name_of(host) << " did not come to an end");
}

CallPlan plan_with(std::mt19937_64& random, Fault fault) {
  CallPlan plan = sim::call_plan(random);
  while (plan.fault != fault) plan = sim::call_plan(random);
  plan.stop_after.reset();
  return plan;
}

}  // namespace

TEST_CASE("sim: calls with any fault, stop or loss keep every promise and end") {
  for (const std::uint64_t seed : sim::seeds(300)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    CallPlan plan = sim::call_plan(random);
    plan.noise = seed % 2 == 0;
    CallWorld run(seed, plan);
    run.run(job_max);
    check_always(run);
    if (sim::is_of_host(plan.fault) && plan.victim == 0)
      continue;  // The verdict went with the leader.
    REQUIRE(run.world().verdict());
    const job::Verdict& verdict = *run.world().verdict();
    const bool lost = verdict.outcome.kind == Outcome::Kind::lost;
    const bool may_be_lost = sim::is_of_host(plan.fault) || !run.world().broken_at_start().empty();
    CHECK((may_be_lost || !lost));
    for (const sim::Answered& answer : run.answers()) {
      const std::string& why = answer.result.verdict.outcome.text;
      if (plan.fault == Fault::killed_late && !plan.stop_after)
        CHECK(why.find("stopped before its call") == std::string::npos);
    }
    // Who was not answered was ended by the job's end.
    CHECK(run.answers().size() <= run.calls_made());
    if (plan.carries_on && !plan.stop_after && !lost)
      CHECK(run.answers().size() == run.calls_made());
  }
}

TEST_CASE("sim: undisturbed calls succeed on every host, however late each host is") {
  for (const std::uint64_t seed : sim::seeds(300)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const CallPlan plan = plan_with(random, Fault::none);
    CallWorld run(seed, plan);
    run.run(job_max);
    check_always(run);
    CHECK(run.answers().size() == plan.taking_part * plan.steps.size());
    for (const sim::Answered& answer : run.answers()) CHECK(answer.result.verdict.success());
    REQUIRE(run.world().verdict());
    CHECK(run.world().verdict()->success());
  }
}

TEST_CASE("sim: after a failed call every host gets the first cause, and so does its job") {
  const Fault faults[] = {Fault::rank_crashes, Fault::rank_exits, Fault::launcher_exits};
  for (const std::uint64_t seed : sim::seeds(300)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const Fault fault = faults[seed % 3];
    CallPlan plan = plan_with(random, fault);
    const bool launcher = fault == Fault::launcher_exits;
    if (launcher) plan.victim = 0;
    plan.steps[plan.step].kind =
        launcher || seed % 2 == 0 ? launch::Call::Kind::mpi : launch::Call::Kind::direct;
    CallWorld run(seed, plan);
    run.run(job_max);
    check_always(run);
    const Outcome want = fault == Fault::rank_crashes ? Outcome::signaled(SIGSEGV)
                                                      : Outcome::exited(launcher ? 3 : 7);
    std::size_t told = 0;
    for (const sim::Answered& answer : run.answers()) {
      const job::Verdict& verdict = answer.result.verdict;
      const bool broken = answer.name == "call-" + std::to_string(plan.step);
      told += broken ? 1 : 0;
      CHECK(verdict.outcome == (broken ? want : Outcome::exited(0)));
      if (broken) CHECK(verdict.host == run.name_of(plan.victim));
    }
    CHECK(told == plan.taking_part);
    REQUIRE(run.world().verdict());
    CHECK(run.world().verdict()->outcome == (plan.carries_on ? Outcome::exited(0) : want));
  }
}

TEST_CASE("sim: a call that cannot happen names the host at fault, to every host that made it") {
  const struct {
    Fault fault;
    const char* why;
  } cases[] = {
      {Fault::other_digest, "every host must make the same call"},
      {Fault::never_calls, "exited without calling"},
      {Fault::caller_killed, "stopped before its call"},
      {Fault::outsider_calls, "does not take part in the distribution"},
  };
  for (const std::uint64_t seed : sim::seeds(300)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const auto& c = cases[seed % 4];
    CAPTURE(c.why);
    CallPlan plan = plan_with(random, c.fault);
    plan.carries_on = false;
    if (plan.taking_part == 1 && c.fault != Fault::outsider_calls) continue;
    CallWorld run(seed, plan);
    run.run(job_max);
    check_always(run);
    REQUIRE(run.world().verdict());
    std::size_t failed = 0;
    for (const sim::Answered& answer : run.answers()) {
      const job::Verdict& verdict = answer.result.verdict;
      if (verdict.success()) continue;
      ++failed;
      // An outsider that calls when the leader's program is over waits for that one.
      const bool too_late = verdict.outcome.text.find("exited without") != std::string::npos;
      if (c.fault == Fault::outsider_calls && too_late) continue;
      CHECK(verdict.outcome.text.find(c.why) != std::string::npos);
      // The leader's call is what others are compared with.
      if (c.fault != Fault::other_digest || plan.victim != 0)
        CHECK(verdict.host == run.name_of(plan.victim));
    }
    if (c.fault != Fault::caller_killed && c.fault != Fault::outsider_calls) CHECK(failed > 0);
  }
}

TEST_CASE("sim: a host that is lost in the middle of its calls is the job's verdict") {
  for (const std::uint64_t seed : sim::seeds(300)) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    CallPlan plan = plan_with(random, seed % 2 == 0 ? Fault::host_dies : Fault::host_is_cut_off);
    plan.victim = plan.hosts - 1;
    plan.steps.assign(1, {launch::Call::Kind::direct, 60s});
    CallWorld run(seed, plan);
    run.run(job_max);
    check_always(run);
    REQUIRE(run.world().verdict());
    if (plan.taking_part < plan.hosts) continue;  // The victim may have ended before it was lost.
    CHECK(run.world().verdict()->host == run.name_of(plan.victim));
    CHECK(run.world().verdict()->outcome.kind == Outcome::Kind::lost);
  }
}

TEST_CASE("sim: the same seed gives the same calls") {
  std::vector<std::size_t> runs;
  for (int i = 0; i < 2; ++i) {
    std::mt19937_64 random(11);
    CallPlan plan = plan_with(random, Fault::none);
    plan.late = true;
    CallWorld run(11, plan);
    run.run(job_max);
    runs.push_back(run.said());
    runs.push_back(run.answers().size());
  }
  CHECK(runs[0] == runs[2]);
  CHECK(runs[1] == runs[3]);
}
