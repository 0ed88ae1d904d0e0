#include "machine/housing/near_gpus.h"

#include <fcntl.h>

#include <algorithm>

#include "base/fd.h"
#include "base/process/placement.h"
#include "base/text.h"
#include "job/wire/journal.h"
#include "os/devices/find.h"
#include "os/devices/gpu_figures.h"

namespace muster::steward {
namespace {

constexpr const char* kernel_folder = "/sys";

/// The host's cards in the order in which its programs count them. Fewer than it has GPUs if some
/// are not known.
std::vector<devices::NumaCard> cards_of(const job::HostSpec& spec,
                                        const std::vector<devices::NumaCard>& cards) {
  std::vector<devices::NumaCard> own;
  if (spec.light) {  // Named by their places among all, as a scheduler's variables do.
    for (const int place : devices::gpu_numbers(join(spec.devices.gpus, ",")))
      if (static_cast<std::size_t>(place) < cards.size())
        own.push_back(cards[static_cast<std::size_t>(place)]);
    return own;
  }
  for (const devices::NumaCard& card : cards)
    if (std::any_of(spec.devices.nodes.begin(), spec.devices.nodes.end(), [&](const auto& node) {
          return devices::gpu_number(node.outside) == card.number;
        }))
      own.push_back(card);
  return own;
}

/// A scheduler has given the step its share; elsewhere each GPU of the machine has an equal one.
std::size_t share_of(const job::HostSpec& spec, std::size_t cards, std::size_t all_cards,
                     std::size_t allowed) {
  const std::int64_t millis = job::cpu_millis_of(spec.spec, spec.host);
  if (millis > 0) return static_cast<std::size_t>((millis + 999) / 1000);
  if (spec.light || spec.in_step) return allowed;
  return devices::fair_share(allowed, cards, all_cards);
}

bool can_open(const devices::NumaCard& card) {
  const std::string path = "/dev/nvidia" + std::to_string(card.number);
  return Fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)).get() >= 0;
}

}  // namespace

job::NearGpus near_gpus(const job::HostSpec& spec, const devices::NumaMachine& machine,
                        const Cpus& allowed) {
  if (spec.devices.gpus.empty() || machine.nodes.size() < 2) return {};
  const auto wish = spec.spec.environment.find(job::numa_variable);
  if (wish != spec.spec.environment.end() && wish->second == job::numa_off)
    return {.note = job::numa_off};
  const std::vector<devices::NumaCard> cards = cards_of(spec, machine.cards);
  if (cards.empty()) return {.note = "the NUMA nodes of the GPUs are unknown"};
  const devices::NumaPlace place = devices::place_host(
      machine.nodes, {.gpus = cards,
                      .allowed = allowed,
                      .cpus = share_of(spec, cards.size(), machine.cards.size(), allowed.size())});
  job::NearGpus near;
  if (cards.size() == spec.devices.gpus.size())
    near.ranks = devices::numa_text(devices::nodes_of_gpus(machine.nodes, cards));
  near.cpus = cpu_list(place.cpus);
  near.nodes = cpu_list(place.nodes);
  if (!place.why_not.empty()) near.note = "not next to the GPUs: " + place.why_not;
  if (near.cpus.empty() && near.note.empty() && !near.ranks.empty())
    near.note = "GPUs on all nodes: each of torchrun's ranks runs next to its GPU";
  return near;
}

job::NearGpus find_near_gpus(const job::HostSpec& spec) {
  if (spec.devices.gpus.empty()) return {};
  devices::NumaMachine machine = devices::read_numa(kernel_folder, devices::Places{}.driver);
  if (spec.light)
    std::erase_if(machine.cards, [](const devices::NumaCard& card) { return !can_open(card); });
  return near_gpus(spec, machine, own_cpus());
}

bool is_near(const job::NearGpus& near, const std::string& cpus) {
  if (near.cpus.empty()) return false;
  const Cpus own = cpus_from(cpus).value_or(Cpus());
  return common_cpus(own, cpus_from(near.cpus).value_or(Cpus())) == own;
}

std::string near_note(const job::NearGpus& near, const std::string& cpus) {
  std::string text = near.note;
  if (is_near(near, cpus))
    text = "CPUs " + (cpus.empty() ? near.cpus : cpus) + " and memory of node " + near.nodes +
           ", next to the GPUs";
  else if (!near.cpus.empty())
    text = "not next to the GPUs: other hosts have reserved the CPUs of node " + near.nodes;
  return text.empty() ? text : std::string(job::numa_report) + text;
}

}  // namespace muster::steward
