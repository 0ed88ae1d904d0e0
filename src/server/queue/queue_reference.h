#pragma once

#include <algorithm>
#include <set>
#include <tuple>

#include "server/queue/queue.h"

/// For tests: the order and the plan of jobs::Queue, computed from scratch from all waiting jobs.
/// Slow and simple; the queue must give the same result.
namespace muster::jobs::reference {

/// All that decides about the order.
struct Standing {
  Amounts capacity;
  std::vector<Running> running;
  std::vector<Demand> waiting;  ///< By number.
  std::map<std::string, Use> use;
  std::map<LineId, UnixMillis> head_since = {};
  std::set<std::string> promised = {};
};

inline Standing standing_of(const Queue& queue) {
  Standing standing{.capacity = queue.capacity(), .running = {}, .waiting = {}, .use = queue.use()};
  for (const auto& [number, run] : queue.running()) standing.running.push_back(run);
  for (const auto& [name, job] : queue.all_waiting()) {
    standing.waiting.push_back(job.demand);
    if (job.promised) standing.promised.insert(name);
  }
  std::sort(standing.waiting.begin(), standing.waiting.end(),
            [](const Demand& a, const Demand& b) { return a.number < b.number; });
  for (const auto& [key, order] : queue.orders())
    for (const auto& [priority, since] : order.head_since())
      standing.head_since[{key, priority}] = since;
  return standing;
}

struct OrderedJob {
  std::size_t index = 0;  ///< In Standing::waiting.
  int level = 0;
};

struct ReferenceLine {
  std::vector<std::size_t> jobs;  ///< Indices in Standing::waiting.
  std::size_t next = 0;
  int level = 0;  ///< The first one's; others have their priority.
  UnixMillis due{0};
};

/// What comes first sorts first. The last is the line's number among all.
using ReferenceRank = std::tuple<int, UnixMillis, bool, double, std::int64_t, std::size_t>;

struct ReferenceMerge {
  const Standing& standing;
  std::map<std::string, double> score;
  std::vector<ReferenceLine> lines = {};
  std::map<std::string, std::vector<std::size_t>> lines_of = {};  ///< By key.
  std::set<ReferenceRank> ranks = {};

  int level(const ReferenceLine& line) const {
    return line.next == 0 ? line.level : standing.waiting[line.jobs[line.next]].priority;
  }

  ReferenceRank rank(std::size_t number) const {
    const ReferenceLine& line = lines[number];
    const Demand& job = standing.waiting[line.jobs[line.next]];
    const int now = level(line);
    const bool first = now == level_first;
    const auto found = score.find(job.key);
    const double has = first || found == score.end() ? 0 : found->second;
    const bool promised = first || standing.promised.contains(job.job);
    return {-now, first ? line.due : UnixMillis(0), !promised, has, job.number, number};
  }

  void take(std::size_t number) {
    ReferenceLine& line = lines[number];
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

inline void age_first(ReferenceLine& line, const Standing& standing, const QueueRules& rules,
                      UnixMillis now) {
  const Demand& first = standing.waiting[line.jobs.front()];
  const auto since = standing.head_since.find({first.key, first.priority});
  const UnixMillis from = since == standing.head_since.end()
                              ? first.submitted
                              : std::max(first.submitted, since->second);
  const std::int64_t risen = std::max<std::int64_t>(0, (now - from) / rules.ageing);
  line.level = static_cast<int>(std::min<std::int64_t>(first.priority + risen, level_first));
  line.due = from + (level_first - first.priority) * rules.ageing;
}

inline std::map<std::string, double> scores(const Standing& standing, const QueueRules& rules,
                                            UnixMillis now) {
  std::map<std::string, double> score;
  for (const auto& [key, use] : standing.use) score[key] = use.now(now, rules);
  for (const Running& each : standing.running) {
    const double share = share_of(standing.capacity, each.demand.needs);
    score[each.demand.key] += share + use_of(share, each.started, now, rules);
  }
  for (auto& [key, each] : score) each = grain(each);
  return score;
}

inline std::vector<OrderedJob> order(const Standing& standing, const QueueRules& rules,
                                     UnixMillis now) {
  ReferenceMerge merge{.standing = standing, .score = scores(standing, rules, now)};
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
  std::vector<OrderedJob> places;
  places.reserve(standing.waiting.size());
  while (!merge.ranks.empty()) {
    const std::size_t number = std::get<std::size_t>(*merge.ranks.begin());
    const ReferenceLine& line = merge.lines[number];
    places.push_back({line.jobs[line.next], merge.level(line)});
    merge.take(number);
  }
  return places;
}

inline Amounts held_by(const std::vector<Running>& running) {
  Amounts held;
  for (const Running& each : running) add(held, each.demand.needs, 1);
  return held;
}

inline bool needs_any_of(const Demand& job, const Reservation& reserved) {
  return std::any_of(reserved.spare.begin(), reserved.spare.end(), [&](const auto& spare) {
    const auto need = job.needs.find(spare.first);
    return need != job.needs.end() && need->second > 0;
  });
}

/// None for a job that would not fit if nothing ran.
inline std::optional<Reservation> reservation_for(const Amounts& capacity,
                                                  std::vector<Running> running, Amounts held,
                                                  const Demand& job, UnixMillis now) {
  if (!fits(capacity, {}, job.needs)) return std::nullopt;
  std::stable_sort(running.begin(), running.end(),
                   [now](const Running& a, const Running& b) { return a.ends(now) < b.ends(now); });
  Reservation reserved{.job = job.job, .at = now, .after = {}, .spare = {}};
  for (const Running& each : running) {
    if (fits(capacity, held, job.needs)) break;
    add(held, each.demand.needs, -1);
    reserved.at = each.ends(now);
    reserved.after = each.demand.job;
  }
  // All that it needs, not just what is missing: else a stream of small jobs would keep a gang
  // out forever that waits for two things.
  for (const auto& [name, amount] : job.needs)
    if (amount > 0 && capacity.contains(name))
      reserved.spare[name] = capacity.at(name) - held[name] - amount;
  return reserved;
}

inline Plan plan(const Amounts& capacity, const std::vector<Running>& running,
                 const std::vector<Demand>& waiting, UnixMillis now) {
  Plan plan;
  std::vector<Running> runs = running;
  Amounts held = held_by(running);
  for (const Demand& each : waiting) {
    const bool free = fits(capacity, held, each.needs);
    const bool may =
        free && std::all_of(plan.reservations.begin(), plan.reservations.end(),
                            [&](const Reservation& one) { return leaves(one, each, now); });
    if (may) {
      for (Reservation& reserved : plan.reservations)
        if (now + each.length > reserved.at)
          for (auto& [name, spare] : reserved.spare)
            spare -= (each.needs.contains(name) ? each.needs.at(name) : 0);
      add(held, each.needs, 1);
      runs.push_back({each, now});
      plan.start.push_back(each.job);
      continue;
    }
    const bool is_behind =
        std::any_of(plan.reservations.begin(), plan.reservations.end(),
                    [&](const Reservation& one) { return needs_any_of(each, one); });
    if (free || is_behind) continue;
    if (auto reserved = reservation_for(capacity, runs, held, each, now))
      plan.reservations.push_back(*std::move(reserved));
  }
  return plan;
}

}  // namespace muster::jobs::reference
