#pragma once

#include <sys/types.h>

#include "base/command.h"
#include "base/result.h"
#include "job/spec.h"
#include "job/wire/stacks.h"
#include "net/loop/task.h"

namespace muster::loop {
class Loop;
}

namespace muster::steward {

/// Where py-spy is for the hosts of this job, without links: next to the job's interpreter, where
/// `pip install` puts it, then on PATH. A copy in a folder that the job's hosts can write to is
/// left out: the job would decide what runs outside of its hosts.
Args py_spy_paths(const job::Spec& spec, const Env& env);

/// The stacks of the processes below `init`, from `sm sampler`, which runs the first program of
/// `py_spy` that it may execute. Its output is not trusted, because it reads data that the host's
/// processes wrote. Errors: `timeout` after ten seconds; `system` with its last message;
/// `protocol`.
loop::Task<Result<job::HostStacks>> stacks_below(loop::Loop& loop, pid_t init, job::Calls calls,
                                                 const Args& py_spy, Env env);

}  // namespace muster::steward
