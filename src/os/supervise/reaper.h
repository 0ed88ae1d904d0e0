#pragma once

#include <sys/types.h>

#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "job/outcome/outcome.h"
#include "net/loop/tasks.h"
#include "net/loop/wait.h"

namespace muster::supervise {

/// The one place of a process that reaps children, its own and those it inherits: it makes the
/// process a child subreaper, so that daemons' orphans come to it. At most one exists.
class Reaper {
 public:
  explicit Reaper(loop::Loop& loop);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  /// Calls `on_end` once, from the loop and never from inside this call, when the child `pid` has
  /// ended; also if it has already ended: the last 256 ends of children without a watcher are kept.
  /// Best called before the loop next runs after the fork.
  void watch(pid_t pid, std::function<void(job::Outcome)> on_end);

  /// Signals a watched child that has not been reaped; nothing otherwise.
  void signal(pid_t pid, int number) const;
  /// Signals the process group that a watched child leads, on the same terms.
  void signal_group(pid_t pid, int number) const;

  /// Kills every descendant of this process, until none is left or `deadline` has come (a process
  /// in uninterruptible sleep can outlast SIGKILL). True: none is left, and all are reaped.
  loop::Task<bool> kill_descendants(TimePoint deadline);

 private:
  loop::Task<> reap();
  loop::Task<> look_at(pid_t pid, bool reaped);
  void reap_ended();
  void deliver(pid_t pid, const job::Outcome& outcome);
  void give_unclaimed(pid_t pid);

  loop::Signals signals_;
  loop::Event reaped_;
  std::map<pid_t, std::function<void(job::Outcome)>> watched_;
  std::deque<std::pair<pid_t, job::Outcome>> unclaimed_;  ///< Oldest first.
  loop::Tasks tasks_;
};

/// The outcome that waitid(2) gives: `code` is si_code, `status` is si_status.
job::Outcome outcome_of(int code, int status);

/// All descendants of `root`, nearest first, from /proc. A snapshot: they may fork meanwhile.
std::vector<pid_t> descendants(pid_t root);

/// Whether a child is alive or waits to be reaped. Exact, unlike reading /proc: all descendants of
/// a subreaper are below one of its own children.
bool has_children();

}  // namespace muster::supervise
