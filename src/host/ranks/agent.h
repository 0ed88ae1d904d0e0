#pragma once

#include "base/command.h"

namespace muster::ranks {

/// `sm agent HOST WORDS…`: what mpirun calls in place of ssh. Hands HOST, the words and its own
/// stdout and stderr to the local `train` (MUSTER_SOCKET) and ends as the daemon over there ends.
/// Source: docs/protocols/host-socket.md.
int agent_main(const Args& args, const Env& env);

}  // namespace muster::ranks
