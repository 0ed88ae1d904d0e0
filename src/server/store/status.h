#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace muster::store {

/// TrainingJobStatus; stored by its name.
enum class Status { in_progress, stopping, completed, failed, stopped };

/// "InProgress", "Stopping", "Completed", "Failed", "Stopped".
std::string_view status_name(Status status);
std::optional<Status> status_named(std::string_view name);
constexpr bool is_terminal(Status status) {
  return status >= Status::completed;
}

/// An entry of SecondaryStatusTransitions.
struct Transition {
  std::string status;  ///< SecondaryStatus: "Training"
  std::string message;
  UnixMillis start{0};
  std::optional<UnixMillis> end;  ///< None while the job is in it.

  bool operator==(const Transition&) const = default;
};

/// A job's state.
struct JobState {
  Status status = Status::in_progress;
  std::vector<Transition> transitions;       ///< Never empty; the last is the secondary status.
  std::optional<UnixMillis> training_start;  ///< When the first host downloaded its inputs, or ran.
  std::optional<UnixMillis> training_end;    ///< Set by the end, if there was a start.
  std::optional<UnixMillis> streams;         ///< When log streams started; as training_start.

  bool operator==(const JobState&) const = default;
};

/// A change of a job's status.
struct StatusChange {
  Status status = Status::in_progress;
  std::string secondary;  ///< "Training", "MaxRuntimeExceeded"
  std::string message;    ///< One line for users.
  UnixMillis time{0};     ///< When it happened; lifted to the last transition's time if before it.
  bool before_hosts = false;  ///< No host of the job runs yet: its run time has not started.
  /// A separate entry next to that of the job's current secondary status.
  bool beside = false;
};

/// The first state of a job: in progress, "Pending".
JobState first_state(UnixMillis now);
/// The state after `change`; none if it changes nothing. Rules: an end is final. A stopping job
/// does not go back: of changes in progress only "Uploading" counts. A change to the current
/// secondary status replaces its message. A message beside that one is a second entry of the same
/// status, which a later one replaces; it is ignored if the job is in another status. All other
/// transitions are only appended; each starts when the one before ends. Pure. Source:
/// docs/protocols/api.md, "A job as it is described".
std::optional<JobState> changed(const JobState& state, const StatusChange& change);
/// True if the last transition is a message beside the previous one.
bool has_message_beside(const std::vector<Transition>& transitions);

}  // namespace muster::store
