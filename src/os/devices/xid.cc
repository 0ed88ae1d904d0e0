#include "os/devices/xid.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/letters.h"
#include "base/text.h"
#include "os/devices/gpu_figures.h"

namespace muster::devices {
namespace {

constexpr int recovery_action = 154;
constexpr std::int64_t numbers_max = 9999;
constexpr std::int64_t pids_max = 1 << 22;  ///< The kernel's own limit.
constexpr std::size_t bus_bytes_max = 32;
constexpr std::size_t action_bytes_max = 64;
constexpr std::size_t history_max = 16;

struct Row {
  int number;
  XidBlame blame;
  const char* what;  ///< Behind "GPU N", with its own separator.
};
constexpr Row rows[] = {
    {13, XidBlame::program, ": the program's kernel failed"},
    {31, XidBlame::program, ": illegal memory access by the program"},
    {43, XidBlame::program, ": the program was stopped after its own error"},
    {45, XidBlame::program, ": the program's work was removed after an error"},
    {46, XidBlame::machine, " stopped working"},
    {48, XidBlame::machine, " has a memory error that cannot be corrected"},
    {62, XidBlame::machine, " halted one of its controllers"},
    {63, XidBlame::nobody, ": a row of its memory will be replaced at the next reset"},
    {64, XidBlame::machine, " could not replace a row of its memory"},
    {68, XidBlame::program, ": the video decoder failed while the program used it"},
    {69, XidBlame::program, ": illegal command by the program"},
    {74, XidBlame::machine, " has an NVLink error"},
    {79, XidBlame::machine, " fell off the bus"},
    {92, XidBlame::nobody, ": many memory errors, all corrected"},
    {94, XidBlame::memory, " has a memory error that affected only this program"},
    {95, XidBlame::machine, " has a memory error that spread beyond one program"},
    {109, XidBlame::machine, " did not switch between programs in time"},
    {110, XidBlame::machine, " had a security fault"},
    {119, XidBlame::machine, ": its firmware does not respond"},
    {120, XidBlame::machine, ": its firmware failed"},
    {136, XidBlame::machine, " could not set up its NVLink"},
    {140, XidBlame::machine, " has a memory error that cannot be corrected"},
    {143, XidBlame::machine, " could not be initialized"},
    {158, XidBlame::machine, " did not respond in time"},
};

const Row* row_of(int number) {
  const auto* const found = std::find_if(std::begin(rows), std::end(rows),
                                         [number](const Row& row) { return row.number == number; });
  return found == std::end(rows) ? nullptr : found;
}

/// The first number of a record: priority and facility, which is 0 for the kernel's own.
bool is_kernels(std::string_view record) {
  constexpr std::int64_t kernel_priority_max = 7;
  const std::string_view head = record.substr(0, record.find(','));
  return head.size() < record.size() && number_up_to(head, kernel_priority_max).has_value();
}

/// "… changed from 0x0 (None) to 0x1 (GPU Reset Required)": the text in the last brackets.
std::string last_in_brackets(std::string_view text) {
  const std::size_t open = text.rfind('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  const std::string_view inside = text.substr(open + 1, close - open - 1);
  const bool plain = std::all_of(inside.begin(), inside.end(),
                                 [](char c) { return is_letter_or_digit(c) || c == ' '; });
  return plain && inside.size() <= action_bytes_max ? std::string(inside) : std::string();
}

/// ", pid=596, name=…". The name comes last: what looks like a pid inside it is a job's own text.
std::int64_t pid_after(std::string_view text) {
  constexpr std::string_view start = ", pid=";
  if (!text.starts_with(start)) return 0;
  text.remove_prefix(start.size());
  return number_up_to(text.substr(0, text.find(',')), pids_max).value_or(0);
}

/// A field that is a whole number, as text.
std::optional<std::int64_t> number_at(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end() || !found->is_string()) return std::nullopt;
  return number_up_to(found->get_ref<const std::string&>(), numbers_max);
}

bool needs_recovery(const Xid& xid) {
  return !xid.action.empty() && xid.action != "None";
}

/// Without whose fault it is.
std::string event_of(int gpu, const Xid& xid) {
  std::string text = "GPU " + std::to_string(gpu);
  const Row* row = row_of(xid.number);
  if (row != nullptr) text += row->what;
  if (!xid.action.empty())
    text += needs_recovery(xid) ? " needs recovery: " + xid.action : " needs no recovery";
  return text + (row == nullptr && xid.action.empty()
                     ? ": Xid " + std::to_string(xid.number)
                     : " (Xid " + std::to_string(xid.number) + ")");
}

}  // namespace

std::optional<std::string> record_in_journal(std::string_view line) {
  constexpr std::int64_t priorities = 8;
  const Result<Json> json = parse_json(line);
  if (!json || !json->is_object()) return std::nullopt;
  const auto text = json->find("MESSAGE");
  const std::optional<std::int64_t> facility = number_at(*json, "SYSLOG_FACILITY");
  const std::optional<std::int64_t> priority = number_at(*json, "PRIORITY");
  if (text == json->end() || !text->is_string() || !facility || !priority) return std::nullopt;
  return std::to_string(*facility * priorities + *priority) + ",0,0,-;" + text->get<std::string>();
}

std::optional<Xid> xid_in(std::string_view record) {
  constexpr std::string_view start = "NVRM: Xid (PCI:";
  if (!is_kernels(record)) return std::nullopt;
  std::string_view text = record.substr(std::min(record.find(';'), record.size() - 1) + 1);
  text = text.substr(0, text.find('\n'));
  if (!text.starts_with(start)) return std::nullopt;
  text.remove_prefix(start.size());
  const std::size_t end = text.find("): ");
  if (end > bus_bytes_max) return std::nullopt;
  Xid xid;
  xid.bus = bus_name(text.substr(0, end));
  text.remove_prefix(end + 3);
  const std::optional<std::int64_t> number =
      number_up_to(text.substr(0, text.find(',')), numbers_max);
  if (!number) return std::nullopt;
  xid.number = static_cast<int>(*number);
  xid.pid = pid_after(text.substr(std::min(text.find(','), text.size())));
  if (xid.number == recovery_action) xid.action = last_in_brackets(text);
  return xid;
}

XidBlame blame_of(const Xid& xid) {
  if (xid.number == recovery_action)
    return needs_recovery(xid) ? XidBlame::machine : XidBlame::nobody;
  const Row* row = row_of(xid.number);
  return row == nullptr ? XidBlame::nobody : row->blame;
}

std::string describe(int gpu, const Xid& xid) {
  return event_of(gpu, xid) + (blame_of(xid) >= XidBlame::memory ? ": not your code" : "");
}

std::vector<std::string> history_of(const std::vector<Xid>& xids,
                                    const std::map<std::string, int>& places) {
  std::map<std::string, int> numbers;
  for (const auto& [place, number] : places) numbers[place.substr(0, place.rfind('.'))] = number;
  std::map<std::pair<int, std::string>, int> counts;  // By blame, the worst first.
  for (const Xid& xid : xids) {
    const auto card = numbers.find(xid.bus);
    if (card != numbers.end())
      ++counts[{-static_cast<int>(blame_of(xid)), event_of(card->second, xid)}];
  }
  std::vector<std::string> lines;
  for (const auto& [event, count] : counts)
    if (lines.size() < history_max)
      lines.push_back(event.second + (count > 1 ? ", " + std::to_string(count) + " times" : ""));
  return lines;
}

}  // namespace muster::devices
