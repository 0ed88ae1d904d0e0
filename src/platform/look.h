#pragma once

#include <vector>

#include "engine/engine.h"
#include "job/stacks.h"
#include "loop/tasks.h"

namespace muster::platform {

/// Asks all hosts of `run` at once where their processes stand: an answer a host, in the job's
/// order; a host that cannot be asked has none, and `trouble` says why. Asks in `tasks`: when those
/// end, what has not been answered by then is closed, and whoever waits goes on.
loop::Task<std::vector<job::HostStacks>> look_at_hosts(loop::Tasks& tasks, engine::Run& run,
                                                       job::Calls calls);

}  // namespace muster::platform
