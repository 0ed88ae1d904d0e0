#pragma once

#include "base/command.h"

namespace muster::ranks {

/// `sm rank`: launchers start it instead of the user's program. Asks the host's `train`
/// (MUSTER_SOCKET) for the command to run, passes it the program's output pipes, passes signals on,
/// reports the end and exits in the same way. If it cannot, the exit status is 127. Source:
/// docs/protocols/host-socket.md.
int rank_main(const Args& args, const Env& env);

}  // namespace muster::ranks
