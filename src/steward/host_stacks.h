#pragma once

#include <sys/types.h>

#include "base/command.h"
#include "base/result.h"
#include "job/stacks.h"
#include "loop/task.h"

namespace muster::loop {
class Loop;
}

namespace muster::steward {

/// Where the processes below `init` stand, as `sm sampler` tells, whose words are checked as a
/// stranger's: it reads what the host's processes wrote. Errors: `timeout` after ten seconds;
/// `system` with what it said last; `protocol`.
loop::Task<Result<job::HostStacks>> stacks_below(loop::Loop& loop, pid_t init, job::Calls calls,
                                                 Env env);

}  // namespace muster::steward
