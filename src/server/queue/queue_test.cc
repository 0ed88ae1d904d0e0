#include "server/queue/queue.h"

#include <doctest/doctest.h>

#include <cmath>

#include "base/testing.h"

namespace muster::jobs {
namespace {

using std::chrono::hours;
using Names = std::vector<std::string>;

constexpr UnixMillis now = hours(1000);

Demand of_key(const char* key, const char* job, Amounts needs, int priority = 0) {
  return {
      .job = job, .needs = std::move(needs), .key = key, .priority = priority, .submitted = now};
}

Names names(const Queue& queue) {
  Names names;
  for (const Place& place : queue.in_order(now, 100)) names.push_back(place.job->demand.job);
  return names;
}

TEST_CASE("queue: jobs start in their order, as far as there is room") {
  Queue queue({{"gpu", 4}});
  queue.add({"a", {{"gpu", 2}}});
  queue.add({"b", {{"gpu", 2}}});
  queue.add({"c", {{"gpu", 1}}});
  CHECK(queue.place("b", now) == 2);
  CHECK(names(queue) == Names{"a", "b", "c"});
  CHECK(queue.start(now) == Names{"a", "b"});
  CHECK(queue.start(now).empty());
  CHECK(queue.runs("a"));
  CHECK(queue.waits("c"));
  CHECK(queue.place("c", now) == 1);
  CHECK(!queue.place("a", now));
  queue.end("a", now);
  CHECK(queue.start(now) == Names{"c"});
  CHECK(!queue.waits("c"));
  CHECK(queue.runs("c"));
}

TEST_CASE("queue: jobs that wait longer than they may are named, those that run are not") {
  Queue queue({{"gpu", 1}});
  queue.add({.job = "runs", .needs = {{"gpu", 1}}, .wait_until = now + hours(1)});
  CHECK(queue.start(now) == Names{"runs"});
  CHECK(!queue.next_waited_out());
  queue.add({.job = "late", .needs = {{"gpu", 1}}, .wait_until = now + hours(3)});
  queue.add({.job = "soon", .needs = {{"gpu", 1}}, .wait_until = now + hours(2)});
  queue.add({.job = "patient", .needs = {{"gpu", 1}}});
  CHECK(queue.next_waited_out() == now + hours(2));
  CHECK(queue.waited_out(now + hours(2) - std::chrono::milliseconds(1)).empty());
  CHECK(queue.waited_out(now + hours(2)) == Names{"soon"});
  CHECK(queue.waited_out(now + hours(9)) == Names{"late", "soon"});
}

TEST_CASE("queue: numbers are kept before the first job, and no other number is given again") {
  Queue queue({{"gpu", 1}});
  CHECK(aborts([&] { queue.add({"a", {{"gpu", 1}}}, 1); }));
  queue.keep_numbers(2);
  CHECK(aborts([&] { queue.keep_numbers(2); }));
  queue.add({"late", {{"gpu", 1}}});
  queue.add({"early", {{"gpu", 1}}}, 2);
  CHECK(names(queue) == Names{"early", "late"});
  CHECK(aborts([&] { queue.add({"a", {{"gpu", 1}}}, 4); }));
  CHECK(aborts([&] { queue.add({"late", {{"gpu", 1}}}); }));
}

TEST_CASE("queue: a gang that waits is not overtaken by what needs the same") {
  Queue queue({{"gpu", 4}, {"cpu", 8}});
  queue.add({"small", {{"gpu", 1}}});
  CHECK(queue.start(now) == Names{"small"});
  queue.add({"gang", {{"gpu", 4}}});
  queue.add({"another", {{"gpu", 1}}});
  queue.add({"elsewhere", {{"cpu", 1}}});
  CHECK(queue.start(now + hours(1)) == Names{"elsewhere"});
  queue.end("small", now + hours(1));
  CHECK(queue.start(now + hours(1)) == Names{"gang"});
  queue.end("gang", now + hours(2));
  CHECK(queue.start(now + hours(2)) == Names{"another"});
}

TEST_CASE("queue: a job that is withdrawn gives way, and what runs cannot be") {
  Queue queue({{"gpu", 1}});
  queue.add({"a", {{"gpu", 1}}});
  queue.add({"b", {{"gpu", 1}}});
  queue.add({"c", {{"gpu", 1}}});
  CHECK(queue.start(now) == Names{"a"});
  CHECK(!queue.withdraw("a"));
  CHECK(queue.withdraw("b"));
  CHECK(!queue.withdraw("b"));
  CHECK(!queue.withdraw("nobody"));
  queue.end("a", now);
  CHECK(queue.start(now) == Names{"c"});
}

TEST_CASE("queue: jobs of an earlier server hold what they need, also beyond the capacity") {
  Queue queue({{"gpu", 2}});
  queue.take_up({"old", {{"gpu", 3}}}, now);
  queue.add({"new", {{"gpu", 1}}});
  CHECK(queue.start(now).empty());
  queue.end("old", now);
  CHECK(queue.start(now) == Names{"new"});
}

TEST_CASE("queue: a limit can change while jobs wait and run") {
  Queue queue({{"gpu", 4}});
  queue.add({"a", {{"gpu", 3}}});
  CHECK(queue.is_awaited("gpu"));
  CHECK(!queue.is_awaited("cpu"));
  CHECK(queue.start(now) == Names{"a"});
  CHECK(!queue.is_awaited("gpu"));
  CHECK(!queue.set_limit("gpu", 4, ""));
  CHECK(queue.set_limit("gpu", 2, "gpu=0 needs recovery: Reset"));
  CHECK(!queue.set_limit("gpu", 2, "gpu=0 needs recovery: Reset"));
  queue.add({"b", {{"gpu", 3}}});
  queue.add({"c", {{"gpu", 1}}});
  CHECK(queue.start(now).empty());
  CHECK(queue.why_waiting("b", now) ==
        "place 1 of 2; cannot start: gpus: 3 requested, 2 available (gpu=0 needs recovery: Reset)");
  queue.end("a", now);
  CHECK(queue.start(now) == Names{"c"});
  CHECK(queue.set_limit("gpu", 4, ""));
  CHECK(queue.why_waiting("b", now) == "place 1 of 1");
  CHECK(queue.start(now) == Names{"b"});
  CHECK(queue.notes().empty());
}

TEST_CASE("queue: without a capacity every job starts at once") {
  Queue queue({});
  queue.add({"a", {{"gpu", 64}}});
  queue.add({"b", {{"gpu", 64}}});
  CHECK(queue.start(now) == Names{"a", "b"});
}

TEST_CASE("queue: the name of an ended job can be used again") {
  Queue queue({{"gpu", 1}});
  queue.add({"a", {{"gpu", 1}}});
  CHECK(queue.start(now) == Names{"a"});
  queue.end("a", now);
  queue.add({"a", {{"gpu", 1}}});
  CHECK(queue.start(now) == Names{"a"});
}

TEST_CASE("queue: keys take turns, by what they used") {
  Queue queue({{"gpu", 1}});
  for (const char* job : {"a1", "a2", "a3"}) queue.add(of_key("A", job, {{"gpu", 1}}));
  for (const char* job : {"b1", "b2"}) queue.add(of_key("B", job, {{"gpu", 1}}));
  std::string started;
  UnixMillis time = now;
  while (true) {
    const Names names = queue.start(time);
    if (names.empty()) break;
    started += names.front() + " ";
    time += hours(1);
    queue.end(names.front(), time);
  }
  CHECK(started == "a1 b1 a2 b2 a3 ");
}

TEST_CASE("queue: the priority of a job that waits can be changed") {
  Queue queue({{"gpu", 1}});
  queue.add(of_key("A", "a", {{"gpu", 1}}));
  queue.add(of_key("A", "b", {{"gpu", 1}}));
  CHECK(queue.set_priority("b", 3));
  CHECK(queue.place("b", now) == 1);
  CHECK(queue.start(now) == Names{"b"});
  CHECK(!queue.set_priority("b", 9));
  CHECK(queue.why_waiting("a", now).starts_with("place 1 of 1; gpus: 1 requested"));
}

TEST_CASE("queue: a restart knows what keys used and since when a line's first waits") {
  Queue queue({{"gpu", 1}});
  queue.add(of_key("A", "a", {{"gpu", 1}}));
  queue.add(of_key("B", "b", {{"gpu", 1}}));
  queue.remember({"A", 0, 1, now - hours(30), now - hours(20), now - hours(10)});
  queue.remember({"A", 0, 1, now - hours(9), now - hours(8), std::nullopt});
  const double used = queue.use().at("A").share;
  CHECK(used == doctest::Approx(1 - std::exp2(-10.0 / 24)));
  CHECK(queue.orders().at("A").head_since().at(0) == now - hours(8));
  CHECK(queue.place("b", now) == 1);
  // Came after the one that waits and was let past: the clock of that one goes on.
  queue.remember({"B", 0, 0.1, now + hours(1), now + hours(2), now + hours(3)});
  CHECK(!queue.orders().at("B").head_since().contains(0));
}

TEST_CASE("queue: a job let past does not stop the clock of the one before it") {
  Queue queue({{"gpu", 2}});
  queue.take_up(of_key("B", "r", {{"gpu", 1}}), now);
  queue.add(of_key("A", "gang", {{"gpu", 2}}));
  Demand brief = of_key("A", "brief", {{"gpu", 1}});
  brief.length = hours(1);
  queue.add(brief);
  queue.add(of_key("A", "last", {{"gpu", 1}}));
  CHECK(queue.start(now + hours(1)) == Names{"brief"});
  CHECK(!queue.orders().at("A").head_since().contains(0));
  queue.end("brief", now + hours(2));
  queue.end("r", now + hours(2));
  CHECK(queue.start(now + hours(2)) == Names{"gang"});
  CHECK(queue.orders().at("A").head_since().at(0) == now + hours(2));
}

}  // namespace
}  // namespace muster::jobs
