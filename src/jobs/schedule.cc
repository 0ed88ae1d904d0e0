#include "jobs/schedule.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

namespace muster::jobs {
namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

/// As the config has it: "cpus", "memory_gib", "gpus"; types and "hosts" as they are.
std::string config_name(const std::string& name) {
  if (name == "cpu") return "cpus";
  if (name == "memory") return "memory_gib";
  return name == "gpu" ? "gpus" : name;
}

std::string config_amount(const std::string& name, std::int64_t amount) {
  const double unit = name == "cpu" ? 1000 : name == "memory" ? gib : 1;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.10g", static_cast<double>(amount) / unit);
  return text.data();
}

std::int64_t amount_in(const Amounts& amounts, const std::string& name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

/// What of `needs` the `held` leave too little of.
std::vector<std::string> short_of(const Amounts& capacity, const Amounts& held,
                                  const Amounts& needs) {
  std::vector<std::string> names;
  for (const auto& [name, amount] : needs) {
    const auto limit = capacity.find(name);
    if (limit == capacity.end() || amount <= 0) continue;
    // Held may be beyond the capacity: a restart with a smaller config.
    if (amount > limit->second - amount_in(held, name)) names.push_back(name);
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
    lines.push_back(config_name(name) + ": " + config_amount(name, needs.at(name)) + " wanted, " +
                    config_amount(name, capacity.at(name)) + " there");
  return lines;
}

std::string why_waiting(const Amounts& capacity, const std::vector<Demand>& running,
                        const std::vector<Demand>& waiting, const std::string& job) {
  const auto own = std::find_if(waiting.begin(), waiting.end(),
                                [&job](const Demand& each) { return each.job == job; });
  if (own == waiting.end()) return {};
  Amounts held;
  for (const Demand& each : running) add(held, each.needs, 1);
  const std::string place = "place " + std::to_string(own - waiting.begin() + 1) + " of " +
                            std::to_string(waiting.size());
  const std::vector<std::string> missing = short_of(capacity, held, own->needs);
  const auto ahead = std::find_if(waiting.begin(), own, [&](const Demand& each) {
    return std::any_of(each.needs.begin(), each.needs.end(), [&](const auto& need) {
      const auto& [name, amount] = need;
      return amount > 0 && capacity.contains(name) && amount_in(own->needs, name) > 0;
    });
  });
  if (missing.empty()) return ahead == own ? place : place + ", behind " + ahead->job;
  std::string text = place;
  for (const std::string& name : missing) {
    const std::int64_t all = capacity.at(name);
    const std::int64_t free = std::max<std::int64_t>(0, all - amount_in(held, name));
    text += "; " + config_name(name) + ": " + config_amount(name, own->needs.at(name)) +
            " wanted, " + config_amount(name, free) + " of " + config_amount(name, all) + " free";
  }
  return text;
}

}  // namespace muster::jobs
