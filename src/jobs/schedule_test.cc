#include "jobs/schedule.h"

#include <doctest/doctest.h>

namespace muster::jobs {
namespace {

using Names = std::vector<std::string>;

TEST_CASE("schedule: first in, first out, a gang starts whole or not at all") {
  struct {
    const char* name;
    Amounts capacity;
    std::vector<Demand> running;
    std::vector<Demand> waiting;
    Names want;
  } const cases[] = {
      {"nobody waits", {{"cpu", 4}}, {}, {}, {}},
      {"all that fit", {{"cpu", 4}}, {}, {{"a", {{"cpu", 2}}}, {"b", {{"cpu", 2}}}}, {"a", "b"}},
      {"no half gangs", {{"cpu", 4}}, {{"r", {{"cpu", 2}}}}, {{"a", {{"cpu", 3}}}}, {}},
      {"nobody overtakes who waits for the same",
       {{"cpu", 4}},
       {{"r", {{"cpu", 2}}}},
       {{"big", {{"cpu", 4}}}, {"small", {{"cpu", 1}}}},
       {}},
      {"who wants something else passes by",
       {{"cpu", 4}, {"gpu", 1}},
       {{"r", {{"gpu", 1}}}},
       {{"a", {{"gpu", 1}}}, {"b", {{"cpu", 4}}}},
       {"b"}},
      {"a gang that waits for one thing keeps the other",
       {{"cpu", 4}, {"gpu", 1}},
       {{"r", {{"gpu", 1}}}},
       {{"a", {{"gpu", 1}, {"cpu", 4}}}, {"b", {{"cpu", 1}}}},
       {}},
      {"hosts of an instance type are an amount",
       {{"ml.c5.xlarge", 3}},
       {},
       {{"a", {{"ml.c5.xlarge", 3}}}, {"b", {{"ml.c5.xlarge", 1}}}, {"c", {{"local", 9}}}},
       {"a", "c"}},
      {"more is held than there is since the config shrank",
       {{"cpu", 2}},
       {{"r", {{"cpu", 8}}}},
       {{"a", {{"cpu", 1}}}, {"b", {{"cpu", 0}}}},
       {"b"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(startable(c.capacity, c.running, c.waiting) == c.want);
  }
}

TEST_CASE("schedule: what can never run is known by what it lacks") {
  Amounts needs;
  add(needs, {{"gpu", 4}, {"cpu", 8}}, 2);
  CHECK(beyond({{"gpu", 4}, {"cpu", 16}}, needs) == Names{"gpus: 8 wanted, 4 there"});
  CHECK(beyond({{"gpu", 8}}, needs).empty());
  CHECK(beyond({{"cpu", 1500}, {"memory", std::int64_t{3} << 30}},
               {{"cpu", 4000}, {"memory", std::int64_t{4} << 30}}) ==
        Names{"cpus: 4 wanted, 1.5 there", "memory_gib: 4 wanted, 3 there"});
}

TEST_CASE("schedule: a job that waits knows its place and what it waits for") {
  const Amounts capacity{{"gpu", 8}, {"cpu", 16000}};
  const std::vector<Demand> running{{"r", {{"gpu", 7}, {"cpu", 1000}}}};
  const std::vector<Demand> waiting{
      {"a", {{"gpu", 4}, {"cpu", 4000}}}, {"b", {{"gpu", 1}}}, {"c", {{"cpu", 1000}}}};
  const auto why = [&](const char* job) { return why_waiting(capacity, running, waiting, job); };
  CHECK(why("a") == "place 1 of 3; gpus: 4 wanted, 1 of 8 free");
  CHECK(why("b") == "place 2 of 3, behind a");
  CHECK(why("c") == "place 3 of 3, behind a");
  CHECK(why("r").empty());
  CHECK(why_waiting({{"hosts", 4}}, {{"r", {{"hosts", 9}}}}, {{"a", {{"hosts", 4}}}}, "a") ==
        "place 1 of 1; hosts: 4 wanted, 0 of 4 free");
}

}  // namespace
}  // namespace muster::jobs
