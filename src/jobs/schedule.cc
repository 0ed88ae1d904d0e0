#include "jobs/schedule.h"

#include <algorithm>
#include <set>

namespace muster::jobs {
namespace {

/// What of `needs` the `held` leave too little of.
std::vector<std::string> short_of(const Amounts& capacity, const Amounts& held,
                                  const Amounts& needs) {
  std::vector<std::string> names;
  for (const auto& [name, amount] : needs) {
    const auto limit = capacity.find(name);
    if (limit == capacity.end() || amount <= 0) continue;
    const auto used = held.find(name);
    // Held may be beyond the capacity: a restart with a smaller config.
    const std::int64_t free = limit->second - (used == held.end() ? 0 : used->second);
    if (amount > free) names.push_back(name);
  }
  return names;
}

}  // namespace

void add(Amounts& amounts, const Amounts& each, std::int64_t count) {
  for (const auto& [name, amount] : each) amounts[name] += amount * count;
}

std::vector<std::string> startable(const Amounts& capacity, const std::vector<Demand>& running,
                                   const std::vector<Demand>& waiting) {
  Amounts held;
  for (const Demand& each : running) add(held, each.needs, 1);
  std::set<std::string> claimed;
  std::vector<std::string> jobs;
  for (const Demand& each : waiting) {
    const std::vector<std::string> missing = short_of(capacity, held, each.needs);
    const bool is_behind = std::any_of(each.needs.begin(), each.needs.end(), [&](const auto& need) {
      return need.second > 0 && claimed.contains(need.first);
    });
    if (missing.empty() && !is_behind) {
      add(held, each.needs, 1);
      jobs.push_back(each.job);
      continue;
    }
    // All that it needs, not just what is missing: else a stream of small jobs would keep a gang
    // out forever that waits for two things.
    for (const auto& [name, amount] : each.needs)
      if (amount > 0 && capacity.contains(name)) claimed.insert(name);
  }
  return jobs;
}

std::vector<std::string> beyond(const Amounts& capacity, const Amounts& needs) {
  std::vector<std::string> lines;
  for (const std::string& name : short_of(capacity, {}, needs))
    lines.push_back(name + ": " + std::to_string(needs.at(name)) + " wanted, " +
                    std::to_string(capacity.at(name)) + " there");
  return lines;
}

}  // namespace muster::jobs
