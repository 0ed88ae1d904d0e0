#include <doctest/doctest.h>

#include <memory>
#include <random>

#include "server/queue/queue_reference.h"

namespace muster::jobs {
namespace {

using Names = std::vector<std::string>;
using Random = std::mt19937_64;

int below(Random& random, int end) {
  return static_cast<int>(random() % static_cast<std::uint64_t>(end));
}

/// What happens to a queue: jobs of few and of many keys, lengths and needs; some can never run.
class Story {
 public:
  explicit Story(std::uint64_t seed) : random_(seed) {
    capacity_ = {{"cpu", 4 + below(random_, 28)}, {"gpu", 1 + below(random_, 8)}};
    if (below(random_, 2) == 0) capacity_["hosts"] = 3;
    rules_.ageing = std::chrono::minutes(10 + below(random_, 200));
    keys_ = 1 + below(random_, 4);
    priorities_ = 1 + below(random_, 4) * below(random_, 4);
    lengths_ = 1 + below(random_, 20);
    queue_ = std::make_unique<Queue>(capacity_, rules_);
  }

  void step() {
    // An outlook holds for a second.
    now_ += std::chrono::seconds(2 * below(random_, 3) * below(random_, 600));
    switch (below(random_, 10)) {
      case 0:
        return withdraw();
      case 1:
        return change();
      case 2:
      case 3:
      case 4:
        return end();
      case 5:
        return below(random_, 8) == 0 ? restart() : start();
      case 6:
        return start();
      default:
        return add();
    }
  }

  /// Order, places, starts and promises are those of the reference.
  void compare() {
    const reference::Standing all = reference::standing_of(*queue_);
    const std::vector<reference::OrderedJob> order = reference::order(all, rules_, now_);
    std::vector<Demand> waiting;
    Names want;
    for (const reference::OrderedJob& each : order) {
      waiting.push_back(all.waiting[each.index]);
      want.push_back(waiting.back().job + " " + std::to_string(each.level));
    }
    Names got;
    for (const Place& place : queue_->in_order(now_, 1000))
      got.push_back(place.job->demand.job + " " + std::to_string(place.level));
    REQUIRE(got == want);
    for (std::size_t at = 0; at < waiting.size(); at += 5)
      REQUIRE(queue_->place(waiting[at].job, now_) == at + 1);
    const Plan plan = reference::plan(all.capacity, all.running, waiting, now_);
    const Plan& own = queue_->outlook(now_).plan;
    REQUIRE(own.start == plan.start);
    REQUIRE(own.reservations.size() == plan.reservations.size());
    for (std::size_t at = 0; at < plan.reservations.size(); ++at) {
      CHECK(own.reservations[at].job == plan.reservations[at].job);
      CHECK(own.reservations[at].at == plan.reservations[at].at);
      CHECK(own.reservations[at].after == plan.reservations[at].after);
      CHECK(own.reservations[at].spare == plan.reservations[at].spare);
    }
    const std::size_t kinds = plan.start.size() + static_cast<std::size_t>(lengths_) * needs_count;
    CHECK(queue_->looks() <= kinds);
  }

 private:
  static constexpr std::size_t needs_count = 12;

  Amounts needs() {
    const int which = below(random_, needs_count);
    if (which == 0) return {{"cpu", 100}};  // Never.
    if (which == 1) return {{"disk", 5}};   // No limit.
    if (which == 2) return {{"cpu", capacity_["cpu"]}, {"gpu", 1}};
    if (which < 6) return {{"gpu", which - 2}, {"hosts", 1}};
    return {{"cpu", which - 5}, {"hosts", which % 2}};
  }
  std::string one_of(const Names& names) {
    return names.empty()
               ? ""
               : names[static_cast<std::size_t>(below(random_, static_cast<int>(names.size())))];
  }
  Names waiting() const {
    Names names;
    for (const auto& [name, job] : queue_->all_waiting()) names.push_back(name);
    return names;
  }
  Names running() const {
    Names names;
    for (const auto& [number, run] : queue_->running()) names.push_back(run.demand.job);
    return names;
  }

  void add() {
    queue_->add({.job = "job-" + std::to_string(++added_),
                 .needs = needs(),
                 .key = "key-" + std::to_string(below(random_, keys_)),
                 .priority = below(random_, std::min(priorities_, priority_max + 1)),
                 .submitted = now_,
                 .length = std::chrono::minutes(5 + 10 * below(random_, lengths_))});
  }
  void withdraw() {
    const std::string job = one_of(waiting());
    CHECK(queue_->withdraw(job) == !job.empty());
  }
  void change() {
    const std::string job = one_of(waiting());
    if (!job.empty()) CHECK(queue_->set_priority(job, below(random_, priority_max + 1)));
  }
  void end() {
    const std::string job = one_of(running());
    if (!job.empty()) queue_->end(job, now_);
  }
  void start() {
    const Names want = queue_->outlook(now_).plan.start;
    CHECK(queue_->start(now_) == want);
  }
  void restart() {
    const reference::Standing all = reference::standing_of(*queue_);
    queue_ = std::make_unique<Queue>(capacity_, rules_);
    for (const Demand& each : all.waiting) queue_->add(each);
    for (const Running& each : all.running) queue_->take_up(each.demand, each.started);
    for (const Running& each : all.running)
      queue_->remember({each.demand.key, each.demand.priority,
                        share_of(capacity_, each.demand.needs), each.demand.submitted, each.started,
                        std::nullopt});
  }

  Random random_;
  Amounts capacity_;
  QueueRules rules_;
  int keys_ = 1;
  int priorities_ = 1;
  int lengths_ = 1;
  int added_ = 0;
  UnixMillis now_ = std::chrono::hours(1000);
  std::unique_ptr<Queue> queue_;
};

TEST_CASE("queue: after any events it decides like a pass over all jobs") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Story story(seed);
    for (int step = 0; step < 120; ++step) {
      CAPTURE(step);
      story.step();
      story.compare();
    }
  }
}

}  // namespace
}  // namespace muster::jobs
