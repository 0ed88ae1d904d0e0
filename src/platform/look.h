#pragma once

#include <vector>

#include "engine/engine.h"
#include "job/wire/stacks.h"
#include "net/loop/tasks.h"

namespace muster::platform {

/// Asks all hosts of `run` at once for the stacks of their processes: one answer per host, in the
/// job's order. For a host that cannot be asked, `trouble` says why. Asks in `tasks`: when those
/// end, open requests are closed, and the caller continues.
loop::Task<std::vector<job::HostStacks>> look_at_hosts(loop::Tasks& tasks, engine::Run& run,
                                                       job::Calls calls);

}  // namespace muster::platform
