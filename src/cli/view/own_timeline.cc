#include "cli/view/own_timeline.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/view/job_view.h"
#include "cli/view/own_metrics.h"
#include "job/spec.h"
#include "net/loop/worker.h"
#include "platform/journals/timelines.h"

namespace muster::cli {

loop::Task<Result<job::JobTimeline>> own_timeline(loop::Loop& loop, places::FoundJob job) {
  const UnixMillis submitted = member_time(job.description, "CreationTime").value_or(UnixMillis(0));
  platform::HostJournals journals;
  for (const std::string& host : job::host_names(hosts_of_job(job.description)))
    journals.emplace_back(host, job.journal(host));
  const std::vector<job::MetricDefinition> metrics = metric_definitions_in(job.description);
  const auto work = [=, name = job.name]() -> Result<job::JobTimeline> {
    job::JobTimeline timeline = TRY(platform::read_timeline(name, submitted, journals));
    TRY(platform::add_first_metrics(metrics, journals, timeline));
    return timeline;
  };
  co_return co_await loop::in_thread(loop, work);
}

}  // namespace muster::cli
