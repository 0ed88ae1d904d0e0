#pragma once

#include <optional>
#include <string>

#include "aws/api/job_request.h"
#include "base/json.h"
#include "base/time.h"
#include "platform/standstill.h"
#include "server/store/store.h"

namespace muster::jobs {

/// What a job's turn depends on, besides what it needs.
struct Turn {
  std::string key;  ///< The access key that asked for the job.
  int priority = 0;
  UnixMillis submitted{0};
};

/// A job's place in the queue.
struct QueuePlace {
  std::size_t place = 0;  ///< From 1 on.
  std::size_t of = 0;
  int priority = 0;
};

/// Who runs the jobs that the API takes in: the runner; a fake in tests. Calls come from the
/// server's one thread, return at once and change no status themselves before they return.
class Jobs {
 public:
  virtual ~Jobs() = default;
  /// Refuses what the API's model cannot know: instance types and images that the config does not
  /// name, a gang that no machine will ever hold. Asked before the job is stored.
  virtual Result<void, aws::Refusal> check(const api::JobRequest& request) const = 0;
  /// Notes in `request` which version of each manifest it means; see manifests.h. Refuses a
  /// manifest that is not there.
  virtual Result<void, aws::Refusal> pin(api::JobRequest& request) const = 0;
  /// Refuses a job of a key that has as many jobs waiting as it may.
  virtual Result<void, aws::Refusal> check_room(const std::string& key) const = 0;
  /// The store has the job as "InProgress" and "Pending"; start it when its turn comes.
  virtual void submitted(const std::string& name, api::JobRequest request, Turn turn) = 0;
  /// The priority in the tags; none if they have none. Rejects an invalid priority, and one above
  /// the access key's limit.
  virtual Result<std::optional<int>, aws::Refusal> priority(const store::Tags& tags,
                                                            const std::string& key) const = 0;
  /// A tag of the job says so now. Nothing happens to one that does not wait.
  virtual void set_priority(const std::string& name, int priority) = 0;
  /// None if it does not wait for its turn.
  virtual std::optional<QueuePlace> place(const std::string& name) const = 0;
  /// Whether a running job hangs or is silent; none: neither, or not noticed yet.
  virtual std::optional<platform::Standstill> standstill(const std::string& name) const = 0;
  /// Why the job has not started, for a person; empty if it does not wait for its turn.
  virtual std::string why_waiting(const std::string& name) const = 0;
  /// The store has the job as "Stopping". It may not have started yet.
  virtual void stop(const std::string& name) = 0;
  /// The job's grace, if it is being stopped with one, ends here.
  virtual void kill(const std::string& name) = 0;
  /// The job, which had ended, is no longer in the store: its journals may go.
  virtual void deleted(const std::string& name) = 0;
};

}  // namespace muster::jobs
