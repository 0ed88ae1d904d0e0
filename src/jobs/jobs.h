#pragma once

#include <optional>
#include <string>

#include "api/job_request.h"
#include "base/json.h"

namespace muster::jobs {

/// Who runs the jobs that the API takes in: the runner; a fake in tests. Calls come from the
/// server's one thread, return at once and change no status themselves before they return.
class Jobs {
 public:
  virtual ~Jobs() = default;
  /// Refuses what the API's model cannot know: instance types and images that the config does not
  /// name, a gang that no machine will ever hold. Asked before the job is stored.
  virtual Result<void, aws::Refusal> check(const api::JobRequest& request) const = 0;
  /// The job stands in the store, "InProgress" and "Pending"; it is to be started when its turn
  /// comes.
  virtual void submitted(const std::string& name, api::JobRequest request) = 0;
  /// Why the job has not started, for a person; empty if it does not wait for its turn.
  virtual std::string why_waiting(const std::string& name) const = 0;
  /// The job stands in the store as "Stopping". It may not have started yet.
  virtual void stop(const std::string& name) = 0;
  /// The job, which had ended, is no longer in the store: its journals may go.
  virtual void deleted(const std::string& name) = 0;
};

}  // namespace muster::jobs
