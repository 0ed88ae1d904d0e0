#include "job/wire/nccl_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/terminal.h"
#include "base/text.h"
#include "job/wire/rank_ranges.h"

namespace muster::job {
namespace {

using Collectives = NcclReport::Collectives;

constexpr std::size_t communicators_max = 256;
constexpr std::size_t hash_bytes_max = 32;  ///< NCCL's has 18; the name is copied for each line.
constexpr int rank_max = 1'000'000;
constexpr const char* collectives_names[] = {"unknown", "none", "open"};

/// A line must not look like several.
void add_line(NcclReport& report, const std::string& line) {
  if (report.lines.size() >= nccl_lines_max) return;
  const std::string shown = visible_line(line.substr(0, nccl_line_bytes_max));
  report.lines.push_back(to_utf8(shown.substr(0, nccl_line_bytes_max)));
}

const Json& member(const Json& json, const char* name) {
  static const Json none;
  if (!json.is_object()) return none;
  const auto found = json.find(name);
  return found == json.end() ? none : *found;
}

std::optional<std::int64_t> whole(const Json& json) {
  return json.is_number_integer() ? std::optional(json.get<std::int64_t>()) : std::nullopt;
}

std::optional<int> rank_of(const Json& json) {
  const std::optional<std::int64_t> rank = whole(member(json, "rank"));
  return rank && *rank >= 0 && *rank <= rank_max ? std::optional(static_cast<int>(*rank))
                                                 : std::nullopt;
}

std::set<int> ranks_in(const Json& list) {
  std::set<int> ranks;
  for (const Json& each : list.is_array() ? list : Json::array())
    if (const std::optional<int> rank = rank_of(each)) ranks.insert(*rank);
  return ranks;
}

/// The ranks of a communicator, by the number of operations that they have started.
using Started = std::map<std::int64_t, std::set<int>, std::greater<>>;

/// By the operation's name: "AllReduce".
std::map<std::string, Started> started_in(const Json& ranks) {
  std::map<std::string, Started> all;
  for (const Json& each : ranks.is_array() ? ranks : Json::array()) {
    const std::optional<int> rank = rank_of(each);
    const Json& counts = member(each, "collective_counts");
    if (!rank || !counts.is_object()) continue;
    for (const auto& [name, count] : counts.items())
      if (const std::optional<std::int64_t> number = whole(count)) all[name][*number].insert(*rank);
  }
  return all;
}

std::string text_of(const Started& started) {
  std::vector<std::string> parts;
  for (const auto& [count, ranks] : started)
    parts.push_back(rank_names(ranks) + " started " + std::to_string(count));
  return join(parts, ", ");
}

void read_communicator(const Json& json, NcclReport& report, bool& any_started) {
  const Json& hash = member(json, "hash");
  const std::string number =
      hash.is_string() ? hash.get_ref<const std::string&>().substr(0, hash_bytes_max) : "";
  const std::string name = "communicator " + number + " of " +
                           std::to_string(whole(member(json, "size")).value_or(0)) + " ranks: ";
  const std::set<int> missing = ranks_in(member(json, "missing_ranks"));
  if (!missing.empty()) {
    add_line(report,
             name + rank_names(missing) + (missing.size() == 1 ? " is" : " are") + " missing");
    any_started = true;  // Nothing is known of these.
  }
  for (const auto& [operation, started] : started_in(member(json, "ranks"))) {
    any_started = any_started || started.begin()->first > 0;
    if (started.size() < 2) continue;
    report.collectives = Collectives::open;
    add_line(report, name + operation + ": " + text_of(started));
  }
}

NcclReport from_json(const Json& answer) {
  NcclReport report;
  const Json& list = member(answer, "communicators");
  if (!list.is_array()) return report;
  bool any_started = list.size() > communicators_max;
  for (std::size_t i = 0; i < std::min(list.size(), communicators_max); ++i)
    read_communicator(list[i], report, any_started);
  if (report.collectives == Collectives::unknown && !any_started)
    report.collectives = Collectives::none;
  return report;
}

/// The sections "Errors" and "Warnings"; a line of '=' follows each heading.
NcclReport from_text(std::string_view answer) {
  NcclReport report;
  bool inside = false;
  std::string before;
  for (const std::string& text : split(answer, '\n')) {
    const std::string line = trim(text);
    if (!line.empty() && line.find_first_not_of('=') == std::string::npos) {
      inside = before == "Errors" || before == "Warnings";
    } else if (inside && !line.empty() && line != "Warnings") {
      add_line(report, line);
      if (line.find("operation counts") != std::string::npos)
        report.collectives = Collectives::open;
    }
    before = line;
  }
  return report;
}

}  // namespace

NcclReport nccl_report_from(std::string_view answer) {
  if (!answer.starts_with("SERVER PROTOCOL ")) return {};
  const std::size_t start = answer.find("\n{");
  if (start == std::string_view::npos) return from_text(answer);
  const Result<Json> json = parse_json(answer.substr(start + 1));
  return json ? from_json(*json) : NcclReport{};
}

Json to_json(const NcclReport& report) {
  return {{"collectives", collectives_names[static_cast<int>(report.collectives)]},
          {"lines", report.lines}};
}

Result<NcclReport> nccl_report_from_json(const Json& json) {
  const Json& lines = member(json, "lines");
  if (!lines.is_array())
    return fail(Errc::protocol, "nccl: expected an object {collectives, lines}");
  NcclReport report;
  for (const Collectives each : {Collectives::none, Collectives::open})
    if (member(json, "collectives") == collectives_names[static_cast<int>(each)])
      report.collectives = each;
  for (const Json& each : lines) {
    if (!each.is_string()) return fail(Errc::protocol, "nccl: expected each line to be a string");
    add_line(report, each.get<std::string>());
  }
  return report;
}

}  // namespace muster::job
