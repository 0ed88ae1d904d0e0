#pragma once

#include <optional>
#include <string>

#include "aws/api/job_request.h"
#include "base/json.h"
#include "base/time.h"
#include "platform/standstill.h"
#include "server/store/store.h"

namespace muster::jobs {

/// The facts that decide a job's turn, besides its needs.
struct Turn {
  std::string key;  ///< The access key that submitted the job.
  int priority = 0;
  UnixMillis submitted{0};
};

/// A job's place in the queue.
struct QueuePlace {
  std::size_t place = 0;  ///< Counted from 1.
  std::size_t of = 0;
  int priority = 0;
};

/// Runs the jobs that the API accepts: the runner, or a fake in tests. Called on the server's main
/// thread; calls return at once, and change no status before they return.
class Jobs {
 public:
  virtual ~Jobs() = default;
  /// Rejects requests that the API's model cannot check: instance types and images that are not in
  /// the config, and jobs too large for any machine. Called before the job is stored.
  virtual Result<void, aws::Refusal> check(const api::JobRequest& request) const = 0;
  /// Records the version of each manifest in `request`; see manifests.h. Rejects a missing
  /// manifest.
  virtual Result<void, aws::Refusal> pin(api::JobRequest& request) const = 0;
  /// Rejects a job whose key has its maximum number of waiting jobs.
  virtual Result<void, aws::Refusal> check_room(const std::string& key) const = 0;
  /// The store has the job as "InProgress" and "Pending"; start it when its turn comes.
  virtual void submitted(const std::string& name, api::JobRequest request, Turn turn) = 0;
  /// The priority in the tags; none if they have none. Rejects an invalid priority, and one above
  /// the access key's limit.
  virtual Result<std::optional<int>, aws::Refusal> priority(const store::Tags& tags,
                                                            const std::string& key) const = 0;
  /// A tag changed the job's priority. No effect on a job that does not wait.
  virtual void set_priority(const std::string& name, int priority) = 0;
  /// None if the job does not wait for its turn.
  virtual std::optional<QueuePlace> place(const std::string& name) const = 0;
  /// Whether a running job hangs or is silent; none: neither, or not detected yet.
  virtual std::optional<platform::Standstill> standstill(const std::string& name) const = 0;
  /// The job on a Slurm cluster, as places::Machine::in_slurm(); null: it is not on one now.
  virtual Json in_slurm(const std::string& name) const = 0;
  /// Why the job has not started, as text; empty if it does not wait for its turn.
  virtual std::string why_waiting(const std::string& name) const = 0;
  /// The store has the job as "Stopping". It may not have started yet.
  virtual void stop(const std::string& name) = 0;
  /// The job's grace, if it is being stopped with one, ends here.
  virtual void kill(const std::string& name) = 0;
  /// The ended job is no longer in the store: its journals can be removed.
  virtual void deleted(const std::string& name) = 0;
};

}  // namespace muster::jobs
