#pragma once

#include <functional>

#include "host/ranks/host_run.h"
#include "job/launch/call.h"

namespace muster::calls {

struct HostContext;

/// Receives the events of a host's share of a call.
struct ShareEnds {
  ranks::HostRun::Sink lines;                  ///< Takes the users' programs' lines.
  std::function<void(job::Verdict)> ended;     ///< A process of the share, or what could not start.
  std::function<void(job::Verdict)> restarts;  ///< A rank failed, and its launcher starts it again.
  std::function<void()> done;  ///< All that decides here has ended; in a stop all ranks
                               ///< that a launcher has started. May come twice.
};

/// Begins this host's share of a call: lets ranks come, starts what the host starts itself (its
/// programs, an sshd). The share ends by HostRun::finish_call(). `context` outlives it.
void begin_share(HostContext& context, const launch::Call& call, ShareEnds ends);

/// A launcher or one of its daemons, named as its file is: its ranks find this host's socket.
ranks::HostRun::Program launcher_program(const HostContext& context, Command command);

}  // namespace muster::calls
