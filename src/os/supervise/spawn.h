#pragma once

#include <sys/types.h>

#include <utility>
#include <vector>

#include "base/command.h"
#include "base/result.h"

namespace muster::supervise {

/// Descriptors that a child gets as 0, 1 and 2, and more of them as `extra` {its number, ours}.
/// Nothing else of ours is open in it.
struct Stdio {
  int in = 0;
  int out = 1;
  int err = 2;
  std::vector<std::pair<int, int>> extra;
};

struct SpawnOptions {
  bool own_group = false;    ///< The child leads a new process group.
  bool own_session = false;  ///< setsid: no terminal's Ctrl-C reaches it.
  /// SIGPIPE is ignored in place of its default; so it is in what the child starts, unless that
  /// asks for the default itself, as spawn() does.
  bool ignore_sigpipe = false;
  int death_signal = 0;  ///< Sent by the kernel when our thread ends (prctl PR_SET_PDEATHSIG).
};

/// Starts a program: default signal handlers, empty signal mask, the limits of open files and of
/// memory that we were started with (base/process/open_files.h, base/process/data_limit.h). Returns
/// once it has been exec'd, so what keeps it from running is known here, in one line that names the
/// program. Errors: `not_found` (with the PATH that was searched), `denied`, `invalid_input` (not a
/// program, too long, or with a NUL inside).
Result<pid_t> spawn(const Command& command, const Stdio& stdio, const SpawnOptions& options);

/// Replaces this process by the program, with only these descriptors, default signal handlers and
/// an empty mask. Returns only on failure; errors as spawn().
Error replace_self(const Command& command, const Stdio& stdio = {});

/// Where `name` is on the PATH of `env`; a name with a slash is taken as it is. What is relative
/// is below `cwd`. Errors: `not_found`, `denied` for a file that is there but cannot be executed,
/// `invalid_input` for a folder.
Result<std::string> find_program(const std::string& name, const Env& env, const std::string& cwd);

}  // namespace muster::supervise
