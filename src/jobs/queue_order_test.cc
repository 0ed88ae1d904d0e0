#include "jobs/queue_order.h"

#include <doctest/doctest.h>

namespace muster::jobs {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr UnixMillis now = hours(1000);

struct Waiting {
  const char* job;
  const char* key;
  int priority = 0;
  UnixMillis waited = minutes(1);
};

Standing standing_of(const std::vector<Waiting>& jobs) {
  Standing standing{.capacity = {{"host", 4}}, .running = {}, .waiting = {}, .use = {}};
  for (const Waiting& each : jobs)
    standing.waiting.push_back({.job = each.job,
                                .needs = {{"host", 1}},
                                .key = each.key,
                                .priority = each.priority,
                                .number = static_cast<std::int64_t>(standing.waiting.size()),
                                .submitted = now - each.waited});
  return standing;
}

Running run_of(const char* key, int hosts, UnixMillis since) {
  return {{.job = std::string("run-") + key, .needs = {{"host", hosts}}, .key = key}, now - since};
}

/// "b1 a1 a2", with "+3" behind a job that rose by three.
std::string told(const Standing& standing) {
  std::string text;
  for (const Place& place : order(standing, {}, now)) {
    const Demand& job = standing.waiting[place.index];
    text += (text.empty() ? "" : " ") + job.job;
    if (place.level > job.priority) text += "+" + std::to_string(place.level - job.priority);
  }
  return text;
}

TEST_CASE("queue order: priority, then who has less, then submission") {
  const std::vector<Waiting> two{{"a1", "A"}, {"a2", "A"}, {"a3", "A"}, {"b1", "B"}, {"b2", "B"}};
  CHECK(told({}).empty());
  CHECK(told(standing_of({{"a1", "A"}, {"a2", "A"}, {"a3", "A"}})) == "a1 a2 a3");
  CHECK(told(standing_of({{"a1", "A"}, {"a2", "A", 2}, {"b1", "B", 1}, {"a3", "A", 2}})) ==
        "a2 a3 b1 a1");
  CHECK(told(standing_of(two)) == "a1 b1 a2 b2 a3");

  Standing busy = standing_of(two);
  busy.running = {run_of("A", 2, minutes(1))};
  CHECK(told(busy) == "b1 b2 a1 a2 a3");

  // What a key had counts, too, half of it after a half life.
  Standing used = standing_of(two);
  used.use["A"] = {0.3, now};
  CHECK(told(used) == "b1 b2 a1 a2 a3");
  used.use["A"] = {0.3, now - hours(24)};
  CHECK(told(used) == "b1 a1 b2 a2 a3");
  used.use["B"] = {0.1, now};
  CHECK(told(used) == "b1 a1 b2 a2 a3");
}

TEST_CASE("queue order: the first of a line rises, and comes before all when it has waited long") {
  CHECK(told(standing_of({{"a1", "A", 0, hours(13)}, {"a2", "A", 0, hours(13)}, {"b1", "B", 1}})) ==
        "a1+2 b1 a2");
  CHECK(told(standing_of({{"a1", "A", 0, hours(59)}, {"b1", "B", 9}})) == "a1+9 b1");
  // Both are beyond every priority: b1 came there first, however much its key has.
  Standing both =
      standing_of({{"a1", "A", 0, hours(61)}, {"b1", "B", 5, hours(40)}, {"c1", "C", 9, hours(5)}});
  both.running = {run_of("B", 4, minutes(1))};
  CHECK(told(both) == "b1+5 a1+10 c1");
  // The wait counts from when the one before it started.
  both.head_since[{"A", 0}] = now - hours(1);
  CHECK(told(both) == "b1+5 c1 a1");
}

TEST_CASE("queue order: a share is that of the resource of which it is largest") {
  CHECK(share_of({{"gpu", 4}, {"cpu", 8}}, {{"gpu", 1}, {"cpu", 1}, {"x", 9}}) == 0.25);
  CHECK(share_of({}, {{"gpu", 1}}) == 0);
  CHECK(share_of({{"gpu", 0}}, {{"gpu", 1}}) == 0);
}

TEST_CASE("queue order: use is an average that forgets") {
  const QueueRules rules;
  CHECK(use_of(0.5, now - hours(24), now, rules) == doctest::Approx(0.25));
  CHECK(use_of(1, now - hours(2400), now, rules) == doctest::Approx(1));
  CHECK(Use{0.5, now - hours(48)}.now(now, rules) == doctest::Approx(0.125));
  Standing standing = standing_of({});
  standing.running = {run_of("A", 2, hours(24))};
  standing.use["A"] = {0.5, now - hours(24)};
  CHECK(scores(standing, rules, now).at("A") == doctest::Approx(0.5 + 0.25 + 0.25));
}

}  // namespace
}  // namespace muster::jobs
