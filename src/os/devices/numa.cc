#include "os/devices/numa.h"

#include <algorithm>
#include <set>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/text.h"
#include "job/limits.h"
#include "os/devices/gpu_figures.h"

namespace muster::devices {
namespace {

constexpr int nodes_max = 1023;  ///< Source: the kernel's MAX_NUMNODES.
constexpr std::size_t list_bytes_max = 1u << 16;
constexpr std::string_view node_folder = "node";

const NumaNode* find_node(const std::vector<NumaNode>& nodes, int number) {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [number](const NumaNode& node) { return node.number == number; });
  return found == nodes.end() ? nullptr : &*found;
}

std::string text_of(const std::string& file) {
  return trim(read_file(file, list_bytes_max).value_or(""));
}

std::vector<NumaNode> read_nodes(const std::string& folder) {
  std::vector<NumaNode> nodes;
  for (const std::string& name : names_in(folder).value_or(std::vector<std::string>())) {
    if (!name.starts_with(node_folder)) continue;
    const std::optional<std::int64_t> number =
        number_up_to(std::string_view(name).substr(node_folder.size()), nodes_max);
    std::optional<Cpus> cpus = cpus_from(text_of(folder + "/" + name + "/cpulist"));
    if (number && cpus) nodes.push_back({static_cast<int>(*number), *std::move(cpus)});
  }
  std::sort(nodes.begin(), nodes.end(),
            [](const NumaNode& a, const NumaNode& b) { return a.number < b.number; });
  return nodes;
}

/// The folders of the driver have the names that the kernel gives the cards' places.
std::vector<NumaCard> read_cards(const std::string& sys, const std::string& driver) {
  std::vector<NumaCard> cards;
  std::vector<std::string> names = names_in(driver).value_or(std::vector<std::string>());
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);
  });
  for (const std::string& name : names) {
    const auto place = gpu_place_from(text_of(driver + "/" + name + "/information"));
    if (!place) continue;
    const auto node = number_up_to(text_of(sys + "/bus/pci/devices/" + name + "/numa_node"),
                                   nodes_max);  // -1: of none.
    cards.push_back({place->second, node ? std::optional(static_cast<int>(*node)) : std::nullopt});
  }
  return cards;
}

std::string count_text(std::size_t count) {
  return std::to_string(count) + (count == 1 ? " CPU" : " CPUs");
}

}  // namespace

NumaMachine read_numa(const std::string& sys, const std::string& driver) {
  return {read_nodes(sys + "/devices/system/node"), read_cards(sys, driver)};
}

std::size_t fair_share(std::size_t total, std::size_t own, std::size_t all) {
  return all == 0 ? total : std::max<std::size_t>(total * std::min(own, all) / all, 1);
}

NumaPlace place_host(const std::vector<NumaNode>& nodes, const NumaWish& wish) {
  if (nodes.size() < 2 || wish.gpus.empty()) return {};
  std::set<int> numbers;
  for (const NumaCard& gpu : wish.gpus) {
    if (!gpu.node || find_node(nodes, *gpu.node) == nullptr)
      return {.why_not = "this machine does not report the node of every GPU"};
    numbers.insert(*gpu.node);
  }
  NumaPlace place{.nodes = {numbers.begin(), numbers.end()}};
  bool has_others = false;  // Nodes of memory alone, as a GPU's own, are not for processes.
  for (const NumaNode& node : nodes) {
    if (numbers.contains(node.number)) {
      const Cpus here = common_cpus(node.cpus, wish.allowed);
      place.cpus.insert(place.cpus.end(), here.begin(), here.end());
    } else {
      has_others = has_others || !node.cpus.empty();
    }
  }
  std::sort(place.cpus.begin(), place.cpus.end());
  if (!has_others) return {};
  if (!place.cpus.empty() && place.cpus.size() >= wish.cpus) return place;
  return {.why_not = "the host's share is " + count_text(wish.cpus) + ", but node " +
                     cpu_list(place.nodes) + " of its GPUs has " + count_text(place.cpus.size()) +
                     " for it"};
}

std::vector<NumaNode> nodes_of_gpus(const std::vector<NumaNode>& nodes,
                                    const std::vector<NumaCard>& gpus) {
  std::vector<NumaNode> found;
  for (const NumaCard& gpu : gpus) {
    const NumaNode* const node = gpu.node ? find_node(nodes, *gpu.node) : nullptr;
    if (node == nullptr) return {};
    found.push_back(*node);
  }
  const bool is_one = std::all_of(found.begin(), found.end(),
                                  [&](const NumaNode& node) { return node == found.front(); });
  return is_one ? std::vector<NumaNode>() : found;
}

std::string numa_text(const std::vector<NumaNode>& nodes_of_gpus) {
  std::vector<std::string> words;
  for (const NumaNode& node : nodes_of_gpus)
    words.push_back(std::to_string(node.number) + ":" + cpu_list(node.cpus));
  return join(words, " ");
}

std::vector<NumaNode> numa_from(std::string_view text) {
  std::vector<NumaNode> nodes;
  for (const std::string& word : split_words(text)) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos || nodes.size() == job::gpus_max) return {};
    const auto number = number_up_to(std::string_view(word).substr(0, colon), nodes_max);
    std::optional<Cpus> cpus = cpus_from(std::string_view(word).substr(colon + 1));
    if (!number || !cpus) return {};
    nodes.push_back({static_cast<int>(*number), *std::move(cpus)});
  }
  return nodes;
}

std::optional<NumaNode> place_rank(const std::vector<NumaNode>& nodes_of_gpus, const Cpus& allowed,
                                   int local_rank, int local_size) {
  const std::size_t count = nodes_of_gpus.size();
  if (local_rank < 0 || local_rank >= local_size || static_cast<std::size_t>(local_size) != count)
    return std::nullopt;
  NumaNode place = nodes_of_gpus[static_cast<std::size_t>(local_rank)];
  const auto ranks_there =
      static_cast<std::size_t>(std::count(nodes_of_gpus.begin(), nodes_of_gpus.end(), place));
  place.cpus = common_cpus(place.cpus, allowed);
  if (place.cpus.size() < fair_share(allowed.size(), ranks_there, count)) return std::nullopt;
  return place;
}

}  // namespace muster::devices
