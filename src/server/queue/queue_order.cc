#include "server/queue/queue_order.h"

#include <algorithm>
#include <cmath>

#include "base/result.h"

namespace muster::jobs {
namespace {

double halvings(UnixMillis time, const QueueRules& rules) {
  return static_cast<double>(std::max(time, UnixMillis(0)).count()) /
         static_cast<double>(rules.half_life.count());
}

auto place_in(const std::vector<const Waiting*>& line, const Waiting& job) {
  return std::lower_bound(
      line.begin(), line.end(), job.demand.number,
      [](const Waiting* each, std::int64_t number) { return each->demand.number < number; });
}

}  // namespace

double Use::now(UnixMillis now, const QueueRules& rules) const {
  return share * std::exp2(-halvings(now - at, rules));
}

double grain(double share) {
  return std::ldexp(std::round(std::ldexp(share, 30)), -30);
}

double share_of(const Amounts& capacity, const Amounts& needs) {
  double share = 0;
  for (const auto& [name, amount] : needs) {
    const auto limit = capacity.find(name);
    if (limit == capacity.end() || limit->second <= 0) continue;
    share = std::max(share, static_cast<double>(amount) / static_cast<double>(limit->second));
  }
  return grain(share);
}

double use_of(double share, UnixMillis started, UnixMillis now, const QueueRules& rules) {
  return share * (1 - std::exp2(-halvings(now - started, rules)));
}

std::tuple<int, UnixMillis, bool, double, std::int64_t> Place::rank(double score) const {
  if (level == level_first) return {-level, due, false, 0, number};
  return {-level, UnixMillis(0), !is_promised, score + before, number};
}

void KeyOrder::add(const Waiting& job) {
  std::vector<const Waiting*>& line = lines_[job.demand.priority];
  const bool is_last = !line.empty() && line.back()->demand.number < job.demand.number &&
                       lines_.begin()->first == job.demand.priority && !job.promised;
  line.insert(place_in(line, job), &job);
  ++size_;
  if (!is_made_ || !is_last) return touch();
  places_.push_back({&job, job.kind, job.demand.length, job.demand.priority, UnixMillis(0), false,
                     shares_, job.demand.number});
  shares_ += job.share;
}

void KeyOrder::remove(const Waiting& job) {
  const auto line = lines_.find(job.demand.priority);
  CHECK_THAT(line != lines_.end(), "a job is removed from its own line");
  const auto place = place_in(line->second, job);
  CHECK_THAT(place != line->second.end() && *place == &job, "a job is removed once");
  line->second.erase(place);
  if (line->second.empty()) {
    lines_.erase(line);
    head_since_.erase(job.demand.priority);
  }
  --size_;
  touch();
}

const Waiting* KeyOrder::first_of(int priority) const {
  const auto line = lines_.find(priority);
  return line == lines_.end() ? nullptr : line->second.front();
}

void KeyOrder::set_head_since(int priority, UnixMillis started) {
  head_since_[priority] = started;
  touch();
}

/// The first of what is left of a line.
struct KeyOrder::Head {
  const std::vector<const Waiting*>* line = nullptr;
  std::size_t next = 0;
  int level = 0;
  UnixMillis due{0};
  UnixMillis rises{0};  ///< When its level does; max(): not any more.

  const Waiting& job() const { return *(*line)[next]; }
  bool is_first_level() const { return level == level_first; }
  bool is_promised() const { return is_first_level() || job().promised; }
  std::tuple<int, UnixMillis, bool, std::int64_t> rank() const {
    return {-level, is_first_level() ? due : UnixMillis(0), !is_promised(), job().demand.number};
  }
  /// False at the line's end.
  bool advance() {
    if (++next == line->size()) return false;
    level = job().demand.priority;
    return true;
  }
};

KeyOrder::Head KeyOrder::head_of(int priority, const std::vector<const Waiting*>& line,
                                 UnixMillis now, const QueueRules& rules) const {
  const Demand& first = line.front()->demand;
  const auto since = head_since_.find(priority);
  const UnixMillis from =
      since == head_since_.end() ? first.submitted : std::max(first.submitted, since->second);
  const std::int64_t risen = std::max<std::int64_t>(0, (now - from) / rules.ageing);
  Head head{.line = &line};
  head.level = static_cast<int>(std::min<std::int64_t>(priority + risen, level_first));
  head.due = from + (level_first - priority) * rules.ageing;
  head.rises = head.level == level_first ? UnixMillis::max() : from + (risen + 1) * rules.ageing;
  return head;
}

void KeyOrder::make(UnixMillis now, const QueueRules& rules) const {
  places_.clear();
  places_.reserve(size_);
  made_ = now;
  holds_until_ = UnixMillis::max();
  std::vector<Head> heads;
  for (const auto& [priority, line] : lines_) {
    heads.push_back(head_of(priority, line, now, rules));
    holds_until_ = std::min(holds_until_, heads.back().rises);
  }
  shares_ = 0;
  while (!heads.empty()) {
    const auto head =
        std::min_element(heads.begin(), heads.end(),
                         [](const Head& a, const Head& b) { return a.rank() < b.rank(); });
    const Waiting& job = head->job();
    Place place{&job,        job.kind,         job.demand.length,
                head->level, head->due,        head->is_promised(),
                shares_,     job.demand.number};
    // A promised job that stood behind one without a promise comes right after it.
    const Place* const last = places_.empty() ? nullptr : &places_.back();
    if (last != nullptr && last->level == place.level && place.is_promised && !last->is_promised) {
      place.is_promised = false;
      place.before = last->before;
      place.number = last->number;
    }
    places_.push_back(place);
    shares_ += job.share;
    if (!head->advance()) heads.erase(head);
  }
  is_made_ = true;
}

const std::vector<Place>& KeyOrder::places(UnixMillis now, const QueueRules& rules) const {
  if (!is_made_ || now < made_ || now >= holds_until_) make(now, rules);
  return places_;
}

}  // namespace muster::jobs
