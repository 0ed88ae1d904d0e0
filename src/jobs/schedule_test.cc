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
  CHECK(beyond({{"gpu", 4}, {"cpu", 16}}, needs) == Names{"gpu: 8 wanted, 4 there"});
  CHECK(beyond({{"gpu", 8}}, needs).empty());
}

}  // namespace
}  // namespace muster::jobs
