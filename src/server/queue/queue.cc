#include "server/queue/queue.h"

#include <algorithm>

#include "base/result.h"
#include "server/queue/queue_merge.h"

namespace muster::jobs {
namespace {

constexpr std::chrono::seconds outlook_kept{1};

}  // namespace

Queue::Queue(Amounts capacity, QueueRules rules, Notes notes)
    : capacity_(std::move(capacity)), rules_(rules), notes_(std::move(notes)) {}

std::size_t Queue::kind_for(const Amounts& needs) {
  const auto [found, is_new] = kind_of_.try_emplace(needs, kinds_.size());
  if (!is_new) return found->second;
  if (free_kinds_.empty()) {
    kinds_.push_back({.needs = needs, .count = 0, .lengths = {}});
    return found->second;
  }
  found->second = free_kinds_.back();
  free_kinds_.pop_back();
  kinds_[found->second].needs = needs;
  return found->second;
}

void Queue::keep_numbers(std::int64_t count) {
  CHECK_THAT(added_ == 0, "numbers are kept before the first job is added");
  added_ = count;
}

void Queue::add(Demand demand, std::int64_t kept) {
  CHECK_THAT(!runs(demand.job) && !waits(demand.job), "a job is queued once");
  CHECK_THAT(kept >= 0 && kept <= added_, "a kept number is one of those that were kept");
  demand.number = kept > 0 ? kept : ++added_;
  Waiting& job = waiting_[demand.job];
  job.share = share_of(capacity_, demand.needs);
  job.kind = kind_for(demand.needs);
  job.demand = std::move(demand);
  ++kinds_[job.kind].count;
  ++kinds_[job.kind].lengths[job.demand.length];
  if (job.demand.wait_until) deadlines_.emplace(*job.demand.wait_until, job.demand.number, &job);
  orders_[job.demand.key].add(job);
  outlook_.reset();
}

bool Queue::set_limit(const std::string& resource, std::int64_t limit, const std::string& note) {
  const auto known = notes_.find(resource);
  const bool is_same_note = known == notes_.end() ? note.empty() : known->second == note;
  const auto now = capacity_.find(resource);
  if (now != capacity_.end() && now->second == limit && is_same_note) return false;
  capacity_[resource] = limit;
  notes_.erase(resource);
  if (!note.empty()) notes_[resource] = note;
  outlook_.reset();
  return true;
}

bool Queue::is_awaited(const std::string& resource) const {
  return std::any_of(kinds_.begin(), kinds_.end(), [&resource](const Kind& kind) {
    const auto needed = kind.needs.find(resource);
    return kind.count > 0 && needed != kind.needs.end() && needed->second > 0;
  });
}

Demand Queue::forget(std::map<std::string, Waiting>::iterator job) {
  const Waiting& gone = job->second;
  const auto order = orders_.find(gone.demand.key);
  order->second.remove(gone);
  if (order->second.size() == 0) orders_.erase(order);
  if (gone.demand.wait_until)
    deadlines_.erase({*gone.demand.wait_until, gone.demand.number, &gone});
  Kind& kind = kinds_[gone.kind];
  const auto length = kind.lengths.find(gone.demand.length);
  if (--length->second == 0) kind.lengths.erase(length);
  if (--kind.count == 0) {
    kind_of_.erase(kind.needs);
    free_kinds_.push_back(gone.kind);
  }
  promised_.erase(gone.demand.job);
  outlook_.reset();
  return std::move(waiting_.extract(job).mapped().demand);
}

void Queue::run(Demand demand, UnixMillis started) {
  muster::jobs::add(held_, demand.needs, 1);
  const double share = share_of(capacity_, demand.needs);
  numbers_[demand.job] = ++started_;
  running_.emplace(started_, Running{std::move(demand), started, share});
  outlook_.reset();
}

void Queue::take_up(Demand demand, UnixMillis started) {
  CHECK_THAT(!runs(demand.job) && !waits(demand.job), "a job is queued once");
  run(std::move(demand), started);
}

void Queue::remember(const Past& past) {
  if (past.ended) {
    Use& use = use_[past.key];
    const UnixMillis later = std::max(use.at, *past.ended);
    const Use own{use_of(past.share, past.started, *past.ended, rules_), *past.ended};
    use = {use.now(later, rules_) + own.now(later, rules_), later};
  }
  outlook_.reset();
  const auto order = orders_.find(past.key);
  if (order == orders_.end()) return;
  const Waiting* const first = order->second.first_of(past.priority);
  if (first == nullptr || past.submitted >= first->demand.submitted) return;
  const auto since = order->second.head_since().find(past.priority);
  if (since == order->second.head_since().end() || since->second < past.started)
    order->second.set_head_since(past.priority, past.started);
}

void Queue::begin(const std::string& job, UnixMillis now) {
  const auto found = waiting_.find(job);
  CHECK_THAT(found != waiting_.end(), "only a job that waits begins");
  const std::string key = found->second.demand.key;
  const int priority = found->second.demand.priority;
  const bool was_first = orders_.at(key).first_of(priority) == &found->second;
  run(forget(found), now);
  const auto order = orders_.find(key);
  if (was_first && order != orders_.end() && order->second.first_of(priority) != nullptr)
    order->second.set_head_since(priority, now);
}

std::map<std::string, double> Queue::scores(UnixMillis now) const {
  std::map<std::string, double> scores;
  for (const auto& [key, use] : use_) scores[key] = use.now(now, rules_);
  for (const auto& [number, each] : running_)
    if (each.share > 0)
      scores[each.demand.key] += each.share + use_of(each.share, each.started, now, rules_);
  for (auto& [key, score] : scores) score = grain(score);
  return scores;
}

Plan Queue::pass(const std::map<std::string, double>& scores, UnixMillis now) const {
  Pass pass(capacity_, running_, held_, now);
  std::vector<UnixMillis> limits(kinds_.size(), UnixMillis::max());
  std::vector<std::size_t> left;
  for (const Kind& kind : kinds_) left.push_back(kind.count);
  Merge merge(orders_, scores, now, rules_,
              [&limits](const Place& place) { return place.length <= limits[place.kind]; });
  looks_ = 0;
  // What a job comes to that cannot start, all others of its kind come to that are not shorter:
  // whatever starts or is promised after it leaves them less.
  for (std::size_t live = kind_of_.size(); live > 0;) {
    const Place* const next = merge.next();
    if (next == nullptr) break;
    ++looks_;
    UnixMillis& limit = limits[next->kind];
    const UnixMillis found = pass.look_at(next->job->demand);
    const bool has_started = found == UnixMillis::max();
    limit = std::min(limit, found);
    if (has_started ? --left[next->kind] == 0 : found < kinds_[next->kind].lengths.begin()->first)
      --live;
  }
  return pass.plan();
}

std::vector<std::string> Queue::start(UnixMillis now) {
  if (waiting_.empty()) return {};
  const Plan plan = pass(scores(now), now);
  for (const std::string& name : plan.start) begin(name, now);
  promise(plan.reservations);
  return plan.start;
}

void Queue::promise(const std::vector<Reservation>& reservations) {
  std::set<std::string> names;
  for (const Reservation& each : reservations) names.insert(each.job);
  if (names == promised_) return;
  const auto set = [this](const std::string& name, bool is_promised) {
    Waiting& job = waiting_.at(name);
    job.promised = is_promised;
    orders_.at(job.demand.key).touch();
  };
  for (const std::string& name : promised_) set(name, false);
  for (const std::string& name : names) set(name, true);
  promised_ = std::move(names);
  outlook_.reset();
}

bool Queue::withdraw(const std::string& job) {
  const auto found = waiting_.find(job);
  if (found == waiting_.end()) return false;
  forget(found);
  return true;
}

std::vector<std::string> Queue::waited_out(UnixMillis now) const {
  std::map<std::int64_t, std::string> names;
  for (const auto& [until, number, job] : deadlines_) {
    if (until > now) break;
    names.emplace(number, job->demand.job);
  }
  std::vector<std::string> in_order;
  for (const auto& [number, name] : names) in_order.push_back(name);
  return in_order;
}

std::optional<UnixMillis> Queue::next_waited_out() const {
  if (deadlines_.empty()) return std::nullopt;
  return std::get<UnixMillis>(*deadlines_.begin());
}

void Queue::end(const std::string& job, UnixMillis now) {
  const auto number = numbers_.find(job);
  CHECK_THAT(number != numbers_.end(), "only what runs can end");
  const auto run = running_.find(number->second);
  const Running& gone = run->second;
  Use& use = use_[gone.demand.key];
  use = {use.now(now, rules_) + use_of(gone.share, gone.started, now, rules_), now};
  muster::jobs::add(held_, gone.demand.needs, -1);
  running_.erase(run);
  numbers_.erase(number);
  outlook_.reset();
}

bool Queue::set_priority(const std::string& job, int priority) {
  const auto found = waiting_.find(job);
  if (found == waiting_.end()) return false;
  Waiting& waits = found->second;
  KeyOrder& order = orders_.at(waits.demand.key);
  order.remove(waits);
  waits.demand.priority = priority;
  order.add(waits);
  outlook_.reset();
  return true;
}

const Outlook& Queue::outlook(UnixMillis now) const {
  if (outlook_ && now >= outlook_->now && now - outlook_->now <= outlook_kept) return *outlook_;
  std::map<std::string, double> by_key = scores(now);
  Plan plan = pass(by_key, now);
  outlook_ = Outlook{now, std::move(plan), std::move(by_key)};
  return *outlook_;
}

const Demand* Queue::waiting(const std::string& job) const {
  const auto found = waiting_.find(job);
  return found == waiting_.end() ? nullptr : &found->second.demand;
}

std::size_t Queue::waiting_count(const std::string& key) const {
  const auto found = orders_.find(key);
  return found == orders_.end() ? 0 : found->second.size();
}

}  // namespace muster::jobs
