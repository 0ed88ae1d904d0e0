#include "machine/node/schedulers_grace.h"

#include <algorithm>

namespace muster::node {
namespace {

/// A host's grace is the scheduler's minus this: 2 s for which its steward waits, 2 s to report the
/// end.
constexpr std::chrono::seconds farewell{4};

std::string seconds_of(std::chrono::milliseconds time) {
  return std::to_string(std::chrono::floor<std::chrono::seconds>(time).count()) + " s";
}

std::chrono::milliseconds at_most(std::chrono::milliseconds asked,
                                  std::chrono::milliseconds kills_after) {
  return std::min(asked, std::max(kills_after - farewell, std::chrono::milliseconds(0)));
}

}  // namespace

std::chrono::milliseconds SchedulersGrace::ordinary() const {
  return at_most(asked, kill_wait);
}

std::chrono::milliseconds SchedulersGrace::preempted() const {
  return at_most(asked, kill_wait + more);
}

std::string SchedulersGrace::note() const {
  if (ordinary() == asked) return {};
  std::string note = "when the job is stopped, processes have " + seconds_of(ordinary()) +
                     " to exit instead of the " + seconds_of(asked) +
                     " of the job, because Slurm's KillWait is " + seconds_of(kill_wait);
  if (preempted() > ordinary())
    note += "; " + seconds_of(preempted()) + " if the job is preempted, because GraceTime is " +
            seconds_of(more);
  return note;
}

}  // namespace muster::node
