#include "platform/timelines.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "base/fd.h"

namespace muster::platform {
namespace {

constexpr std::size_t read_bytes = 1u << 20;

Result<void> read_journal(const std::string& path, job::TimelineReader& timeline) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  if (!file) return fail_errno(path);
  job::JournalReader reader;
  return read_pieces(file.get(), path, 0, read_bytes, [&](std::string_view piece) {
    return reader.visit(piece, [&](const job::Record& record) {
      timeline.take(record);
      return true;
    });
  });
}

}  // namespace

Result<job::JobTimeline> read_timeline(std::string job, UnixMillis submitted,
                                       const HostJournals& journals) {
  job::JobTimeline timeline{std::move(job), submitted, {}};
  for (const auto& [host, path] : journals) {
    job::TimelineReader reader(host);
    TRY(read_journal(path, reader));
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
