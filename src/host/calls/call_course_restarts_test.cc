// Ranks that their launcher starts again.

#include <doctest/doctest.h>

#include <csignal>
#include <functional>

#include "host/calls/call_course_testing.h"

namespace muster::calls {
namespace {

TEST_CASE_FIXTURE(Course, "call course: no host has so many ranks, and they are not remembered") {
  run(Call::Kind::direct);
  for (int i = 1; i < 100; ++i) {
    course.ended(end_of("algo-2", Outcome::exited(1), 1'000'000 + i), now);
    course.ended(end_of("algo-2", Outcome::exited(0), 1'000'000 + i), now);
  }
  now += seconds(6);
  course.step(now);
  CHECK(course.take_actions().empty());
}

TEST_CASE_FIXTURE(Course, "call course: a rank that its launcher starts again ends nothing") {
  const auto fails = [this](const std::string& host, int rank, bool again, bool blames = false) {
    job::Verdict verdict = end_of(host, Outcome::exited(rank + 10), rank);
    verdict.blames_peer = blames;
    if (again)
      course.restarts(verdict, now);
    else
      course.ended(verdict, now);
  };
  struct {
    const char* name;
    std::function<void()> story;
    int code;  ///< The call's; -1: it goes on.
  } const cases[] = {
      {"all of them", [&] { fails("algo-1", 0, true), fails("algo-2", 1, true); }, -1},
      {"until one is started no more", [&] { fails("algo-1", 0, true), fails("algo-2", 1, false); },
       11},
      {"the cause of another's last failure",
       [&] { fails("algo-1", 0, true), fails("algo-2", 1, false, true); }, 10},
      {"which was long ago",
       [&] {
         fails("algo-1", 0, true);
         now += seconds(6);
         fails("algo-2", 1, false, true);
       },
       11},
      {"and its launcher gives up", [&] { fails("algo-2", 1, true), fails("algo-2", -1, false); },
       11},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Course fresh;
    std::swap(course, fresh.course);
    run(Call::Kind::direct);
    c.story();
    now += seconds(6);
    course.step(now);
    const std::vector<Action> actions = course.take_actions();
    REQUIRE(actions.empty() == (c.code < 0));
    if (c.code < 0) continue;
    course.drained("algo-1");
    course.drained("algo-2");
    CHECK(only().result.verdict.outcome == Outcome::exited(c.code));
  }
}

TEST_CASE("call: at most 64 ranks that restart are remembered as the cause of a later failure") {
  for (const int others : {63, 64, 1000}) {
    CAPTURE(others);
    Course world;
    world.run(Call::Kind::direct);
    const auto restarts = [&](int rank, Outcome outcome, bool blames) {
      job::Verdict verdict = end_of("algo-1", std::move(outcome), rank);
      verdict.blames_peer = blames;
      world.course.restarts(std::move(verdict), world.now);
    };
    for (int rank = 0; rank < others; ++rank) restarts(rank, Outcome::exited(1), true);
    restarts(others, Outcome::exited(10), false);
    job::Verdict last = end_of("algo-2", Outcome::exited(11), 0);
    last.blames_peer = true;
    world.course.ended(std::move(last), world.now);
    world.step_to(seconds(6));
    static_cast<void>(world.course.take_actions());
    world.course.drained("algo-1");
    world.course.drained("algo-2");
    const job::Verdict verdict = world.only().result.verdict;
    CHECK((verdict.outcome == Outcome::exited(10)) == (others < 64));
  }
}

TEST_CASE("call course: a restart is the cause of a later failure of the call that it is part of") {
  const auto verdict_of = [](const std::string& host, int code, bool blames) {
    job::Verdict verdict = end_of(host, Outcome::exited(code), code - 10);
    verdict.blames_peer = blames;
    return verdict;
  };
  enum class When { before_it_runs, after };
  const struct {
    const char* name;
    When when;
    std::function<void(Course&, job::Verdict)> restarts;
    const char* host;
    int code;
  } cases[] = {
      {"before it runs", When::before_it_runs,
       [](Course& c, job::Verdict v) { c.course.restarts(std::move(v), c.now); }, "algo-1", 11},
      {"on a host that has not called", When::after,
       [](Course& c, job::Verdict v) { c.course.restarts(std::move(v), c.now); }, "algo-9", 11},
      {"in this host's share", When::after,
       [](Course& c, job::Verdict v) { c.course.restarts_here(1, std::move(v), c.now); }, "algo-1",
       10},
      {"in its share of another call", When::after,
       [](Course& c, job::Verdict v) { c.course.restarts_here(2, std::move(v), c.now); }, "algo-1",
       11},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Course each;
    each.leader_calls(call_of(Call::Kind::direct, {"algo-1", "algo-2"}));
    if (c.when == When::before_it_runs) c.restarts(each, verdict_of(c.host, 10, false));
    each.member_calls("algo-2");
    if (c.when == When::after) c.restarts(each, verdict_of(c.host, 10, false));
    each.course.ended(verdict_of("algo-2", 11, true), each.now);
    each.step_to(seconds(6));
    static_cast<void>(each.course.take_actions());
    each.course.drained("algo-1");
    each.course.drained("algo-2");
    CHECK(each.only().result.verdict.outcome == Outcome::exited(c.code));
  }
}

TEST_CASE_FIXTURE(Course, "call course: a rank that restarts again is remembered by its last end") {
  run(Call::Kind::direct);
  job::Verdict blames = end_of("algo-1", Outcome::exited(1));
  blames.blames_peer = true;
  for (blames.rank = 0; blames.rank < 64; ++blames.rank) course.restarts(blames, now);
  course.restarts(end_of("algo-1", Outcome::exited(10), 63), now);
  blames.host = "algo-2";
  course.ended(blames, now);
  step_to(seconds(6));
  static_cast<void>(course.take_actions());
  course.drained("algo-1");
  course.drained("algo-2");
  CHECK(only().result.verdict.outcome == Outcome::exited(10));
}

}  // namespace
}  // namespace muster::calls
