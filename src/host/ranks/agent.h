#pragma once

#include "base/command.h"

namespace muster::ranks {

/// `sm agent HOST WORDS…`: mpirun calls it instead of ssh. Passes HOST, the words and its own
/// stdout and stderr to the local `train` (MUSTER_SOCKET), and exits with the remote daemon's exit
/// code. Source: docs/protocols/host-socket.md.
int agent_main(const Args& args, const Env& env);

}  // namespace muster::ranks
