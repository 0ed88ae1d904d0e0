// Whole workloads of the job queue from a seed: jobs come, run as long as they like within what
// they asked for, and end; a clock of our own.

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "seeds.h"
#include "server/queue/queue_reference.h"

using namespace muster;
using namespace std::chrono_literals;
using jobs::Amounts;
using jobs::Demand;
using jobs::Queue;
using jobs::Running;
using jobs::reference::OrderedJob;
using jobs::reference::Standing;

namespace {

using Random = std::mt19937_64;

/// 1 to `most`.
std::int64_t up_to(Random& random, std::int64_t most) {
  return 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
}

struct Coming {
  Demand demand;
  UnixMillis runs{0};  ///< How long, in truth.
};

struct Workload {
  Amounts capacity;
  jobs::QueueRules rules;
  std::vector<Coming> jobs;  ///< In the order in which they come.
  std::size_t lines = 0;
  UnixMillis longest{0};
};

/// Small and large jobs, some of the whole machine, of a few keys and priorities; brief ageing, so
/// that every rule is at work.
Workload workload_of(Random& random) {
  Workload load{.capacity = {{"cpu", up_to(random, 31) + 1}},
                .rules = {.ageing = 10min * up_to(random, 18), .half_life = 24h},
                .jobs = {}};
  if (random() % 2 == 0) load.capacity["gpu"] = up_to(random, 8);
  const std::int64_t keys = up_to(random, 3);
  const std::int64_t priorities = random() % 3 == 0 ? 1 : up_to(random, 10);
  const std::int64_t rush = up_to(random, 60);
  UnixMillis time = 1000h;
  load.lines = static_cast<std::size_t>(keys * priorities);
  const std::int64_t count = 3 + up_to(random, 25);
  for (std::int64_t number = 1; number <= count; ++number) {
    time += 1ms + std::chrono::minutes(random() % static_cast<std::uint64_t>(rush));
    Coming job;
    job.demand.job = "job-" + std::to_string(number);
    job.demand.key = "key-" + std::to_string(up_to(random, keys));
    job.demand.priority = static_cast<int>(up_to(random, priorities) - 1);
    for (const auto& [name, most] : load.capacity)
      job.demand.needs[name] = random() % 4 == 0 ? most : up_to(random, std::max(most / 3, 1L));
    if (load.capacity.contains("gpu") && random() % 2 == 0) job.demand.needs["gpu"] = 0;
    job.demand.submitted = time;
    job.demand.length = random() % 4 == 0 ? 10h : 5min * up_to(random, 36);
    job.runs = random() % 3 == 0
                   ? job.demand.length
                   : UnixMillis(up_to(random, std::int64_t{job.demand.length.count()}));
    load.longest = std::max(load.longest, job.demand.length);
    load.jobs.push_back(std::move(job));
  }
  return load;
}

struct Outlook {
  std::vector<OrderedJob> order;
  jobs::Plan plan;
};

class World {
 public:
  explicit World(Workload load)
      : load_(std::move(load)), queue_(std::make_unique<Queue>(load_.capacity, load_.rules)) {}

  bool step() {
    const bool comes = come_ < load_.jobs.size();
    const auto end = std::min_element(ends_.begin(), ends_.end());
    if (!comes && end == ends_.end()) return false;
    const UnixMillis coming = comes ? load_.jobs[come_].demand.submitted : UnixMillis::max();
    if (end != ends_.end() && end->first <= coming) {
      now_ = end->first;
      queue_->end(load_.jobs[end->second].demand.job, now_);
      past_[end->second].ended = now_;
      ends_.erase(end);
    } else {
      now_ = coming;
      queue_->add(load_.jobs[come_].demand);
      past_.push_back({});
      ++come_;
    }
    return true;
  }

  /// The jobs whose turn it is start.
  void start() {
    for (const std::string& name : queue_->start(now_)) {
      const std::size_t number = number_of(name);
      const Demand& job = load_.jobs[number].demand;
      const double share = jobs::share_of(load_.capacity, job.needs);
      past_[number] = {job.key, job.priority, share, job.submitted, now_, std::nullopt};
      ends_.emplace_back(now_ + load_.jobs[number].runs, number);
    }
  }

  /// The server starts again: what the queue knows comes from the store.
  void restart() {
    const Standing before = standing();
    queue_ = std::make_unique<Queue>(load_.capacity, load_.rules);
    for (const Demand& each : before.waiting) queue_->add(each);
    for (const Running& each : before.running) queue_->take_up(each.demand, each.started);
    for (const Queue::Past& each : past_)
      if (each.started > 0ms) queue_->remember(each);
  }

