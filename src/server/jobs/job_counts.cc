#include "server/jobs/job_counts.h"

namespace muster::jobs {

void JobCounts::add(const platform::JobEnd& end) {
  for (const job::HostTimeline& host : end.timelines) {
    const std::optional<UnixMillis>& begun = host.when(job::Point::launched);
    if (!begun) continue;
    for (const job::Stretch& stretch : job::stretches(host, *begun)) {
      if (stretch.until == job::Point::launched) continue;
      Phase& phase = phases[static_cast<std::size_t>(stretch.until)];
      ++phase.count;
      phase.sum += stretch.end - stretch.begin;
    }
  }
}

}  // namespace muster::jobs
