#include "server/operations/timeline_operation.h"

#include <memory>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "aws/api/job_request.h"
#include "net/loop/worker.h"
#include "platform/journals/timelines.h"
#include "server/operations/describe.h"

namespace muster::server {

loop::Task<api::Answer> Timelines::describe(std::string job) {
  const Result<std::optional<store::Job>> found = store_.job(job);
  if (!found) co_return api::internal_failure(found.error());
  if (!*found) co_return no_such_job();
  const Result<api::JobRequest> request = api::job_request_from((*found)->request);
  platform::HostJournals journals;
  if (request)
    for (const std::string& host : request->hosts())
      journals.emplace_back(host, journals_.file(job, host));
  const Result<std::vector<store::MetricSample>> known = store_.final_metrics(job);
  if (!known) co_return api::internal_failure(known.error());
  // If no metric is known yet, the logs need not be read.
  std::vector<job::MetricDefinition> metrics;
  if (request && !known->empty()) metrics = request->metrics;
  const auto work = [=, created = (*found)->created]() -> Result<job::JobTimeline> {
    job::JobTimeline timeline = TRY(platform::read_timeline(job, created, journals));
    TRY(platform::add_first_metrics(metrics, journals, timeline));
    return timeline;
  };
  while (reading_) co_await turned_.wait();
  reading_ = true;
  const Result<job::JobTimeline> timeline = co_await loop::in_thread(loop_, work);
  reading_ = false;
  turned_.notify();
  if (!timeline) co_return api::internal_failure(timeline.error());
  co_return api::Answer(job::to_json(*timeline));
}

}  // namespace muster::server
