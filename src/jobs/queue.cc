#include "jobs/queue.h"

#include <algorithm>

#include "base/result.h"

namespace muster::jobs {
namespace {

constexpr std::chrono::seconds outlook_kept{1};

const std::string& name_of(const Demand& demand) {
  return demand.job;
}
const std::string& name_of(const Running& running) {
  return running.demand.job;
}

template <class Jobs>
auto find(Jobs& jobs, const std::string& name) {
  return std::find_if(jobs.begin(), jobs.end(),
                      [&name](const auto& each) { return name_of(each) == name; });
}

const Demand* first_of(const std::vector<Demand>& waiting, const LineId& line) {
  for (const Demand& each : waiting)
    if (each.key == line.first && each.priority == line.second) return &each;
  return nullptr;
}

}  // namespace

Queue::Queue(Amounts capacity, QueueRules rules) : rules_(rules) {
  standing_.capacity = std::move(capacity);
}

void Queue::add(Demand demand) {
  CHECK_THAT(!runs(demand.job) && !waits(demand.job), "a job is queued once");
  demand.number = ++added_;
  standing_.waiting.push_back(std::move(demand));
  outlook_.reset();
}

void Queue::take_up(Demand demand, UnixMillis started) {
  CHECK_THAT(!runs(demand.job) && !waits(demand.job), "a job is queued once");
  demand.number = ++added_;
  standing_.running.push_back({std::move(demand), started});
  outlook_.reset();
}

void Queue::remember(const Past& past) {
  if (past.ended) {
    Use& use = standing_.use[past.key];
    const UnixMillis later = std::max(use.at, *past.ended);
    const Use own{use_of(past.share, past.started, *past.ended, rules_), *past.ended};
    use = {use.now(later, rules_) + own.now(later, rules_), later};
  }
  const LineId line{past.key, past.priority};
  const Demand* first = first_of(standing_.waiting, line);
  if (first != nullptr && past.submitted < first->submitted) {
    UnixMillis& since = standing_.head_since[line];
    since = std::max(since, past.started);
  }
  outlook_.reset();
}

void Queue::begin(const std::string& job, UnixMillis now) {
  const auto found = find(standing_.waiting, job);
  const LineId line{found->key, found->priority};
  const bool was_first = first_of(standing_.waiting, line) == &*found;
  standing_.running.push_back({std::move(*found), now});
  standing_.waiting.erase(found);
  if (first_of(standing_.waiting, line) == nullptr)
    standing_.head_since.erase(line);
  else if (was_first)
    standing_.head_since[line] = now;
}

std::vector<std::string> Queue::start(UnixMillis now) {
  if (standing_.waiting.empty()) return {};
  Plan plan = outlook(standing_, rules_, now).plan;
  for (const std::string& name : plan.start) begin(name, now);
  standing_.promised.clear();
  for (const Reservation& each : plan.reservations) standing_.promised.insert(each.job);
  outlook_.reset();
  return plan.start;
}

bool Queue::withdraw(const std::string& job) {
  const auto found = find(standing_.waiting, job);
  if (found == standing_.waiting.end()) return false;
  const LineId line{found->key, found->priority};
  standing_.waiting.erase(found);
  if (first_of(standing_.waiting, line) == nullptr) standing_.head_since.erase(line);
  outlook_.reset();
  return true;
}

std::vector<std::string> Queue::waited_out(UnixMillis now) const {
  std::vector<std::string> names;
  for (const Demand& each : standing_.waiting)
    if (each.wait_until && *each.wait_until <= now) names.push_back(each.job);
  return names;
}

std::optional<UnixMillis> Queue::next_waited_out() const {
  std::optional<UnixMillis> next;
  for (const Demand& each : standing_.waiting)
    if (each.wait_until && (!next || *each.wait_until < *next)) next = each.wait_until;
  return next;
}

void Queue::end(const std::string& job, UnixMillis now) {
  const auto found = find(standing_.running, job);
  CHECK_THAT(found != standing_.running.end(), "only what runs can end");
  Use& use = standing_.use[found->demand.key];
  const double share = share_of(standing_.capacity, found->demand.needs);
  use = {use.now(now, rules_) + use_of(share, found->started, now, rules_), now};
  standing_.running.erase(found);
  outlook_.reset();
}

bool Queue::set_priority(const std::string& job, int priority) {
  const auto found = find(standing_.waiting, job);
  if (found == standing_.waiting.end()) return false;
  const LineId line{found->key, found->priority};
  found->priority = priority;
  if (first_of(standing_.waiting, line) == nullptr) standing_.head_since.erase(line);
  outlook_.reset();
  return true;
}

const Outlook& Queue::outlook_at(UnixMillis now) const {
  if (!outlook_ || now < outlook_->now || now - outlook_->now > outlook_kept)
    outlook_ = outlook(standing_, rules_, now);
  return *outlook_;
}

std::string Queue::why_waiting(const std::string& job, UnixMillis now) const {
  return waits(job) ? jobs::why_waiting(standing_, outlook_at(now), job) : std::string();
}

std::optional<std::size_t> Queue::place(const std::string& job, UnixMillis now) const {
  if (!waits(job)) return std::nullopt;
  return outlook_at(now).places.at(job) + 1;
}

std::vector<std::string> Queue::in_order(UnixMillis now) const {
  std::vector<std::string> names;
  for (const Place& place : outlook_at(now).order)
    names.push_back(standing_.waiting[place.index].job);
  return names;
}

const Demand* Queue::waiting(const std::string& job) const {
  const auto found = find(standing_.waiting, job);
  return found == standing_.waiting.end() ? nullptr : &*found;
}

bool Queue::runs(const std::string& job) const {
  return find(standing_.running, job) != standing_.running.end();
}

bool Queue::waits(const std::string& job) const {
  return waiting(job) != nullptr;
}

}  // namespace muster::jobs
