#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <vector>

#include "job/outcome.h"
#include "loop/wait.h"

namespace muster::supervise {

/// The one place of a process that reaps children, its own and those it inherits: it makes the
/// process a child subreaper, so that daemons' orphans come to it. At most one exists.
class Reaper {
 public:
  explicit Reaper(loop::Loop& loop);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  /// Calls `on_end` once, from the loop, when the child `pid` has ended; also if it has already.
  /// To be called before the loop turns after the child was made.
  void watch(pid_t pid, std::function<void(job::Outcome)> on_end);

  /// Signals a watched child that has not been reaped; nothing otherwise.
  void signal(pid_t pid, int number) const;
  /// The same for the process group that a watched child leads.
  void signal_group(pid_t pid, int number) const;

  /// Kills every descendant of this process, until none is left or `deadline` has come (a process
  /// in uninterruptible sleep can outlast SIGKILL).
  loop::Task<> kill_descendants(TimePoint deadline);

 private:
  loop::Task<> reap();
  void reap_ended();

  loop::Loop& loop_;
  loop::Signals signals_;
  loop::Event reaped_;
  std::map<pid_t, std::function<void(job::Outcome)>> watched_;
};

/// The outcome that waitid(2) gives: `code` is si_code, `status` is si_status.
job::Outcome outcome_of(int code, int status);

/// All descendants of `root`, nearest first, from /proc. A snapshot: they may fork meanwhile.
std::vector<pid_t> descendants(pid_t root);

}  // namespace muster::supervise
