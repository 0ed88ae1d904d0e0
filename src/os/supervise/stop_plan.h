#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

#include "base/command.h"

namespace muster::supervise {

/// A process as a stop finds it.
struct StopProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  std::int64_t started = 0;  ///< With the pid: this process and no later one of its number.
  Args argv = {};
  bool minds = false;    ///< SIGTERM does not simply end it: it is caught, blocked or ignored.
  bool ignores = false;  ///< The latter: it knows of no stop, as Python's resource tracker, which
                         ///< ends when its parent has.
  /// Started by a shell with `&`: POSIX has such commands ignore SIGQUIT, which hardly anybody else
  /// does.
  bool asynchronous = false;
  bool ours = false;  ///< Runs muster's own binary.
};

enum class StopRole {
  user,
  shell,     ///< Says nothing by its end of what it started.
  launcher,  ///< Ends its ranks when it is signalled, or when the first of them fails.
  muster,    ///< An operator, or another `train`, which signals the processes below it itself.
};
StopRole role_of(const StopProcess& process);

/// What a stop does about a process.
struct StopStep {
  pid_t pid = 0;
  std::int64_t started = 0;
  bool told = false;              ///< Gets the signal, once ...
  std::vector<pid_t> after = {};  ///< ... these have ended, and it had time to do so, too.
  bool awaited = false;           ///< The stop is over when these have ended.
};

/// How to stop `processes`: `main` and what descends from it or belongs to it, parents first.
///
/// Who minds the signal is told at once. Who would simply die of it, a shell or a launcher without
/// a handler or the `tee` at the end of a pipe, is told when those have ended that catch it, among
/// what it started and what was started beside it: its death would take them along (a broken pipe,
/// a parent-death signal), or the host. mpirun, torchrun and their like are told when all that they
/// started have ended: they might start ranks anew.
///
/// Waited for is what runs in the foreground; not what a shell started with `&`, unless the shell
/// has nothing else, and so waits for it; nor what a program that minds the signal has started, for
/// that program knows what to wait for. Pure. Source: docs/decisions/0069-stops.md.
std::vector<StopStep> plan_stop(const std::vector<StopProcess>& processes, pid_t main);

}  // namespace muster::supervise
