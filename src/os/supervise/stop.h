#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <vector>

#include "base/time.h"
#include "os/supervise/stop_plan.h"

namespace muster::supervise {

/// The children of `parent`, from /proc.
std::vector<pid_t> children_of(pid_t parent);
/// Whether `pid` runs the file that we do, under whatever name.
bool runs_our_file(pid_t pid);

/// A stop of a program and of all processes that it started, from SIGTERM until the awaited
/// processes have ended. The owner calls look() repeatedly until then, and decides how long the
/// grace period is. Processes started meanwhile are neither signalled nor awaited: they may be how
/// a program saves its state.
class Stop {
 public:
  /// How soon to look again.
  static constexpr Duration look_again = std::chrono::milliseconds(20);

  /// Finds `main` and its descendants, and signals those that are due now.
  explicit Stop(pid_t main);
  /// ... `main` and all other descendants of `top`, which itself is not signalled.
  Stop(pid_t main, pid_t top);

  /// Signals those that are due by now. False once no process is awaited.
  bool look();
  /// How many are still waited for, as look() found.
  int waiting() const { return waiting_; }
  /// SIGKILL to all that are left.
  void kill() const;

 private:
  void plan();
  bool finds_background();
  pid_t main_;
  std::vector<StopProcess> processes_;  ///< As they were found, also those that have ended.
  std::vector<StopStep> steps_;         ///< Without those that have ended.
  std::set<pid_t> told_;
  int waiting_ = 0;
  std::map<pid_t, int> looks_since_;  ///< How often each was seen that has none to wait for.
};

}  // namespace muster::supervise