  /// `promised`: as far as they are known; a server that starts knows none.
  Outlook outlook(bool promised = true) const {
    Standing all = standing();
    if (!promised) all.promised.clear();
    Outlook outlook{jobs::reference::order(all, load_.rules, now_), {}};
    std::vector<Demand> waiting;
    for (const OrderedJob& each : outlook.order) waiting.push_back(all.waiting[each.index]);
    outlook.plan = jobs::reference::plan(all.capacity, all.running, waiting, now_);
    return outlook;
  }
  Standing standing() const { return jobs::reference::standing_of(*queue_); }
  std::size_t number_of(const std::string& name) const { return std::stoul(name.substr(4)) - 1; }

  const Queue& queue() const { return *queue_; }
  const Workload& load() const { return load_; }
  UnixMillis now() const { return now_; }
  const std::vector<Queue::Past>& past() const { return past_; }

 private:
  Workload load_;
  std::unique_ptr<Queue> queue_;
  UnixMillis now_{0};
  std::size_t come_ = 0;
  std::vector<std::pair<UnixMillis, std::size_t>> ends_;
  std::vector<Queue::Past> past_;  ///< By number; started 0: it waits.
};

Demand demand_at(const World& world, const OrderedJob& place) {
  return world.standing().waiting[place.index];
}

void check_capacity(const World& world) {
  const Amounts held = jobs::reference::held_by(world.standing().running);
  for (const auto& [name, amount] : held) CHECK(amount <= world.load().capacity.at(name));
}

/// What was started before anybody looks: who was let past whom.
void check_starts(const World& world, const Outlook& before) {
  const auto started = [&](const Demand& job) { return world.queue().runs(job.job); };
  const auto demand = [&](const OrderedJob& place) -> const Demand& {
    const std::size_t number = static_cast<std::size_t>(place.index);
    return world.load().jobs[number].demand;
  };
  for (std::size_t late = 0; late < before.order.size(); ++late) {
    const Demand& passes = demand(before.order[late]);
    if (!started(passes)) continue;
    for (std::size_t early = 0; early < late; ++early) {
      const Demand& waits = demand(before.order[early]);
      if (started(waits)) continue;
      const bool alike = waits.needs == passes.needs && waits.length <= passes.length;
      CHECK_MESSAGE(!alike, passes.job << " was let past " << waits.job << ", which is alike");
    }
  }
}

/// Promises to the first job: jobs that passed it must not break them.
class Promises {
 public:
  void look(const World& world, const Outlook& before, const Outlook& after) {
    if (first_ && !world.queue().waits(*first_)) {
      CHECK(world.now() <= at_);
      first_.reset();
    }
    for (const jobs::Reservation& made : before.plan.reservations)
      for (const jobs::Reservation& kept : after.plan.reservations)
        if (made.job == kept.job) CHECK(kept.at <= made.at);
    if (after.order.empty()) return;
    const Demand first = demand_at(world, after.order.front());
    CHECK(!jobs::fits(world.load().capacity, jobs::reference::held_by(world.standing().running),
                      first.needs));
    REQUIRE(!after.plan.reservations.empty());
    CHECK(after.plan.reservations.front().job == first.job);
    const UnixMillis at = after.plan.reservations.front().at;
    // Who came before it in the order and started has its place by right.
    const bool still = first_ == first.job && !before.order.empty() && before_first_ == first.job;
    if (!still) at_ = at;
    CHECK(at <= at_);
    first_ = first.job;
  }
  void before(const World& world, const Outlook& outlook) {
    before_first_ = outlook.order.empty() ? "" : demand_at(world, outlook.order.front()).job;
  }

 private:
  std::optional<std::string> first_;
  std::string before_first_;
  UnixMillis at_{0};
};

/// When each job that waited long has to have started.
class Bounds {
 public:
  void look(const World& world, const Outlook& after) {
    for (std::size_t at = 0; at < after.order.size(); ++at) {
      if (after.order[at].level != jobs::level_first) break;
      const std::string name = demand_at(world, after.order[at]).job;
      const auto turns = static_cast<std::int64_t>(at) + 1;
      due_.try_emplace(name, world.now() + turns * world.load().longest);
    }
  }
  void check(const World& world) const {
    for (const auto& [name, due] : due_) CHECK(world.past()[world.number_of(name)].started <= due);
    const Workload& load = world.load();
    std::map<jobs::LineId, std::vector<std::size_t>> lines;
    for (std::size_t number = 0; number < load.jobs.size(); ++number) {
      const Demand& job = load.jobs[number].demand;
      std::vector<std::size_t>& line = lines[{job.key, job.priority}];
      const auto ahead = std::count_if(line.begin(), line.end(), [&](std::size_t other) {
        return world.past()[other].started > job.submitted;
      });
      // Each in its line rises to the first level, and then waits for one of every line.
      const UnixMillis turn = (jobs::level_first - job.priority) * load.rules.ageing +
                              static_cast<std::int64_t>(load.lines + 1) * load.longest;
      CHECK(world.past()[number].started <= job.submitted + (ahead + 1) * turn);
      line.push_back(number);
    }
  }

