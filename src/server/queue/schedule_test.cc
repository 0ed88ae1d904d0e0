#include "server/queue/schedule.h"

#include <doctest/doctest.h>

namespace muster::jobs {
namespace {

using std::chrono::minutes;
using Names = std::vector<std::string>;

constexpr UnixMillis now = std::chrono::hours(1000);

Demand job(const char* name, Amounts needs, minutes length = minutes(60)) {
  return {.job = name, .needs = std::move(needs), .length = length};
}

/// Runs, and ends within `left`.
Running running(const char* name, Amounts needs, minutes left = minutes(30)) {
  return {job(name, std::move(needs)), now - minutes(60) + left};
}

/// One look at all of them.
Plan plan(const Amounts& capacity, const std::vector<Running>& running,
          const std::vector<Demand>& waiting) {
  Pass::Runs runs;
  Amounts held;
  for (const Running& each : running) {
    add(held, each.demand.needs, 1);
    runs.emplace(static_cast<std::int64_t>(runs.size()), each);
  }
  Pass pass(capacity, runs, held, now);
  for (const Demand& each : waiting) pass.look_at(each);
  return pass.plan();
}

struct Case {
  const char* name;
  Amounts capacity;
  std::vector<Running> running;
  std::vector<Demand> waiting;
  Names want;
};

void check_starts(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.name);
    CHECK(plan(c.capacity, c.running, c.waiting).start == c.want);
  }
}

TEST_CASE("schedule: in their order, a gang starts whole or not at all") {
  check_starts({
      {"nobody waits", {{"cpu", 4}}, {}, {}, {}},
      {"all that fit",
       {{"cpu", 4}},
       {},
       {job("a", {{"cpu", 2}}), job("b", {{"cpu", 2}})},
       {"a", "b"}},
      {"no half gangs", {{"cpu", 4}}, {running("r", {{"cpu", 2}})}, {job("a", {{"cpu", 3}})}, {}},
      {"who wants something else passes by",
       {{"cpu", 4}, {"gpu", 1}},
       {running("r", {{"gpu", 1}})},
       {job("a", {{"gpu", 1}}), job("b", {{"cpu", 4}})},
       {"b"}},
      {"hosts of an instance type are an amount",
       {{"ml.c5.xlarge", 3}},
       {},
       {job("a", {{"ml.c5.xlarge", 3}}), job("b", {{"ml.c5.xlarge", 1}}), job("c", {{"local", 9}})},
       {"a", "c"}},
      {"more is held than there is since the config shrank",
       {{"cpu", 2}},
       {running("r", {{"cpu", 8}})},
       {job("a", {{"cpu", 1}}), job("b", {{"cpu", 0}})},
       {"b"}},
      {"what is larger than the machine holds up nobody",
       {{"cpu", 2}},
       {running("r", {{"cpu", 1}})},
       {job("a", {{"cpu", 3}}), job("b", {{"cpu", 1}})},
       {"b"}},
  });
}

TEST_CASE(
    "schedule: a job that passes a waiting one has ended by its start, or is not in its way") {
  const std::vector<Running> half{running("r", {{"cpu", 2}}, minutes(30))};
  const Demand big = job("big", {{"cpu", 4}});
  check_starts({
      {"too long", {{"cpu", 4}}, half, {big, job("b", {{"cpu", 1}}, minutes(31))}, {}},
      {"short enough", {{"cpu", 4}}, half, {big, job("b", {{"cpu", 1}}, minutes(30))}, {"b"}},
      {"long, and beside it there is room",
       {{"cpu", 5}},
       half,
       {big, job("b", {{"cpu", 1}}), job("c", {{"cpu", 1}})},
       {"b"}},
      {"a gang that waits for one thing keeps the other",
       {{"cpu", 4}, {"gpu", 1}},
       {running("r", {{"gpu", 1}})},
       {job("a", {{"gpu", 1}, {"cpu", 4}}), job("b", {{"cpu", 1}})},
       {}},
      {"nobody knows when the overdue end",
       {{"cpu", 4}},
       {running("r", {{"cpu", 2}}, minutes(-5))},
       {big, job("b", {{"cpu", 1}}, minutes(1))},
       {}},
      {"each kind of resource has a reservation",
       {{"cpu", 4}, {"gpu", 2}},
       {running("r", {{"cpu", 2}}), running("s", {{"gpu", 1}})},
       {big, job("gpus", {{"gpu", 2}}), job("one", {{"gpu", 1}}), job("free", {{"x", 1}})},
       {"free"}},
      {"what starts before it counts for the reservation",
       {{"cpu", 4}},
       {},
       {job("a", {{"cpu", 2}}, minutes(20)), big, job("b", {{"cpu", 1}}, minutes(21))},
       {"a"}},
  });
}

TEST_CASE("schedule: a reservation says when, after whom, and what is spare then") {
  const Plan made =
      plan({{"cpu", 8}},
           {running("late", {{"cpu", 3}}, minutes(50)), running("soon", {{"cpu", 3}}, minutes(10)),
            running("later", {{"cpu", 1}}, minutes(55))},
           {job("a", {{"cpu", 6}})});
  REQUIRE(made.reservations.size() == 1);
  const Reservation& got = made.reservations.front();
  CHECK(got.job == "a");
  CHECK(got.at == now + minutes(50));
  CHECK(got.after == "late");
  CHECK(got.spare == Amounts{{"cpu", 1}});
}

TEST_CASE("schedule: look_at() returns how long a job with the same needs may be") {
  const Amounts capacity{{"cpu", 4}};
  const Pass::Runs runs{{1, running("r", {{"cpu", 2}}, minutes(30))}};
  const Amounts held{{"cpu", 2}};
  Pass pass(capacity, runs, held, now);
  CHECK(pass.look_at(job("big", {{"cpu", 4}})) < UnixMillis(0));
  CHECK(pass.look_at(job("long", {{"cpu", 1}})) == minutes(30));
  CHECK(pass.look_at(job("brief", {{"cpu", 2}}, minutes(30))) == UnixMillis::max());
  CHECK(pass.look_at(job("late", {{"cpu", 1}}, minutes(1))) < UnixMillis(0));
  CHECK(pass.plan().start == Names{"brief"});
}

TEST_CASE("schedule: a job that can never run is found by the resources it exceeds") {
  Amounts needs;
  add(needs, {{"gpu", 4}, {"cpu", 8}}, 2);
  CHECK(beyond({{"gpu", 4}, {"cpu", 16}}, needs) == Names{"gpus: 8 requested, 4 available"});
  CHECK(beyond({{"gpu", 8}}, needs).empty());
  CHECK(beyond({{"cpu", 1500}, {"memory", std::int64_t{3} << 30}},
               {{"cpu", 4000}, {"memory", std::int64_t{4} << 30}}) ==
        Names{"cpus: 4 requested, 1.5 available", "memory_gib: 4 requested, 3 available"});
}

}  // namespace
}  // namespace muster::jobs
