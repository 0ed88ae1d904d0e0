#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/command.h"

namespace muster::supervise {

/// A process as found by a stop.
struct StopProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  /// Together with the pid, identifies the process even if its pid is reused.
  std::int64_t started = 0;
  Args argv = {};
  /// The process catches, blocks or ignores SIGTERM, which therefore does not simply end it.
  bool minds = false;
  /// The process ignores SIGTERM, e.g. Python's resource tracker, which ends after its parent.
  bool ignores = false;
  /// Started by a shell with `&`: such commands ignore SIGQUIT, as POSIX requires, which other
  /// programs hardly ever do.
  bool asynchronous = false;
  bool ours = false;  ///< Runs muster's own binary.
};

enum class StopRole {
  user,
  shell,     ///< A shell's end says nothing about its children.
  launcher,  ///< Ends its ranks when it is signalled, or when the first of them fails.
  muster,    ///< An operator, or another `train`, which signals the processes below it itself.
};
StopRole role_of(const StopProcess& process);

/// A stop's plan for one process.
struct StopStep {
  pid_t pid = 0;
  std::int64_t started = 0;
  bool told = false;              ///< The signal is sent once ...
  std::vector<pid_t> after = {};  ///< ... these have ended, and it had time to do so, too.
  bool awaited = false;           ///< The stop is complete when all such processes have ended.
};

/// Plans how to stop `processes`: `main` and the processes that descend from it or belong to it,
/// parents first.
///
/// A process that handles the signal gets it at once. A process that would simply die of it (a
/// shell, a launcher without a handler, the `tee` at the end of a pipe) gets it later: after its
/// children and siblings that catch the signal have ended. Its earlier death would also end them (a
/// broken pipe, a parent-death signal), or the host. mpirun, torchrun and similar launchers get the
/// signal after all processes that they started have ended, because they might restart ranks.
///
/// The stop waits for processes in the foreground. It does not wait for a process that a shell
/// started with `&`, unless the shell has no other child and so waits for it. Nor does it wait for
/// children of a program that handles the signal, since that program knows what to wait for. Pure.
/// Source: docs/decisions/0069-stops.md.
std::vector<StopStep> plan_stop(const std::vector<StopProcess>& processes, pid_t main);

}  // namespace muster::supervise
