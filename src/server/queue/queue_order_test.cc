#include <doctest/doctest.h>

#include "server/queue/queue.h"

namespace muster::jobs {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

constexpr UnixMillis now = hours(1000);

struct Asked {
  const char* job;
  const char* key;
  int priority = 0;
  UnixMillis waited = minutes(1);
};

/// A machine of four hosts; each job that waits wants one.
struct Machine {
  explicit Machine(const std::vector<Asked>& jobs) {
    for (const Asked& each : jobs)
      queue.add({.job = each.job,
                 .needs = {{"host", 1}},
                 .key = each.key,
                 .priority = each.priority,
                 .submitted = now - each.waited});
  }
  Machine& runs(const char* key, int hosts) {
    queue.take_up({.job = std::string("run-") + key, .needs = {{"host", hosts}}, .key = key},
                  now - minutes(1));
    return *this;
  }
  /// The key had so much of the machine for ever until `ended`.
  Machine& used(const char* key, double share, UnixMillis ended) {
    queue.remember({key, 9, share, now, ended - hours(2400), ended});
    return *this;
  }
  /// "b1 a1 a2", with "+3" behind a job that rose by three.
  std::string told() const {
    std::string text;
    for (const Place& place : queue.in_order(now, 100)) {
      const Demand& job = place.job->demand;
      text += (text.empty() ? "" : " ") + job.job;
      if (place.level > job.priority) text += "+" + std::to_string(place.level - job.priority);
    }
    return text;
  }

  Queue queue{{{"host", 4}}};
};

TEST_CASE("queue order: priority, then the key with less use, then submission") {
  const std::vector<Asked> two{{"a1", "A"}, {"a2", "A"}, {"a3", "A"}, {"b1", "B"}, {"b2", "B"}};
  CHECK(Machine({}).told().empty());
  CHECK(Machine({{"a1", "A"}, {"a2", "A"}, {"a3", "A"}}).told() == "a1 a2 a3");
  CHECK(Machine({{"a1", "A"}, {"a2", "A", 2}, {"b1", "B", 1}, {"a3", "A", 2}}).told() ==
        "a2 a3 b1 a1");
  CHECK(Machine(two).told() == "a1 b1 a2 b2 a3");
  CHECK(Machine(two).runs("A", 2).told() == "b1 b2 a1 a2 a3");
  // What a key had counts, too, half of it after a half life.
  CHECK(Machine(two).used("A", 0.3, now).told() == "b1 b2 a1 a2 a3");
  CHECK(Machine(two).used("A", 0.3, now - hours(24)).told() == "b1 a1 b2 a2 a3");
  CHECK(Machine(two).used("A", 0.3, now - hours(24)).used("B", 0.1, now).told() ==
        "b1 a1 b2 a2 a3");
}

TEST_CASE("queue order: the first job of a line rises, and precedes all after a long wait") {
  CHECK(Machine({{"a1", "A", 0, hours(13)}, {"a2", "A", 0, hours(13)}, {"b1", "B", 1}}).told() ==
        "a1+2 b1 a2");
  CHECK(Machine({{"a1", "A", 0, hours(59)}, {"b1", "B", 9}}).told() == "a1+9 b1");
  // Both are beyond every priority: b1 came there first, however much its key has.
  Machine both({{"a1", "A", 0, hours(61)}, {"b1", "B", 5, hours(40)}, {"c1", "C", 9, hours(5)}});
  both.runs("B", 4);
  CHECK(both.told() == "b1+5 a1+10 c1");
  // The wait counts from when the one before it started.
  both.queue.remember({"A", 0, 0, now - hours(70), now - hours(1), std::nullopt});
  CHECK(both.told() == "b1+5 c1 a1");
}

TEST_CASE("queue order: a share is that of the resource of which it is largest") {
  CHECK(share_of({{"gpu", 4}, {"cpu", 8}}, {{"gpu", 1}, {"cpu", 1}, {"x", 9}}) == 0.25);
  CHECK(share_of({}, {{"gpu", 1}}) == 0);
  CHECK(share_of({{"gpu", 0}}, {{"gpu", 1}}) == 0);
  // Sums do not depend on the order.
  const double third = share_of({{"gpu", 3}}, {{"gpu", 1}});
  const double tenth = share_of({{"gpu", 10}}, {{"gpu", 1}});
  CHECK((third + tenth) + tenth == third + (tenth + tenth));
}

TEST_CASE("queue order: use is an average that forgets") {
  const QueueRules rules;
  CHECK(use_of(0.5, now - hours(24), now, rules) == doctest::Approx(0.25));
  CHECK(use_of(1, now - hours(2400), now, rules) == doctest::Approx(1));
  CHECK(Use{0.5, now - hours(48)}.now(now, rules) == doctest::Approx(0.125));
  Machine machine({});
  machine.queue.take_up({.job = "run", .needs = {{"host", 2}}, .key = "A"}, now - hours(24));
  machine.used("A", 0.5, now - hours(24));
  CHECK(machine.queue.scores(now).at("A") == doctest::Approx(0.5 + 0.25 + 0.25));
}

}  // namespace
}  // namespace muster::jobs
