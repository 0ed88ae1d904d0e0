#pragma once

#include <functional>

#include "host/ranks/host_run.h"
#include "job/launch/call.h"

namespace muster::calls {

struct HostContext;

/// Receives the events of a host's share of a call.
struct ShareEnds {
  ranks::HostRun::Sink lines;                  ///< Receives the lines of the users' programs.
  std::function<void(job::Verdict)> ended;     ///< A process ended, or could not be started.
  std::function<void(job::Verdict)> restarts;  ///< A rank failed, and its launcher starts it again.
  /// All deciding processes here have ended; in a stop, all of the call's. May be called twice.
  std::function<void()> done;
};

/// Starts this host's share of a call: accepts ranks, and starts the host's own processes (its
/// programs, an sshd). HostRun::finish_call() ends the share. `context` outlives it.
void begin_share(HostContext& context, const launch::Call& call, ShareEnds ends);

/// A launcher or one of its daemons, under the name of its file. Its ranks find this host's socket.
ranks::HostRun::Program launcher_program(const HostContext& context, Command command);

}  // namespace muster::calls
