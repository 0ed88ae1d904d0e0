#pragma once

#include <sys/types.h>

#include "base/fd.h"
#include "job/outcome/outcome.h"
#include "net/loop/wait.h"

namespace muster::container {

/// A child of this process, or one that it inherited as subreaper. Signals go through a pidfd, so
/// a recycled pid is never hit. Dropping it neither kills nor reaps.
class Process {
 public:
  /// `pid` has not been reaped, and no other code of this process reaps it. Error: `not_found`.
  static Result<Process> open(pid_t pid);

  pid_t pid() const { return pid_; }
  /// True if the process would see the signal: it catches or blocks it, or is not the first process
  /// of a pid namespace (for which the kernel drops unhandled signals). False while it is still
  /// runc.
  bool takes(int number) const;
  /// Nothing happens if it has ended.
  void signal(int number) const;
  /// Waits for its end and reaps it; its exact outcome. Once.
  loop::Task<job::Outcome> ended(loop::Loop& loop);

 private:
  Process(pid_t pid, Fd pidfd) : pid_(pid), pidfd_(std::move(pidfd)) {}

  pid_t pid_;
  Fd pidfd_;
};

}  // namespace muster::container
