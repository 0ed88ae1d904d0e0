#include "platform/journals/timelines.h"

#include <algorithm>
#include <optional>

#include "base/files/file_pieces.h"
#include "platform/journals/log_messages.h"

namespace muster::platform {
namespace {

// Limits of the search for a host's first metric: bytes of its journal, and the sum of
// MetricDefinitions::work_of(), which takes 5 s at worst.
constexpr std::uint64_t first_bytes_max = 64u << 20;
constexpr std::uint64_t first_work_max = 512'000'000;

Result<std::optional<UnixMillis>> first_metric(const job::MetricDefinitions& definitions,
                                               const std::string& host, const std::string& journal,
                                               UnixMillis since) {
  std::optional<UnixMillis> first;
  LogMessages messages(host);
  std::uint64_t work_left = first_work_max;
  std::vector<LogEvent> events;
  const auto look_at = [&](const LogEvent& event) {
    if (event.time < since || first) return;
    work_left -= std::min(work_left, definitions.work_of(event.message));
    if (work_left > 0 && !definitions.values_in(event.message).empty()) first = event.time;
  };
  const auto take = [&](const job::Record& record) {
    events.clear();
    messages.take(record, events);
    for (const LogEvent& event : events) look_at(event);
    return !first && work_left > 0;
  };
  job::JournalReader reader;
  TRY(read_file_pieces(
      journal, [&](std::string_view piece) { return reader.visit(piece, take); }, first_bytes_max));
  return first;
}

}  // namespace

Result<job::JobTimeline> read_timeline(std::string job, UnixMillis submitted,
                                       const HostJournals& journals) {
  job::JobTimeline timeline{std::move(job), submitted, {}};
  for (const auto& [host, path] : journals) {
    job::TimelineReader reader(host);
    job::JournalReader journal;
    const auto take = [&reader](const job::Record& record) {
      reader.take(record);
      return true;
    };
    TRY(read_file_pieces(path, [&](std::string_view piece) { return journal.visit(piece, take); }));
    timeline.hosts.push_back(reader.timeline());
  }
  return timeline;
}

Result<void> add_first_metrics(const std::vector<job::MetricDefinition>& metrics,
                               const HostJournals& journals, job::JobTimeline& timeline) {
  if (metrics.empty()) return {};
  const job::MetricDefinitions definitions = TRY(job::MetricDefinitions::from(metrics));
  for (std::size_t i = 0; i < journals.size(); ++i) {
    job::HostTimeline& host = timeline.hosts[i];
    if (const std::optional<UnixMillis> since = host.when(job::Point::first_line))
      host.when(job::Point::first_metric) =
          TRY(first_metric(definitions, host.host, journals[i].second, *since));
  }
  return {};
}

}  // namespace muster::platform
