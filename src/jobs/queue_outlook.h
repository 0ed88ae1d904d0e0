#pragma once

#include <map>
#include <string>
#include <vector>

#include "jobs/queue_order.h"

namespace muster::jobs {

/// How things stand for those that wait, at one moment.
struct Outlook {
  UnixMillis now{0};
  std::vector<Place> order;
  Plan plan;
  std::map<std::string, double> scores;       ///< As scores() has them.
  std::map<std::string, std::size_t> places;  ///< By job: its index in `order`.
};

/// Pure, as all of this file.
Outlook outlook(const Standing& standing, const QueueRules& rules, UnixMillis now);

/// The place of `job` among those that wait, what it waits for, whom it is behind and why, and when
/// it starts at the latest where that is known: "place 1 of 3; gpus: 4 wanted, 1 of 8 free; starts
/// when train-3 ends, by 14:05 UTC at the latest". Empty if it does not wait.
std::string why_waiting(const Standing& standing, const Outlook& outlook, const std::string& job);

}  // namespace muster::jobs
