#include "server/queue/schedule.h"

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

std::string note_on(const std::string& name, const Notes& notes) {
  const auto found = notes.find(name);
  return found == notes.end() ? "" : " (" + found->second + ")";
}

std::int64_t amount_in(const Amounts& amounts, const std::string& name) {
  const auto found = amounts.find(name);
  return found == amounts.end() ? 0 : found->second;
}

bool needs_any_of(const Demand& job, const Reservation& reserved) {
  return std::any_of(reserved.spare.begin(), reserved.spare.end(),
                     [&](const auto& spare) { return amount_in(job.needs, spare.first) > 0; });
}

}  // namespace

void add(Amounts& amounts, const Amounts& each, std::int64_t count) {
  for (const auto& [name, amount] : each) amounts[name] += amount * count;
}

UnixMillis Running::ends(UnixMillis now) const {
  return std::max(now, started + demand.length);
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

bool spares(const Reservation& reserved, const Demand& job) {
  return std::all_of(reserved.spare.begin(), reserved.spare.end(), [&](const auto& spare) {
    const std::int64_t need = amount_in(job.needs, spare.first);
    return need <= 0 || need <= spare.second;
  });
}

bool leaves(const Reservation& reserved, const Demand& job, UnixMillis now) {
  return now + job.length <= reserved.at || spares(reserved, job);
}

UnixMillis Pass::look_at(const Demand& job) {
  if (fits(capacity_, held_, job.needs)) {
    UnixMillis longest = UnixMillis::max();
    for (const Reservation& one : plan_.reservations)
      if (!spares(one, job)) longest = std::min(longest, one.at - now_);
    if (job.length > longest) return longest;
    start(job);
    return UnixMillis::max();
  }
  const bool is_behind =
      std::any_of(plan_.reservations.begin(), plan_.reservations.end(),
                  [&](const Reservation& one) { return needs_any_of(job, one); });
  if (!is_behind)
    if (auto reserved = reservation_for(job)) plan_.reservations.push_back(*std::move(reserved));
  return UnixMillis(-1);
}

void Pass::start(const Demand& job) {
  for (Reservation& reserved : plan_.reservations)
    if (now_ + job.length > reserved.at)
      for (auto& [name, spare] : reserved.spare) spare -= amount_in(job.needs, name);
  add(held_, job.needs, 1);
  started_.push_back(&job);
  plan_.start.push_back(job.job);
}

/// None for a job that would not fit if nothing ran.
std::optional<Reservation> Pass::reservation_for(const Demand& job) const {
  if (!fits(capacity_, {}, job.needs)) return std::nullopt;
  std::vector<std::pair<UnixMillis, const Demand*>> ends;
  ends.reserve(runs_.size() + started_.size());
  for (const auto& [number, each] : runs_) ends.emplace_back(each.ends(now_), &each.demand);
  for (const Demand* each : started_) ends.emplace_back(now_ + each->length, each);
  std::stable_sort(ends.begin(), ends.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Reservation reserved{.job = job.job, .at = now_, .after = {}, .spare = {}};
  Amounts held = held_;
  for (const auto& [end, each] : ends) {
    if (fits(capacity_, held, job.needs)) break;
    add(held, each->needs, -1);
    reserved.at = end;
    reserved.after = each->job;
  }
  // All that it needs, not just what is missing: else a stream of small jobs would keep a gang
  // out forever that waits for two things.
  for (const auto& [name, amount] : job.needs)
    if (amount > 0 && capacity_.contains(name))
      reserved.spare[name] = capacity_.at(name) - amount_in(held, name) - amount;
  return reserved;
}

std::vector<std::string> beyond(const Amounts& capacity, const Amounts& needs, const Notes& notes) {
  std::vector<std::string> lines;
  for (const std::string& name : short_of(capacity, {}, needs))
    lines.push_back(config_name(name) + ": " + config_amount(name, needs.at(name)) +
                    " requested, " + config_amount(name, capacity.at(name)) + " available" +
                    note_on(name, notes));
  return lines;
}

std::vector<std::string> lacks(const Amounts& capacity, const Amounts& held, const Amounts& needs,
                               const Notes& notes) {
  std::vector<std::string> lines;
  for (const std::string& name : short_of(capacity, held, needs)) {
    const std::int64_t all = capacity.at(name);
    const std::int64_t free = std::max<std::int64_t>(0, all - amount_in(held, name));
    lines.push_back(config_name(name) + ": " + config_amount(name, needs.at(name)) +
                    " requested, " + config_amount(name, free) + " of " + config_amount(name, all) +
                    " free" + note_on(name, notes));
  }
  return lines;
}

}  // namespace muster::jobs
