#include "os/devices/assign.h"

#include <algorithm>
#include <optional>

#include "base/text.h"

namespace muster::devices {
namespace {

constexpr std::size_t holders_told_max = 8;

/// True for one card by two names, and for a card and a part of it; parts have the card's device
/// file in common and one each beside it. Both sorted.
bool is_same_card(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::includes(a.begin(), a.end(), b.begin(), b.end()) ||
         std::includes(b.begin(), b.end(), a.begin(), a.end());
}

const Holding* holder_of(const Gpu& gpu, const std::vector<Holding>& held) {
  const std::vector<std::string> files = gpu.files();
  for (const Holding& holding : held)
    if (is_same_card(holding.files, files)) return &holding;
  return nullptr;
}

std::string count_text(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " GPU" : " GPUs");
}

Error not_enough(const std::vector<Gpu>& gpus, const std::vector<Holding>& held,
                 const std::vector<Wish>& wishes, std::int64_t wanted) {
  std::string text = "the job needs " + count_text(wanted);
  const std::size_t hosts = static_cast<std::size_t>(
      std::count_if(wishes.begin(), wishes.end(), [](const Wish& wish) { return wish.count > 0; }));
  if (hosts > 1) text += " for " + std::to_string(hosts) + " hosts";
  if (gpus.empty())
    return fail(Errc::system, text + ", but this machine has no GPUs available for hosts");
  std::vector<std::string> holders;
  for (const Gpu& gpu : gpus)
    if (const Holding* const holding = holder_of(gpu, held))
      holders.push_back(holding->sickness.empty()
                            ? gpu.name + " is used by " + holding->host + " of " + holding->job
                            : gpu.name + " is out of use: it " + holding->sickness);
  text += ", but only " + std::to_string(gpus.size() - holders.size()) + " of " +
          count_text(static_cast<std::int64_t>(gpus.size())) + " on this machine are free";
  if (holders.size() > holders_told_max) {
    holders.resize(holders_told_max);
    holders.emplace_back("and so on");
  }
  if (!holders.empty()) text += " (" + join(holders, ", ") + ")";
  return fail(Errc::system, text);
}

}  // namespace

Result<std::vector<std::vector<Gpu>>> assign(const std::vector<Gpu>& gpus,
                                             const std::vector<Holding>& held,
                                             const std::vector<Wish>& wishes,
                                             const Topology& topology) {
  std::int64_t wanted = 0;
  for (const Wish& wish : wishes) wanted += wish.count;
  std::map<std::string, std::vector<Gpu>> free_by_kind;
  for (const Gpu& gpu : gpus)
    if (holder_of(gpu, held) == nullptr) free_by_kind[gpu.kind].push_back(gpu);
  const auto enough = std::find_if(free_by_kind.begin(), free_by_kind.end(), [&](const auto& kind) {
    return static_cast<std::int64_t>(kind.second.size()) >= wanted;
  });
  if (wanted > 0 && enough == free_by_kind.end()) return not_enough(gpus, held, wishes, wanted);
  std::vector<Gpu> free = wanted > 0 ? enough->second : std::vector<Gpu>();
  std::vector<std::vector<Gpu>> assigned;
  for (const Wish& wish : wishes) {
    std::vector<std::optional<std::int64_t>> numbers;
    for (const Gpu& gpu : free) numbers.push_back(gpu.number());
    const std::vector<std::size_t> chosen =
        choose(numbers, static_cast<std::size_t>(wish.count), topology);
    std::vector<Gpu>& own = assigned.emplace_back();
    for (const std::size_t place : chosen) own.push_back(free[place]);
    for (std::size_t i = chosen.size(); i-- > 0;)
      free.erase(free.begin() + static_cast<std::ptrdiff_t>(chosen[i]));
  }
  return assigned;
}

}  // namespace muster::devices
