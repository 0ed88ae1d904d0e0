#include "os/devices/gpu_figures.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace muster::devices {
namespace {

constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t memory_mib_max = std::int64_t{1} << 32;
constexpr int numbers_max = 9999;

}  // namespace

std::optional<std::int64_t> number_up_to(std::string_view text, std::int64_t most) {
  const std::optional<std::int64_t> number = parse_integer(trim(text));
  return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

Args figures_command() {
  return {"nvidia-smi", "--query-gpu=index,pci.bus_id,utilization.gpu,memory.used",
          "--format=csv,noheader,nounits", "--loop=1"};
}

std::string bus_name(std::string_view text) {
  std::string name = trim(text);
  name.erase(0, std::min(name.find_first_not_of('0'), name.size()));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

std::optional<GpuFigures> figures_from(std::string_view line) {
  const std::vector<std::string> fields = split(line, ',');
  if (fields.size() != 4) return std::nullopt;
  const std::optional<std::int64_t> index = number_up_to(fields[0], numbers_max);
  const std::optional<std::int64_t> percent = number_up_to(fields[2], 100);
  const std::optional<std::int64_t> memory = number_up_to(fields[3], memory_mib_max);
  if (!index || !percent || !memory) return std::nullopt;
  return GpuFigures{static_cast<int>(*index), bus_name(fields[1]), static_cast<int>(*percent),
                    *memory * mib};
}

std::optional<std::pair<std::string, int>> gpu_place_from(std::string_view text) {
  std::string bus;
  std::optional<std::int64_t> number;
  for (const std::string& line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string name = trim(line.substr(0, colon));
    if (name == "Bus Location") bus = bus_name(line.substr(colon + 1));
    if (name == "Device Minor") number = number_up_to(line.substr(colon + 1), numbers_max);
  }
  if (bus.empty() || !number) return std::nullopt;
  return std::pair(bus, static_cast<int>(*number));
}

std::optional<int> gpu_number(std::string_view path) {
  constexpr std::string_view begin = "nvidia";
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(begin)) return std::nullopt;
  const std::string_view digits = name.substr(begin.size());
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos)
    return std::nullopt;
  const std::optional<std::int64_t> number = number_up_to(digits, numbers_max);
  return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
}

std::vector<int> gpu_numbers(std::string_view visible) {
  std::vector<int> numbers;
  for (const std::string& word : split(visible, ',')) {
    const std::optional<std::int64_t> number = number_up_to(word, numbers_max);
    if (!number) return {};
    numbers.push_back(static_cast<int>(*number));
  }
  return numbers;
}

}  // namespace muster::devices
