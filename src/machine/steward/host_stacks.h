#pragma once

#include <sys/types.h>

#include "base/command.h"
#include "base/result.h"
#include "job/wire/stacks.h"
#include "net/loop/task.h"

namespace muster::loop {
class Loop;
}

namespace muster::steward {

/// The stacks of the processes below `init`, from `sm sampler`. Its output is not trusted, because
/// it reads data that the host's processes wrote. Errors: `timeout` after ten seconds; `system`
/// with its last message; `protocol`.
loop::Task<Result<job::HostStacks>> stacks_below(loop::Loop& loop, pid_t init, job::Calls calls,
                                                 Env env);

}  // namespace muster::steward
