#pragma once

#include "base/command.h"

namespace muster::ranks {

/// `sm init [--lifeline FD] [--variables FILE] -- PROGRAM [ARGS…]`: the first process of a local
/// host's container. Starts the program, passes signals on to it, reaps all orphans, and exits when
/// the program does, with its code or 128 + its signal; the kernel then ends all other processes.
/// FILE has variables for the program (job/host_settings.h). When FD (the read end of a pipe)
/// reaches its end, the platform has exited: everything is killed. A byte on it means that the
/// platform has opened the file systems that it watches. They disappear with init, so init exits
/// only after that byte.
int init_main(const Args& args, const Env& env);

}  // namespace muster::ranks
