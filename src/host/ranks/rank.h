#pragma once

#include "base/command.h"

namespace muster::ranks {

/// `sm rank`: launchers start it in place of the user's program. Asks the host's `train`
/// (MUSTER_SOCKET) for the command to run, gives it the program's output pipes, passes signals on,
/// reports the end and ends in the same way. Exit status if it cannot: 127. Source:
/// docs/protocols/host-socket.md.
int rank_main(const Args& args, const Env& env);

}  // namespace muster::ranks
