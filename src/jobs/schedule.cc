#include "jobs/schedule.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

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

bool needs_any_of(const Demand& job, const Reservation& reserved) {
  return std::any_of(reserved.spare.begin(), reserved.spare.end(),
                     [&](const auto& spare) { return amount_in(job.needs, spare.first) > 0; });
}

/// None for a job that would not fit if nothing ran.
std::optional<Reservation> reservation_for(const Amounts& capacity, std::vector<Running> running,
                                           Amounts held, const Demand& job, UnixMillis now) {
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
      reserved.spare[name] = capacity.at(name) - amount_in(held, name) - amount;
  return reserved;
}

}  // namespace

void add(Amounts& amounts, const Amounts& each, std::int64_t count) {
  for (const auto& [name, amount] : each) amounts[name] += amount * count;
}

UnixMillis Running::ends(UnixMillis now) const {
  return std::max(now, started + demand.length);
}

Amounts held_by(const std::vector<Running>& running) {
  Amounts held;
  for (const Running& each : running) add(held, each.demand.needs, 1);
  return held;
}

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

bool fits(const Amounts& capacity, const Amounts& held, const Amounts& needs) {
  return std::all_of(needs.begin(), needs.end(), [&](const auto& need) {
    const auto limit = capacity.find(need.first);
    return need.second <= 0 || limit == capacity.end() ||
           need.second <= limit->second - amount_in(held, need.first);
  });
}

bool leaves(const Reservation& reserved, const Demand& job, UnixMillis now) {
  if (now + job.length <= reserved.at) return true;
  return std::all_of(reserved.spare.begin(), reserved.spare.end(), [&](const auto& spare) {
    const std::int64_t need = amount_in(job.needs, spare.first);
    return need <= 0 || need <= spare.second;
  });
}

Plan plan(const Amounts& capacity, const std::vector<Running>& running,
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
          for (auto& [name, spare] : reserved.spare) spare -= amount_in(each.needs, name);
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

std::vector<std::string> beyond(const Amounts& capacity, const Amounts& needs) {
  std::vector<std::string> lines;
  for (const std::string& name : short_of(capacity, {}, needs))
    lines.push_back(config_name(name) + ": " + config_amount(name, needs.at(name)) + " wanted, " +
                    config_amount(name, capacity.at(name)) + " there");
  return lines;
}

std::vector<std::string> lacks(const Amounts& capacity, const Amounts& held, const Amounts& needs) {
  std::vector<std::string> lines;
  for (const std::string& name : short_of(capacity, held, needs)) {
    const std::int64_t all = capacity.at(name);
    const std::int64_t free = std::max<std::int64_t>(0, all - amount_in(held, name));
    lines.push_back(config_name(name) + ": " + config_amount(name, needs.at(name)) + " wanted, " +
                    config_amount(name, free) + " of " + config_amount(name, all) + " free");
  }
  return lines;
}

}  // namespace muster::jobs
