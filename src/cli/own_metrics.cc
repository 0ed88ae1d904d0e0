#include "cli/own_metrics.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file_pieces.h"
#include "base/text.h"
#include "cli/job_view.h"

namespace muster::cli {
namespace {

/// What is read of a journal for its first metric.
constexpr std::uint64_t first_bytes_max = 64u << 20;

}  // namespace

void OwnMetrics::take(const std::string& host, UnixMillis time, const job::Lines& lines) {
  std::vector<LogEntry> entries;
  hosts_.try_emplace(host, host).first->second.take(time, lines, entries);
  for (const LogEntry& entry : entries)
    for (const std::string& line : split(entry.text, '\n'))
      for (const job::MetricValue& each : definitions_.values_in(line))
        last_[each.name] = {entry.time, each.value};
}

Json OwnMetrics::last() const {
  Json list = Json::array();
  for (const auto& [name, last] : last_)
    list.push_back({{"MetricName", name},
                    {"Value", last.value},
                    {"Timestamp", static_cast<double>(last.time.count()) / 1000}});
  return list;
}

std::vector<job::MetricDefinition> metric_definitions_in(const Json& description) {
  std::vector<job::MetricDefinition> definitions;
  const Json algorithm = description.value("AlgorithmSpecification", Json::object());
  for (const Json& each : algorithm.value("MetricDefinitions", Json::array()))
    definitions.push_back({member_text(each, "Name"), member_text(each, "Regex")});
  return definitions;
}

Result<std::optional<UnixMillis>> first_metric(const job::MetricDefinitions& definitions,
                                               const std::string& host, const std::string& journal,
                                               UnixMillis since) {
  std::optional<UnixMillis> first;
  JournalEntries lines(host);
  std::vector<LogEntry> entries;
  const auto tells = [&](const LogEntry& entry) {
    if (entry.kind != LogEntry::Kind::line || entry.time < since) return false;
    const std::vector<std::string> texts = split(entry.text, '\n');
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return !definitions.values_in(text).empty();
    });
  };
  const auto take = [&](const job::Record& record) {
    entries.clear();
    lines.take(record, entries);
    const auto found = std::find_if(entries.begin(), entries.end(), tells);
    if (found != entries.end()) first = found->time;
    return !first;
  };
  job::JournalReader reader;
  TRY(read_file_pieces(
      journal, [&](std::string_view piece) { return reader.visit(piece, take); }, first_bytes_max));
  return first;
}

}  // namespace muster::cli
