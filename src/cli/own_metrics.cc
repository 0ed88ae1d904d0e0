#include "cli/own_metrics.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/fd.h"
#include "base/text.h"
#include "cli/job_view.h"

namespace muster::cli {
namespace {

constexpr std::size_t read_bytes = 1u << 20;
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
  const Fd file(::open(journal.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return first;
  if (!file) return fail_errno(journal);
  job::JournalReader reader;
  JournalEntries lines(host);
  std::uint64_t bytes_left = first_bytes_max;
  std::vector<LogEntry> entries;
  const auto tells = [&](const LogEntry& entry) {
    if (entry.kind != LogEntry::Kind::line || entry.time < since) return false;
    const std::vector<std::string> texts = split(entry.text, '\n');
    return std::any_of(texts.begin(), texts.end(), [&](const std::string& text) {
      return !definitions.values_in(text).empty();
    });
  };
  TRY(read_pieces(file.get(), journal, 0, read_bytes, [&](std::string_view piece) {
    bytes_left -= std::min<std::uint64_t>(bytes_left, piece.size());
    const bool goes_on = reader.visit(piece, [&](const job::Record& record) {
      entries.clear();
      lines.take(record, entries);
      const auto found = std::find_if(entries.begin(), entries.end(), tells);
      if (found != entries.end()) first = found->time;
      return !first;
    });
    return goes_on && bytes_left > 0;
  }));
  return first;
}

}  // namespace muster::cli
