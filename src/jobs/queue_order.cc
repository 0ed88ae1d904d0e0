#include "jobs/queue_order.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace muster::jobs {
namespace {

double halvings(UnixMillis time, const QueueRules& rules) {
  return static_cast<double>(std::max(time, UnixMillis(0)).count()) /
         static_cast<double>(rules.half_life.count());
}

struct Line {
  std::vector<std::size_t> jobs;  ///< Indices in Standing::waiting.
  std::size_t next = 0;
  int level = 0;  ///< The first one's; others have their priority.
  UnixMillis due{0};
};

/// What comes first sorts first. The last is the line's number among all.
using Rank = std::tuple<int, UnixMillis, bool, double, std::int64_t, std::size_t>;

struct Merge {
  const Standing& standing;
  std::map<std::string, double> score;
  std::vector<Line> lines = {};
  std::map<std::string, std::vector<std::size_t>> lines_of = {};  ///< By key.
  std::set<Rank> ranks = {};

  int level(const Line& line) const {
    return line.next == 0 ? line.level : standing.waiting[line.jobs[line.next]].priority;
  }

  Rank rank(std::size_t number) const {
    const Line& line = lines[number];
    const Demand& job = standing.waiting[line.jobs[line.next]];
    const int now = level(line);
    const bool first = now == level_first;
    const auto found = score.find(job.key);
    const double has = first || found == score.end() ? 0 : found->second;
    const bool promised = first || standing.promised.contains(job.job);
    return {-now, first ? line.due : UnixMillis(0), !promised, has, job.number, number};
  }

  void take(std::size_t number) {
    Line& line = lines[number];
    const Demand& job = standing.waiting[line.jobs[line.next]];
    const std::vector<std::size_t>& touched = lines_of[job.key];
    for (const std::size_t each : touched)
      if (lines[each].next < lines[each].jobs.size()) ranks.erase(rank(each));
    ++line.next;
    score[job.key] += share_of(standing.capacity, job.needs);
    for (const std::size_t each : touched)
      if (lines[each].next < lines[each].jobs.size()) ranks.insert(rank(each));
  }
};

void age_first(Line& line, const Standing& standing, const QueueRules& rules, UnixMillis now) {
  const Demand& first = standing.waiting[line.jobs.front()];
  const auto since = standing.head_since.find({first.key, first.priority});
  const UnixMillis from = since == standing.head_since.end()
                              ? first.submitted
                              : std::max(first.submitted, since->second);
  const std::int64_t risen = std::max<std::int64_t>(0, (now - from) / rules.ageing);
  line.level = static_cast<int>(std::min<std::int64_t>(first.priority + risen, level_first));
  line.due = from + (level_first - first.priority) * rules.ageing;
}

}  // namespace

double Use::now(UnixMillis now, const QueueRules& rules) const {
  return share * std::exp2(-halvings(now - at, rules));
}

double share_of(const Amounts& capacity, const Amounts& needs) {
  double share = 0;
  for (const auto& [name, amount] : needs) {
    const auto limit = capacity.find(name);
    if (limit == capacity.end() || limit->second <= 0) continue;
    share = std::max(share, static_cast<double>(amount) / static_cast<double>(limit->second));
  }
  return share;
}

double use_of(double share, UnixMillis started, UnixMillis now, const QueueRules& rules) {
  return share * (1 - std::exp2(-halvings(now - started, rules)));
}

std::map<std::string, double> scores(const Standing& standing, const QueueRules& rules,
                                     UnixMillis now) {
  std::map<std::string, double> score;
  for (const auto& [key, use] : standing.use) score[key] = use.now(now, rules);
  for (const Running& each : standing.running) {
    const double share = share_of(standing.capacity, each.demand.needs);
    score[each.demand.key] += share + use_of(share, each.started, now, rules);
  }
  return score;
}

std::vector<Place> order(const Standing& standing, const QueueRules& rules, UnixMillis now) {
  Merge merge{.standing = standing, .score = scores(standing, rules, now)};
  std::map<LineId, std::size_t> numbers;
  for (std::size_t index = 0; index < standing.waiting.size(); ++index) {
    const Demand& job = standing.waiting[index];
    const auto [found, fresh] = numbers.try_emplace({job.key, job.priority}, merge.lines.size());
    if (fresh) {
      merge.lines.emplace_back();
      merge.lines_of[job.key].push_back(found->second);
    }
    merge.lines[found->second].jobs.push_back(index);
  }
  for (std::size_t number = 0; number < merge.lines.size(); ++number) {
    age_first(merge.lines[number], standing, rules, now);
    merge.ranks.insert(merge.rank(number));
  }
  std::vector<Place> places;
  places.reserve(standing.waiting.size());
  while (!merge.ranks.empty()) {
    const std::size_t number = std::get<std::size_t>(*merge.ranks.begin());
    const Line& line = merge.lines[number];
    places.push_back({line.jobs[line.next], merge.level(line)});
    merge.take(number);
  }
  return places;
}

}  // namespace muster::jobs
