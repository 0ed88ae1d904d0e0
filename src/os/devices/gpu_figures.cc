#include "os/devices/gpu_figures.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"

namespace muster::devices {
namespace {

constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t megabyte = 1'000'000;
constexpr std::int64_t memory_mib_max = std::int64_t{1} << 32;
constexpr int numbers_max = 9999;
constexpr std::size_t fields_basic = 4;
constexpr std::size_t fields_whole = 10;
constexpr std::int64_t watts_max = 100'000;
constexpr std::int64_t celsius_max = 1000;
constexpr std::int64_t mhz_max = 1'000'000;
constexpr std::int64_t speed_max = 100'000'000;  ///< MB/s or MiB/s.
constexpr std::size_t columns_max = 64;
constexpr std::int64_t reasons_max = std::int64_t{1} << 60;

/// The whole part of "86.82"; -1 for other text, such as "[N/A]".
std::int64_t whole_part(std::string_view text, std::int64_t most) {
  return number_up_to(text.substr(0, text.find('.')), most).value_or(-1);
}

/// "0x0000000000000004"; -1 for other text.
std::int64_t hexadecimal(std::string_view text) {
  const std::string word = trim(text);
  if (!word.starts_with("0x")) return -1;
  std::int64_t number = -1;
  const char* const end = word.data() + word.size();
  const auto read = std::from_chars(word.data() + 2, end, number, 16);
  return read.ec == std::errc() && read.ptr == end && number >= 0 && number <= reasons_max ? number
                                                                                           : -1;
}

/// In the order of figures_command().
job::GpuState state_from(const std::vector<std::string>& fields) {
  const std::int64_t total = whole_part(fields[4], memory_mib_max);
  return {.memory_total_bytes = total < 0 ? -1 : total * mib,
          .power_watts = static_cast<int>(whole_part(fields[5], watts_max)),
          .temperature_celsius = static_cast<int>(whole_part(fields[6], celsius_max)),
          .sm_mhz = static_cast<int>(whole_part(fields[7], mhz_max)),
          .memory_mhz = static_cast<int>(whole_part(fields[8], mhz_max)),
          .clock_reasons = hexadecimal(fields[9])};
}

}  // namespace

std::optional<std::int64_t> number_up_to(std::string_view text, std::int64_t most) {
  const std::optional<std::int64_t> number = parse_integer(trim(text));
  return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

Args figures_command(bool whole) {
  std::string fields = "index,pci.bus_id,utilization.gpu,memory.used";
  // The last one's older name, which newer drivers know, too.
  if (whole)
    fields +=
        ",memory.total,power.draw,temperature.gpu,clocks.sm,clocks.mem,"
        "clocks_throttle_reasons.active";
  return {"nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader,nounits", "--loop=1"};
}

Args traffic_command(bool whole) {
  Args words = {"nvidia-smi", "dmon", "-s", "t", "-d", "1"};
  // NVLink's total bytes per second: NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC and …TX….
  if (whole) words.insert(words.end(), {"--gpm-metrics", "60,61"});
  return words;
}

std::optional<std::pair<int, job::GpuTraffic>> TrafficReader::take(std::string_view line) {
  std::vector<std::string> words = split_words(line);
  if (words.empty()) return std::nullopt;
  if (words[0].starts_with('#')) {  // "# gpu  rxpci  txpci", and below it the units.
    if (words.size() > 1 && words[1] == "gpu" && words.size() <= columns_max)
      columns_.assign(words.begin() + 1, words.end());
    return std::nullopt;
  }
  const auto index = number_up_to(words[0], numbers_max);
  if (!index || columns_.empty() || words.size() != columns_.size()) return std::nullopt;
  job::GpuTraffic traffic;
  struct Column {
    std::string_view name;
    std::int64_t unit;  // As the line below the head says: "MB/s", "GPM:MiB/s".
    std::int64_t* value;
  };
  const Column known[] = {{"rxpci", megabyte, &traffic.pcie_in},
                          {"txpci", megabyte, &traffic.pcie_out},
                          {"nvlrx", mib, &traffic.nvlink_in},
                          {"nvltx", mib, &traffic.nvlink_out}};
  for (std::size_t i = 1; i < words.size(); ++i)
    for (const Column& column : known)
      if (columns_[i] == column.name)
        if (const std::int64_t speed = whole_part(words[i], speed_max); speed >= 0)
          *column.value = speed * column.unit;
  return std::pair(static_cast<int>(*index), traffic);
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
  if (fields.size() != fields_basic && fields.size() != fields_whole) return std::nullopt;
  const std::optional<std::int64_t> index = number_up_to(fields[0], numbers_max);
  const std::optional<std::int64_t> percent = number_up_to(fields[2], 100);
  const std::optional<std::int64_t> memory = number_up_to(fields[3], memory_mib_max);
  if (!index || !percent || !memory) return std::nullopt;
  GpuFigures figures{static_cast<int>(*index), bus_name(fields[1]), static_cast<int>(*percent),
                     *memory * mib};
  if (fields.size() == fields_whole) figures.state = state_from(fields);
  return figures;
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