 private:
  std::map<std::string, UnixMillis> due_;
};

std::vector<std::string> names_of(const World& world, const Outlook& outlook) {
  std::vector<std::string> names;
  for (const OrderedJob& each : outlook.order)
    names.push_back(demand_at(world, each).job + " " + std::to_string(each.level));
  return names;
}

/// The order with indices of the workload in place of the queue's: those that start leave it.
Outlook by_number(const World& world, Outlook outlook) {
  for (OrderedJob& place : outlook.order)
    place.index = world.number_of(demand_at(world, place).job);
  return outlook;
}

double hours_of(UnixMillis time) {
  return static_cast<double>(time.count()) / 3.6e6;
}

bool has_waiting(const World& world, const std::string& key) {
  return world.queue().waiting_count(key) > 0;
}

}  // namespace

TEST_CASE("sim: queue: no workload fills the machine twice, breaks a promise or starves a job") {
  for (const std::uint64_t seed : sim::seeds(200)) {
    CAPTURE(seed);
    Random random(seed);
    World world(workload_of(random));
    Promises promises;
    Bounds bounds;
    while (world.step()) {
      const Outlook before = world.outlook();
      promises.before(world, before);
      const Outlook numbered = by_number(world, before);
      world.start();
      check_capacity(world);
      check_starts(world, numbered);
      const Outlook after = world.outlook();
      CHECK(after.plan.start.empty());
      promises.look(world, before, after);
      bounds.look(world, after);
      if (random() % 8 != 0) continue;
      const std::vector<std::string> names = names_of(world, world.outlook(false));
      world.restart();
      CHECK(names_of(world, world.outlook()) == names);
    }
    CHECK(world.queue().waiting_count() == 0);
    CHECK(world.past().size() == world.load().jobs.size());
    for (const jobs::Queue::Past& each : world.past()) CHECK(each.ended);
    bounds.check(world);
  }
}

TEST_CASE("sim: queue: two keys that ask for the same have the same") {
  for (const std::uint64_t seed : sim::seeds(10)) {
    CAPTURE(seed);
    Random random(seed);
    const bool lumpy = seed % 2 == 0;
    Workload load{.capacity = {{"cpu", 16}}, .rules = {.ageing = 1000h}, .jobs = {}};
    // Key A asks for all at once, then B; both have work for longer than is looked at.
    for (std::int64_t number = 1; number <= 200; ++number) {
      Coming job;
      job.demand.job = "job-" + std::to_string(number);
      job.demand.key = number <= 100 ? "A" : "B";
      job.demand.needs = {{"cpu", lumpy && random() % 8 == 0 ? 16 : up_to(random, 4)}};
      job.demand.submitted = 1000h;
      job.demand.length = 10min * up_to(random, 12);
      job.runs = job.demand.length / up_to(random, 3);
      load.longest = std::max(load.longest, job.demand.length);
      load.jobs.push_back(std::move(job));
    }
    const double largest = (lumpy ? 1 : 0.25) * hours_of(load.longest);
    World world(std::move(load));
    std::map<std::string, double> had;  // Hours of the whole machine.
    UnixMillis last = 1000h;
    while (world.step()) {
      for (const Running& each : world.standing().running)
        had[each.demand.key] +=
            jobs::share_of({{"cpu", 16}}, each.demand.needs) * hours_of(world.now() - last);
      last = world.now();
      if (world.past().size() < world.load().jobs.size()) continue;
      world.start();
      if (!has_waiting(world, "A") || !has_waiting(world, "B")) break;
    }
    CHECK(had["A"] + had["B"] > 4);
    // No finer than jobs are.
    CHECK(std::abs(had["A"] - had["B"]) <= 0.05 * (had["A"] + had["B"]) + 3 * largest);
  }
}
