#include "machine/steward/card_memory.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "machine/housing/overruns.h"
#include "os/devices/compute_apps.h"

namespace muster::steward {
namespace {

constexpr std::chrono::seconds list_age{12};  ///< Two lists; an empty one has no line.
constexpr std::size_t held_max = 1024;
constexpr std::size_t gpus_shown = 4;
constexpr std::size_t holders_shown = 8;
constexpr std::size_t ranks_max = 4096;

/// As HostProcesses::name_of() names it.
std::string name_of_rank(int rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace

CardMemory::CardMemory(std::map<std::string, int> places,
                       std::function<std::string(std::int64_t)> name)
    : places_(std::move(places)), name_(std::move(name)) {}

void CardMemory::take(std::string_view list, TimePoint time) {
  List read{time, {}};
  for (const std::string& line : split(list, '\n')) {
    const auto app = devices::compute_app_from(line);
    const auto place = app ? places_.find(app->bus) : places_.end();
    if (place == places_.end() || read.held.size() >= held_max) continue;
    read.held.push_back({place->second, app->memory_bytes, name_(app->pid)});
  }
  for (const Held& held : read.held)
    if (held.by.starts_with("rank ") && gpus_of_.size() < ranks_max)
      gpus_of_[held.by].insert(held.gpu);
  if (!read.held.empty()) last_ = std::move(read);
}

std::set<int> CardMemory::gpus_of(int rank) const {
  const auto found = gpus_of_.find(name_of_rank(rank));
  return found == gpus_of_.end() ? std::set<int>() : found->second;
}

void CardMemory::keep(TimePoint now) {
  kept_ = last_;
  reported_ = now;
}

void CardMemory::blame(int rank, TimePoint now) {
  failed_ = true;
  rank_ = rank;
  if (kept_.held.empty()) reported_ = now;
}

std::vector<std::string> CardMemory::lines() const {
  // A list may arrive just after the report.
  const List& list = kept_.held.empty() ? last_ : kept_;
  if (!failed_ || reported_ - list.time > list_age) return {};
  std::map<int, std::vector<Held>> by_gpu;
  std::set<int> of_rank;
  for (const Held& held : list.held) {
    by_gpu[held.gpu].push_back(held);
    if (rank_ >= 0 && held.by == name_of_rank(rank_)) of_rank.insert(held.gpu);
  }
  std::vector<std::pair<std::int64_t, std::string>> told;  // With the card's bytes.
  const auto age =
      std::chrono::duration_cast<std::chrono::seconds>(std::max(reported_ - list.time, Duration(0)))
          .count();
  for (auto& [gpu, holders] : by_gpu) {
    if (!of_rank.empty() && !of_rank.contains(gpu)) continue;
    std::stable_sort(holders.begin(), holders.end(),
                     [](const Held& a, const Held& b) { return a.bytes > b.bytes; });
    std::int64_t bytes = 0;
    std::vector<std::string> parts;
    for (const Held& held : holders) {
      bytes += held.bytes;
      if (parts.size() < holders_shown) parts.push_back(size_text(held.bytes) + " by " + held.by);
    }
    if (holders.size() > parts.size())
      parts.push_back(std::to_string(holders.size() - parts.size()) + " more processes");
    told.emplace_back(bytes, "memory of GPU " + std::to_string(gpu) + ", " + std::to_string(age) +
                                 " s before: " + join(parts, ", "));
  }
  std::stable_sort(told.begin(), told.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < std::min(told.size(), gpus_shown); ++i)
    lines.push_back(std::move(told[i].second));
  return lines;
}

}  // namespace muster::steward
