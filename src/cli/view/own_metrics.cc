#include "cli/view/own_metrics.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/files/file_pieces.h"
#include "base/text.h"
#include "cli/view/job_view.h"

namespace muster::cli {
namespace {

/// What is read of a journal for its first metric.
constexpr std::uint64_t first_bytes_max = 64u << 20;

}  // namespace

void OwnMetrics::take(const std::string& host, UnixMillis time, const job::Lines& lines) {
  hosts_[host].take(time, lines, [this](const platform::HostLines& whole) {
    for (const std::string& line : split(whole.text, '\n'))
      for (const job::MetricValue& each : definitions_.values_in(line))
        last_[each.name] = {whole.time, each.value};
  });
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
                                               const std::string& journal, UnixMillis since) {
  std::optional<UnixMillis> first;
  platform::LogLines whole;
  const auto look_at = [&](const platform::HostLines& lines) {
    if (first || !lines.level.empty() || lines.time < since) return;
    const std::vector<std::string> texts = split(lines.text, '\n');
    const bool tells = std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return !definitions.values_in(text).empty();
    });
    if (tells) first = lines.time;
  };
  const auto take = [&](const job::Record& record) {
    whole.take(record, look_at);
    return !first;
  };
  job::JournalReader reader;
  TRY(read_file_pieces(
      journal, [&](std::string_view piece) { return reader.visit(piece, take); }, first_bytes_max));
  return first;
}

}  // namespace muster::cli
