#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobs/schedule.h"

namespace muster::jobs {

/// Who is to start before whom (docs/decisions/0035-queue.md). Pure.

constexpr int priority_max = 9;
/// The level of a job that has waited so long that it comes before every priority.
constexpr int level_first = priority_max + 1;

struct QueueRules {
  /// The first job of a line rises by one level for so long a wait.
  UnixMillis ageing = std::chrono::hours(6);
  /// What a key used so long ago counts half.
  UnixMillis half_life = std::chrono::hours(24);
};

/// The jobs of one key that have one priority stand in a line, by order of submission.
using LineId = std::pair<std::string, int>;

/// How much of the machine a key had on average lately: 0 to 1, if the capacity did not shrink.
struct Use {
  double share = 0;
  UnixMillis at{0};  ///< When it was so.

  double now(UnixMillis now, const QueueRules& rules) const;
};

/// All that decides about the order.
struct Standing {
  Amounts capacity;
  std::vector<Running> running;
  std::vector<Demand> waiting;                   ///< By number.
  std::map<std::string, Use> use;                ///< By key: of jobs that have ended.
  std::map<LineId, UnixMillis> head_since = {};  ///< When the job before a line's first started.
  /// The jobs that have reservations: they stay before the others of their level. Else the start of
  /// a small job that is let past would count against its key, put another's job in the place of
  /// the one that waits, and so on for ever.
  std::set<std::string> promised = {};
};

/// The largest part of a resource that the needs are, the "dominant share": 0.25 for 1 of 4 GPUs
/// with 1 of 8 processors. 0 where nothing of it is limited.
double share_of(const Amounts& capacity, const Amounts& needs);

/// What a job that began at `started` adds to its key's use by `now`.
double use_of(double share, UnixMillis started, UnixMillis now, const QueueRules& rules);

/// What fair share compares, by key: what it holds and what it had lately. A key that has nothing
/// of either may be missing.
std::map<std::string, double> scores(const Standing& standing, const QueueRules& rules,
                                     UnixMillis now);

struct Place {
  std::size_t index = 0;  ///< In Standing::waiting.
  int level = 0;          ///< Priority with what waiting added, up to level_first.
};

/// All that wait, in their order: higher levels first; within a level who has a reservation, then
/// the key that has less, as if each job in turn started; then by submission. On level_first
/// whoever came there first.
std::vector<Place> order(const Standing& standing, const QueueRules& rules, UnixMillis now);

}  // namespace muster::jobs
