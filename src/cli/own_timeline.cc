#include "cli/own_timeline.h"

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/job_view.h"
#include "job/spec.h"
#include "loop/worker.h"
#include "platform/timelines.h"

namespace muster::cli {

loop::Task<Result<job::JobTimeline>> own_timeline(loop::Loop& loop, machine::FoundJob job) {
  const UnixMillis submitted = member_time(job.description, "CreationTime").value_or(UnixMillis(0));
  platform::HostJournals journals;
  for (const std::string& host : job::host_names(hosts_of_job(job.description)))
    journals.emplace_back(host, job.journal(host));
  const std::shared_ptr<job::JobTimeline> timeline = std::make_shared<job::JobTimeline>();
  const std::function<Result<void>()> work = [=, name = job.name]() -> Result<void> {
    *timeline = TRY(platform::read_timeline(name, submitted, journals));
    return {};
  };
  const Result<void> done = co_await loop::in_thread(loop, work);
  if (!done) co_return done.error();
  co_return *timeline;
}

}  // namespace muster::cli
