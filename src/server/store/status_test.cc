#include "server/store/status.h"

#include <doctest/doctest.h>

namespace muster::store {
namespace {

UnixMillis at(int ms) {
  return UnixMillis(ms);
}

std::string path_of(const JobState& state) {
  std::string path;
  for (const Transition& each : state.transitions) path += each.status + " ";
  return path + std::string(status_name(state.status));
}

TEST_CASE("status: names are SageMaker's, there and back") {
  for (const Status each :
       {Status::in_progress, Status::stopping, Status::completed, Status::failed, Status::stopped})
    CHECK(status_named(status_name(each)) == each);
  CHECK(!status_named("Deleting"));
  CHECK(!is_terminal(Status::stopping));
  CHECK(is_terminal(Status::stopped));
}

TEST_CASE("status: transitions are appended, each begins where the one before ends") {
  struct {
    const char* name;
    std::vector<StatusChange> changes;
    const char* want;
  } const cases[] = {
      {"a good life",
       {{Status::in_progress, "Starting", "", at(1)},
        {Status::in_progress, "Downloading", "", at(2)},
        {Status::in_progress, "Training", "", at(3)},
        {Status::in_progress, "Uploading", "", at(4)},
        {Status::completed, "Completed", "", at(5)}},
       "Pending Starting Downloading Training Uploading Completed Completed"},
      {"an end is final",
       {{Status::failed, "Failed", "", at(1)},
        {Status::completed, "Completed", "", at(2)},
        {Status::stopping, "Stopping", "", at(3)}},
       "Pending Failed Failed"},
      {"what stops does not go back, but uploads",
       {{Status::stopping, "Stopping", "", at(1)},
        {Status::in_progress, "Training", "", at(2)},
        {Status::in_progress, "Uploading", "", at(3)},
        {Status::stopped, "Stopped", "", at(4)}},
       "Pending Stopping Uploading Stopped Stopped"},
      {"stopping shows until the end",
       {{Status::stopping, "Stopping", "", at(1)}, {Status::in_progress, "Uploading", "", at(3)}},
       "Pending Stopping Uploading Stopping"},
      {"the same status again",
       {{Status::in_progress, "Training", "a", at(1)},
        {Status::in_progress, "Training", "b", at(2)}},
       "Pending Training InProgress"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    JobState state = first_state(at(0));
    for (const StatusChange& each : c.changes) state = changed(state, each).value_or(state);
    CHECK(path_of(state) == c.want);
    for (std::size_t i = 1; i < state.transitions.size(); ++i)
      CHECK(state.transitions[i - 1].end == state.transitions[i].start);
  }
}

TEST_CASE("status: a message next to the status's own is one more entry, and the own one stays") {
  const auto told = [](const JobState& state, const char* secondary, const char* message,
                       std::int64_t time, bool beside) {
    StatusChange change{Status::in_progress, secondary, message, UnixMillis(time)};
    change.beside = beside;
    return changed(state, change).value_or(JobState());
  };
  const JobState first = first_state(UnixMillis(1));
  CHECK(told(first, "Training", "it hangs", 2, true) == JobState());
  JobState state =
      told(told(first, "Training", "it trains", 2, false), "Training", "it hangs", 5, true);
  const std::vector<Transition> want = {
      {"Pending", "Waiting for free hosts", UnixMillis(1), UnixMillis(2)},
      {"Training", "it trains", UnixMillis(2), UnixMillis(5)},
      {"Training", "it hangs", UnixMillis(5), std::nullopt}};
  CHECK(state.transitions == want);
  CHECK(has_message_beside(state.transitions));
  state = told(state, "Training", "it still trains", 6, false);
  CHECK(state.transitions[1].message == "it still trains");
  CHECK(state.transitions[2].message == "it hangs");
  state = told(state, "Training", "it hangs again", 9, true);
  REQUIRE(state.transitions.size() == 3);
  CHECK(state.transitions[1].end == UnixMillis(9));
  CHECK(state.transitions[2] ==
        Transition{"Training", "it hangs again", UnixMillis(9), std::nullopt});
  state = told(state, "Uploading", "it uploads", 10, false);
  CHECK(state.transitions.size() == 4);
  CHECK(!has_message_beside(state.transitions));
}

TEST_CASE("status: times do not go back, and tell of the training") {
  JobState state = first_state(at(100));
  state = *changed(state, {Status::in_progress, "Downloading", "", at(50)});
  CHECK(state.transitions.back().start == at(100));
  CHECK(state.training_start == at(100));
  CHECK(state.streams == at(100));
  state = *changed(state, {Status::in_progress, "Training", "one", at(200)});
  CHECK(state.training_start == at(100));
  CHECK(!changed(state, {Status::in_progress, "Training", "one", at(300)}));
  const JobState other = *changed(state, {Status::in_progress, "Training", "two", at(300)});
  CHECK(other.transitions.back() == Transition{"Training", "two", at(200), std::nullopt});
  state = *changed(state, {Status::failed, "Failed", "why", at(400)});
  CHECK(state.training_end == at(400));
  CHECK(state.transitions.back() == Transition{"Failed", "why", at(400), at(400)});
}

TEST_CASE("status: a job's time does not begin before its hosts") {
  StatusChange pull{Status::in_progress, "Downloading", "the image", at(10)};
  pull.before_hosts = true;
  const JobState pulled = *changed(first_state(at(1)), pull);
  CHECK(!pulled.training_start);
  const JobState begun = *changed(pulled, {Status::in_progress, "Downloading", "inputs", at(20)});
  CHECK(begun.transitions.size() == 2);
  CHECK(begun.transitions[1].start == at(10));
  CHECK(begun.training_start == at(20));
  CHECK(begun.streams == at(20));
}

TEST_CASE("status: a job that never began has no times of training and no streams") {
  const JobState state =
      *changed(first_state(at(1)), {Status::stopped, "Stopped", "never began", at(2)});
  CHECK(!state.training_start);
  CHECK(!state.training_end);
  CHECK(!state.streams);
}

}  // namespace
}  // namespace muster::store
