#include "os/devices/card_health.h"

#include <algorithm>

#include "base/terminal.h"
#include "base/text.h"
#include "os/devices/gpu_figures.h"

namespace muster::devices {
namespace {

constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t numbers_max = std::int64_t{1} << 40;
constexpr std::size_t cards_max = 1024;
constexpr std::size_t processes_max = 64;
constexpr std::size_t first_bytes_max = 200;
constexpr std::size_t indent = 4;  ///< Spaces of each level below a card.
constexpr std::string_view lost_start = "Unable to determine the device handle for GPU";
constexpr std::string_view processes = "Processes";
constexpr std::string_view process_field = "Processes/Process ID";

/// A card's lines: "Volatile" below "ECC Errors" is the start of "ECC Errors/Volatile/…".
using Values = std::multimap<std::string, std::string>;

struct Block {
  std::string bus;
  Values values{};
  bool lists_processes = false;
};

/// "Name   : value" at its level; a heading has no value.
struct Line {
  std::size_t level = 0;
  std::string name{};
  std::string value{};
};
Line line_of(const std::string& text) {
  const std::size_t start = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t colon = text.find(" : ", start);
  Line line{.level = start / indent, .name = trim(text.substr(start, colon - start))};
  if (colon != std::string::npos) line.value = trim(text.substr(colon + 3));
  return line;
}

std::string text_at(const Values& values, const std::string& path) {
  const auto found = values.find(path);
  return found == values.end() || found->second == "N/A" ? "" : found->second;
}

std::int64_t number_in(const std::string& text) {
  return number_up_to(text.substr(0, text.find(' ')), numbers_max).value_or(0);
}

bool says(const Values& values, const std::string& path, std::string_view word) {
  return text_at(values, path) == word;
}

/// Newer drivers count by place, older ones have a total.
std::int64_t uncorrected_errors(const Values& values) {
  constexpr std::string_view start = "ECC Errors/Volatile/";
  std::int64_t count = number_in(text_at(values, std::string(start) + "Double Bit/Total"));
  for (const auto& [path, value] : values)
    if (path.starts_with(start) && path.find("Uncorrectable") != std::string::npos)
      count += number_in(value);
  return count;
}

/// The driver's own word, where it has one; else by the flags with which it says that no new work
/// should start, or that the card has to be replaced.
std::string sickness_in(const Values& values) {
  const std::string action = text_at(values, "GPU Recovery Action");
  if (!action.empty() && action != "None") return "needs recovery: " + visible_line(action);
  if (says(values, "Remapped Rows/Remapping Failure Occurred", "Yes"))
    return "could not replace a row of its memory";
  if (says(values, "ECC Errors/Unrepairable Memory", "Yes"))
    return "has memory that cannot be repaired";
  for (const char* name : {"Retired Pages/Pending Page Blacklist", "Retired Pages/Pending"})
    if (says(values, name, "Yes")) return "has memory pages to retire: reboot, or reset the card";
  return {};
}

std::vector<std::string> remarks_in(const Values& values) {
  std::vector<std::string> remarks;
  if (const std::int64_t count = uncorrected_errors(values); count > 0)
    remarks.push_back(std::to_string(count) + " uncorrected memory error" +
                      (count == 1 ? "" : "s") + " since the last reset");
  if (says(values, "ECC Errors/Aggregate/SRAM Threshold Exceeded", "Yes"))
    remarks.emplace_back("too many errors in its SRAM");
  if (says(values, "Remapped Rows/Pending", "Yes"))
    remarks.emplace_back("a row of its memory will be replaced at the next reset");
  for (const char* name : {"Channel Repair Pending", "TPC Repair Pending"})
    if (says(values, std::string("ECC Errors/") + name, "Yes"))
      remarks.emplace_back("a repair will be done at the next reset");
  struct {
    const char* name;
    const char* text;
  } const slow[] = {{"HW Slowdown/HW Thermal Slowdown", "slowed down: too hot"},
                    {"SW Thermal Slowdown", "slowed down: too hot"},
                    {"HW Slowdown/HW Power Brake Slowdown", "slowed down by its power supply"}};
  for (const char* section : {"Clocks Event Reasons/", "Clocks Throttle Reasons/"})
    for (const auto& [name, text] : slow)
      if (says(values, std::string(section) + name, "Active") &&
          std::find(remarks.begin(), remarks.end(), text) == remarks.end())
        remarks.emplace_back(text);
  return remarks;
}

CardHealth health_of(const Block& block) {
  const auto number = number_up_to(text_at(block.values, "Minor Number"), cards_max);
  CardHealth health{
      .bus = block.bus,
      .number = number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt,
      .sickness = sickness_in(block.values),
      .remarks = remarks_in(block.values),
      .memory_used_bytes = number_in(text_at(block.values, "FB Memory Usage/Used")) * mib};
  const auto [first, last] = block.values.equal_range(std::string(process_field));
  for (auto each = first; each != last && health.processes.size() < processes_max; ++each)
    if (const auto pid = number_up_to(each->second, numbers_max)) health.processes.push_back(*pid);
  return health;
}

/// "…GPU 0000:0B:00.0: GPU is lost.  Reboot the system to recover this GPU", "…GPU0000:0B:00.0:
/// Unknown Error".
std::optional<CardHealth> lost_in(const std::string& line) {
  if (!line.starts_with(lost_start)) return std::nullopt;
  const std::string rest = trim(line.substr(lost_start.size()));
  const std::size_t end = rest.find(": ");
  if (end == std::string::npos) return std::nullopt;
  return CardHealth{.bus = bus_name(rest.substr(0, end)),
                    .sickness = "does not respond: " + visible_line(trim(rest.substr(end + 2)))};
}

class Reader {
 public:
  void take(const std::string& text) {
    if (first_.empty()) first_ = visible_line(trim(text.substr(0, first_bytes_max)));
    if (std::optional<CardHealth> lost = lost_in(text)) lost_.push_back(*std::move(lost));
    const Line line = line_of(text);
    if (line.name.empty()) return;
    if (line.level == 0 && line.name == "Attached GPUs" && !attached_)
      attached_ = number_up_to(line.value, cards_max);
    if (line.level == 0 && line.name.starts_with("GPU ") && line.value.empty() &&
        blocks_.size() <= cards_max) {
      blocks_.push_back({.bus = bus_name(line.name.substr(4))});
      path_.clear();
      return;
    }
    if (line.level == 0 || blocks_.empty()) return;
    path_.resize(std::min(path_.size(), line.level - 1));
    path_.push_back(line.name);
    const std::string path = join(path_, "/");
    // From here on programs chose parts of the text, names with line ends as well.
    if (path == processes) blocks_.back().lists_processes = true;
    if (blocks_.back().lists_processes && path != process_field) return;
    if (!line.value.empty()) blocks_.back().values.emplace(path, line.value);
  }

