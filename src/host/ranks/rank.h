#pragma once

#include "base/command.h"

namespace muster::ranks {

/// `sm rank`: what a launcher starts in place of the user's program. Asks the host's `train`
/// (MUSTER_SOCKET) what to run, gives it the program's output pipes, passes signals on, reports
/// the end and ends likewise. Exit status when it cannot: 127.
/// Source: docs/protocols/host-socket.md.
int rank_main(const Args& args, const Env& env);

}  // namespace muster::ranks
