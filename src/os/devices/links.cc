#include "os/devices/links.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/terminal.h"
#include "base/text.h"
#include "os/devices/gpu_figures.h"

namespace muster::devices {
namespace {

constexpr std::int64_t cards_max = 1024;
constexpr std::int64_t links_max = 64;
constexpr std::size_t ports_max = 256;
constexpr std::string_view card_start = "GPU ";
constexpr std::string_view link_start = "Link ";

/// The number at the start of a text: 26.562 in "26.562 GB/s", 400 in "400 Gb/sec (4X NDR)".
double leading_number(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// The number in "GPU 3: NVIDIA H100 (UUID: …)" or "Link 3: 26.562 GB/s".
std::optional<int> numbered_line(std::string_view line, std::string_view start, std::int64_t most) {
  if (!line.starts_with(start)) return std::nullopt;
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto number = number_up_to(line.substr(start.size(), colon - start.size()), most);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::string of_links(std::size_t count, std::size_t all, const char* one, const char* more) {
  return std::to_string(count) + " of " + std::to_string(all) + " NVLinks " +
         (count == 1 ? one : more);
}

/// "ACTIVE" of "4: ACTIVE".
std::string word_of(const std::string& state) {
  const std::size_t colon = state.find(':');
  return trim(colon == std::string::npos ? state : state.substr(colon + 1));
}

bool is_up(const RdmaPort& port) {
  return word_of(port.state) == "ACTIVE";
}

/// The rate that more than half of the ports of this model have, as they say it; else empty.
std::string usual_rate(const std::vector<RdmaPort>& ports, const std::string& model) {
  std::map<std::string, std::size_t> counts;
  std::size_t all = 0;
  for (const RdmaPort& port : ports)
    if (port.model == model && is_up(port) && ++all > 0) ++counts[port.rate];
  for (const auto& [rate, count] : counts)
    if (2 * count > all) return rate;
  return {};
}

}  // namespace

Args nvlink_command() {
  return {"nvidia-smi", "nvlink", "--status"};
}

std::map<int, std::vector<std::string>> nvlink_remarks(std::string_view text) {
  std::map<int, std::vector<std::string>> rates;  // By card: one of each link; empty if it is down.
  std::optional<int> card;
  std::string fastest;
  for (const std::string& each : split(text, '\n')) {
    const std::string line = trim(each);
    if (const auto number = numbered_line(line, card_start, cards_max)) card = number;
    if (!card || !numbered_line(line, link_start, links_max)) continue;
    const std::string rate = trim(line.substr(line.find(':') + 1));
    const bool is_down = leading_number(rate) <= 0;
    rates[*card].push_back(is_down ? std::string() : rate);
    if (!is_down && leading_number(rate) > leading_number(fastest)) fastest = rate;
  }
  std::map<int, std::vector<std::string>> remarks;
  for (const auto& [number, links] : rates) {
    const auto down = static_cast<std::size_t>(std::count(links.begin(), links.end(), ""));
    const auto full = static_cast<std::size_t>(std::count(links.begin(), links.end(), fastest));
    const std::size_t slow = links.size() - down - full;
    if (down == links.size()) continue;
    if (down > 0) remarks[number].push_back(of_links(down, links.size(), "is down", "are down"));
    if (slow > 0)
      remarks[number].push_back(of_links(slow, links.size(), "is", "are") + " slower than " +
                                visible_line(fastest));
  }
  return remarks;
}

std::vector<std::string> rdma_remarks(const std::vector<RdmaPort>& ports) {
  std::vector<std::string> remarks;
  for (std::size_t i = 0; i < std::min(ports.size(), ports_max); ++i) {
    const RdmaPort& port = ports[i];
    const std::string physical = word_of(port.physical);
    if (!is_up(port) && physical != "Disabled")
      remarks.push_back(visible_line(port.name + " is down (" + physical + ")"));
    const std::string usual = usual_rate(ports, port.model);
    if (is_up(port) && leading_number(port.rate) < leading_number(usual))
      remarks.push_back(visible_line(port.name + " runs at " + port.rate + ", others at " + usual));
  }
  return remarks;
}

std::string rdma_summary(const std::vector<RdmaPort>& ports) {
  std::map<std::string, int> counts;
  for (const RdmaPort& port : ports)
    if (is_up(port)) ++counts[port.rate];
  std::vector<std::string> parts;
  for (const auto& [rate, count] : counts) parts.push_back(std::to_string(count) + " x " + rate);
  return join(parts, " + ");
}

std::string direct_access_trouble(bool has_peermem, std::string_view driver,
                                  const std::string& kernel) {
  constexpr double open_modules_min = 515;
  if (has_peermem || driver.empty()) return {};
  const std::vector<std::string> version = split(kernel, '.');
  const double major = leading_number(version.front());
  const double minor = version.size() > 1 ? leading_number(version[1]) : 0;
  const bool new_kernel = major > 5 || (major == 5 && minor >= 12);
  double release = 0;
  for (const std::string& word : split_words(std::string(driver)))
    if (release == 0 && word.find('.') != std::string::npos) release = leading_number(word);
  const bool is_open = driver.find("Open Kernel Module") != std::string_view::npos;
  if (new_kernel && is_open && release >= open_modules_min) return {};
  return "GPUs and network adapters exchange data only through the machine's memory: load the "
         "module nvidia_peermem, or install NVIDIA's open kernel modules (Linux 5.12 and newer)";
}

std::string cuda_library_version(const std::vector<std::string>& names) {
  constexpr std::string_view start = "libcuda.so.";
  std::string version;
  for (const std::string& name : names) {
    if (!name.starts_with(start)) continue;
    const std::string rest = name.substr(start.size());
    const bool is_version = rest.find('.') != std::string::npos &&
                            rest.find_first_not_of("0123456789.") == std::string::npos;
    if (is_version && rest.size() > version.size()) version = rest;
  }
  return version;
}

}  // namespace muster::devices
