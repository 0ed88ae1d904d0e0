#include "cli/own_timeline.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/job_view.h"
#include "cli/own_metrics.h"
#include "job/spec.h"
#include "loop/worker.h"
#include "platform/timelines.h"

namespace muster::cli {
namespace {

Result<void> add_first_metrics(const std::vector<job::MetricDefinition>& metrics,
                               const platform::HostJournals& journals, job::JobTimeline& timeline) {
  if (metrics.empty()) return {};
  const job::MetricDefinitions definitions = TRY(job::MetricDefinitions::from(metrics));
  const auto first = [&](const std::string& host, const std::string& journal, UnixMillis since) {
    return first_metric(definitions, host, journal, since);
  };
  return platform::add_first_metrics(journals, first, timeline);
}

}  // namespace

loop::Task<Result<job::JobTimeline>> own_timeline(loop::Loop& loop, machine::FoundJob job) {
  const UnixMillis submitted = member_time(job.description, "CreationTime").value_or(UnixMillis(0));
  platform::HostJournals journals;
  for (const std::string& host : job::host_names(hosts_of_job(job.description)))
    journals.emplace_back(host, job.journal(host));
  const std::shared_ptr<job::JobTimeline> timeline = std::make_shared<job::JobTimeline>();
  const std::vector<job::MetricDefinition> metrics = metric_definitions_in(job.description);
  const std::function<Result<void>()> work = [=, name = job.name]() -> Result<void> {
    *timeline = TRY(platform::read_timeline(name, submitted, journals));
    return add_first_metrics(metrics, journals, *timeline);
  };
  const Result<void> done = co_await loop::in_thread(loop, work);
  if (!done) co_return done.error();
  co_return *timeline;
}

}  // namespace muster::cli
