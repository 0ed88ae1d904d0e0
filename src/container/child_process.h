#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "job/outcome/outcome.h"
#include "net/loop/wait.h"

namespace muster::container {

/// A child of this process, or one that it inherited as subreaper. Signals go through a pidfd, so
/// they never reach a process that reuses the pid. The destructor neither kills nor reaps the
/// child.
class Process {
 public:
  /// `pid` has not been reaped, and no other code of this process reaps it. Error: `not_found`.
  static Result<Process> open(pid_t pid);

  pid_t pid() const { return pid_; }
  /// True if the process would see the signal: it catches or blocks it, or is not the first process
  /// of a pid namespace (for which the kernel drops unhandled signals). False while the process is
  /// still executing runc.
  bool takes(int number) const;
  /// Does nothing if the process has ended.
  void signal(int number) const;
  /// Waits until the process ends, reaps it, and returns its outcome. Call it once.
  loop::Task<job::Outcome> ended(loop::Loop& loop);

 private:
  Process(pid_t pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  Fd pidfd_;
};

}  // namespace muster::container