  Result<std::vector<CardHealth>> end() const {
    std::vector<CardHealth> cards = lost_;
    for (const Block& block : blocks_) cards.push_back(health_of(block));
    std::vector<std::string> places;
    for (const CardHealth& card : cards) places.push_back(card.bus);
    std::sort(places.begin(), places.end());
    const bool is_twice = std::adjacent_find(places.begin(), places.end()) != places.end();
    const bool is_count = blocks_.empty() || attached_ == static_cast<std::int64_t>(blocks_.size());
    if (!cards.empty() && !is_twice && is_count) return cards;
    // Without a head, the first line is the tool's own word on why it has none.
    const bool is_error = !attached_ && blocks_.empty() && !first_.empty();
    return fail(Errc::invalid_input,
                "nvidia-smi -q: " + (is_error ? first_ : std::string("unexpected output")));
  }

 private:
  std::optional<std::int64_t> attached_;
  std::vector<Block> blocks_;
  std::vector<CardHealth> lost_;
  std::vector<std::string> path_;
  std::string first_;  ///< The first line with text.
};

}  // namespace

Args card_health_command() {
  return {"nvidia-smi", "-q"};
}

Result<std::vector<CardHealth>> card_health_in(std::string_view text) {
  Reader reader;
  for (const std::string& line : split(text, '\n')) reader.take(line);
  return reader.end();
}

void add_numbers(std::vector<CardHealth>& cards, const std::map<std::string, int>& places) {
  for (CardHealth& card : cards)
    if (const auto found = places.find(card.bus); !card.number && found != places.end())
      card.number = found->second;
}

void add_remarks(std::vector<CardHealth>& cards,
                 const std::map<int, std::vector<std::string>>& remarks) {
  for (const auto& [index, lines] : remarks)
    if (index >= 0 && static_cast<std::size_t>(index) < cards.size()) {
      std::vector<std::string>& all = cards[static_cast<std::size_t>(index)].remarks;
      all.insert(all.end(), lines.begin(), lines.end());
    }
}

const CardHealth* card_of(const Gpu& gpu, const std::vector<CardHealth>& cards) {
  for (const std::string& file : gpu.files())
    if (const std::optional<int> number = gpu_number(file))
      for (const CardHealth& card : cards)
        if (card.number == number) return &card;
  return nullptr;
}

std::string name_of(const CardHealth& card) {
  return card.number ? "GPU " + std::to_string(*card.number)
                     : "the GPU at " + card.bus.substr(std::min<std::size_t>(1, card.bus.size()));
}

std::vector<std::string> remarks_on(const CardHealth& card) {
  std::vector<std::string> lines;
  for (const std::string& remark : card.remarks) lines.push_back(name_of(card) + ": " + remark);
  if (card.processes.empty()) return lines;
  std::vector<std::string> numbers;
  for (const std::int64_t pid : card.processes) numbers.push_back(std::to_string(pid));
  lines.push_back(name_of(card) + ": " + std::to_string(card.memory_used_bytes / mib) +
                  " MiB of its memory are in use by process " + join(numbers, ", "));
  return lines;
}

}  // namespace muster::devices
