#include "os/devices/mig.h"

#include <algorithm>
#include <cctype>
#include <tuple>
#include <utility>

#include "base/fd.h"
#include "base/files/folder.h"
#include "base/text.h"
#include "os/devices/gpu_figures.h"

namespace muster::devices {
namespace {

constexpr int numbers_max = 9999;
constexpr std::size_t parts_max = 1024;
constexpr std::size_t access_bytes_max = 4096;
constexpr std::size_t uuid_bytes_max = 80;
constexpr std::string_view capability_start = "nvidia-cap";

std::optional<int> number_after(std::string_view start, std::string_view text) {
  if (!text.starts_with(start)) return std::nullopt;
  const auto number = number_up_to(text.substr(start.size()), numbers_max);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

/// Folders named as "gi1": path and number.
std::vector<std::pair<std::string, int>> numbered_in(const std::string& folder,
                                                     std::string_view start) {
  std::vector<std::pair<std::string, int>> found;
  for (const std::string& name : names_in(folder).value_or(std::vector<std::string>()))
    if (const std::optional<int> number = number_after(start, name))
      found.emplace_back(folder + "/" + name, *number);
  return found;
}

/// "DeviceFileMinor: 21"
std::optional<int> capability_in(const std::string& folder) {
  const std::string text = read_file(folder + "/access", access_bytes_max).value_or("");
  for (const std::string& line : split(text, '\n'))
    if (const std::optional<int> number = number_after("DeviceFileMinor:", line)) return number;
  return std::nullopt;
}

std::string part_name(int card, int gpu_instance, int compute_instance) {
  return "/dev/nvidia" + std::to_string(card) + ":gi" + std::to_string(gpu_instance) + ":ci" +
         std::to_string(compute_instance);
}

Edits::Node capability_node(const std::string& dev, int number) {
  const std::string path = "/nvidia-caps/" + std::string(capability_start) + std::to_string(number);
  return {dev + path, "/dev" + path};
}

/// "MIG-c7384736-a75d-5afc-978f-d2f1294409fd", "MIG-GPU-…/1/0" of older drivers.
bool is_mig_uuid(const std::string& text) {
  return text.starts_with("MIG-") && text.size() <= uuid_bytes_max &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '/'; });
}

/// "  MIG 3g.20gb     Device  0: (UUID: MIG-…)"
std::optional<MigName> part_in(const std::string& line, int index) {
  const std::vector<std::string> words = split_words(line);
  if (words.size() < 6 || words[0] != "MIG" || words[words.size() - 2] != "(UUID:")
    return std::nullopt;
  const std::string& number = words[words.size() - 3];
  std::string uuid = words.back();
  if (!number.ends_with(':') || !uuid.ends_with(')')) return std::nullopt;
  uuid.pop_back();
  const auto device = number_up_to(number.substr(0, number.size() - 1), numbers_max);
  if (!device || !is_mig_uuid(uuid)) return std::nullopt;
  return MigName{index, static_cast<int>(*device), std::move(uuid)};
}

/// The first cell of "|  0    1   0   0  |     11MiB / 20224MiB | …": card, GPU instance, compute
/// instance, device.
std::optional<std::vector<int>> row_in(const std::string& line) {
  const std::vector<std::string> cells = split(line, '|');
  if (cells.size() < 3 || !cells.front().empty()) return std::nullopt;
  std::vector<int> numbers;
  for (const std::string& word : split_words(cells[1])) {
    const auto number = number_up_to(word, numbers_max);
    if (!number) return std::nullopt;
    numbers.push_back(static_cast<int>(*number));
  }
  return numbers.size() == 4 ? std::optional(numbers) : std::nullopt;
}

}  // namespace

std::vector<MigPart> read_mig(const std::string& capabilities) {
  std::vector<MigPart> parts;
  for (const auto& [card_folder, card] : numbered_in(capabilities, "gpu"))
    for (const auto& [gpu_folder, gpu] : numbered_in(card_folder + "/mig", "gi"))
      for (const auto& [compute_folder, compute] : numbered_in(gpu_folder, "ci")) {
        const std::optional<int> of_gpu = capability_in(gpu_folder);
        const std::optional<int> of_compute = capability_in(compute_folder);
        if (of_gpu && of_compute && parts.size() < parts_max)
          parts.push_back({card, gpu, compute, *of_gpu, *of_compute});
      }
  std::sort(parts.begin(), parts.end(), [](const MigPart& a, const MigPart& b) {
    return std::tuple(a.card, a.gpu_instance, a.compute_instance) <
           std::tuple(b.card, b.gpu_instance, b.compute_instance);
  });
  return parts;
}

std::vector<Gpu> in_parts(const std::vector<Gpu>& cards, const std::vector<MigPart>& parts,
                          const std::string& dev) {
  std::vector<Gpu> gpus;
  for (const Gpu& card : cards) {
    bool is_whole = true;
    for (const MigPart& part : parts) {
      if (card.number() != part.card) continue;
      is_whole = false;
      Gpu gpu = card;
      gpu.name = part_name(part.card, part.gpu_instance, part.compute_instance);
      for (const int number : {part.gpu_capability, part.compute_capability})
        gpu.own.nodes.push_back(capability_node(dev, number));
      gpus.push_back(std::move(gpu));
    }
    if (is_whole) gpus.push_back(card);
  }
  return gpus;
}

bool is_part(const Gpu& gpu) {
  return std::any_of(gpu.own.nodes.begin(), gpu.own.nodes.end(), [](const Edits::Node& node) {
    return node.inside.substr(node.inside.rfind('/') + 1).starts_with(capability_start);
  });
}

Args mig_list_command() {
  return {"nvidia-smi", "-L"};
}

Args mig_table_command() {
  return {"nvidia-smi"};
}

std::vector<MigName> mig_names_in(std::string_view list, std::string_view table) {
  std::vector<MigName> names;
  std::optional<int> index;
  for (const std::string& line : split(list, '\n')) {
    if (line.starts_with("GPU ")) index = number_after("GPU ", line.substr(0, line.find(':')));
    std::optional<MigName> name = index ? part_in(line, *index) : std::nullopt;
    if (name && names.size() < parts_max) names.push_back(*std::move(name));
  }
  for (const std::string& line : split(table, '\n')) {
    if (line.find("Processes") != std::string::npos) break;
    const std::optional<std::vector<int>> row = row_in(line);
    for (MigName& name : names)
      if (row && name.index == row->at(0) && name.device == row->at(3)) {
        name.gpu_instance = row->at(1);
        name.compute_instance = row->at(2);
      }
  }
  return names;
}

void set_uuids(std::vector<Gpu>& gpus, const std::vector<MigName>& names,
               const std::vector<int>& cards) {
  for (const MigName& name : names) {
    const auto place = static_cast<std::size_t>(name.index);
    const int card = place < cards.size() ? cards[place] : name.index;
    const std::string plain =
        name.gpu_instance ? part_name(card, *name.gpu_instance, *name.compute_instance) : "";
    const std::string in_cdi = "=" + std::to_string(name.index) + ":" + std::to_string(name.device);
    for (Gpu& gpu : gpus)
      if (gpu.uuid.empty() && is_part(gpu) && (gpu.name == plain || gpu.name.ends_with(in_cdi)))
        gpu.uuid = name.uuid;
  }
}

}  // namespace muster::devices
