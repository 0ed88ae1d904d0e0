#include "server/store/status.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/result.h"

namespace muster::store {
namespace {

constexpr std::array<std::string_view, 5> names = {"InProgress", "Stopping", "Completed", "Failed",
                                                   "Stopped"};

bool begins_work(const std::string& secondary) {
  return secondary == "Downloading" || secondary == "DownloadingTrainingImage" ||
         secondary == "Training" || secondary == "Uploading";
}

}  // namespace

std::string_view status_name(Status status) {
  return names[static_cast<std::size_t>(status)];
}

std::optional<Status> status_named(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<Status>(i);
  return std::nullopt;
}

JobState first_state(UnixMillis now) {
  return {.status = Status::in_progress,
          .transitions = {{"Pending", "Waiting for free hosts", now, std::nullopt}},
          .training_start = std::nullopt,
          .training_end = std::nullopt,
          .streams = std::nullopt};
}

bool has_message_beside(const std::vector<Transition>& transitions) {
  return transitions.size() > 1 &&
         transitions[transitions.size() - 2].status == transitions.back().status;
}

std::optional<JobState> changed(const JobState& state, const StatusChange& change) {
  CHECK_THAT(!state.transitions.empty(), "a job is in a state from its first moment");
  if (is_terminal(state.status)) return std::nullopt;
  JobState next = state;
  if (!is_terminal(change.status) && state.status == Status::stopping &&
      change.status == Status::in_progress && change.secondary != "Uploading")
    return std::nullopt;
  if (state.status != Status::stopping || is_terminal(change.status)) next.status = change.status;
  const bool has_beside = has_message_beside(next.transitions);
  if (change.beside) {
    if (next.transitions.back().status != change.secondary) return std::nullopt;
    if (has_beside) next.transitions.pop_back();
  }
  Transition& last = next.transitions.back();
  const UnixMillis time = std::max(change.time, last.start);
  if (begins_work(change.secondary) && !change.before_hosts) {
    if (!next.training_start) next.training_start = time;
    if (!next.streams) next.streams = time;
  }
  if (last.status == change.secondary && !is_terminal(change.status) && !change.beside) {
    (has_beside ? *std::prev(next.transitions.end(), 2) : last).message = change.message;
    return next == state ? std::nullopt : std::optional(next);
  }
  last.end = time;
  next.transitions.push_back({change.secondary, change.message, time, std::nullopt});
  if (is_terminal(change.status)) {
    next.transitions.back().end = time;
    if (next.training_start) next.training_end = time;
  }
  return next;
}

}  // namespace muster::store
