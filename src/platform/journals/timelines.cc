#include "platform/journals/timelines.h"

#include <optional>

#include "base/files/file_pieces.h"

namespace muster::platform {

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

Result<void> add_first_metrics(const HostJournals& journals, const FirstMetric& first_metric,
                               job::JobTimeline& timeline) {
  for (std::size_t i = 0; i < journals.size(); ++i) {
    job::HostTimeline& host = timeline.hosts[i];
    if (const std::optional<UnixMillis> since = host.when(job::Point::first_line))
      host.when(job::Point::first_metric) =
          TRY(first_metric(host.host, journals[i].second, *since));
  }
  return {};
}

}  // namespace muster::platform
