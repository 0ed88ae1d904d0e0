#pragma once

#include "base/command.h"
#include "base/log.h"
#include "base/result.h"
#include "job/outcome.h"
#include "job/training.h"
#include "toolkit/call.h"

namespace muster::toolkit {

/// Makes a collective call and waits for its end. On a host that takes part in a job already
/// (MUSTER_SOCKET) its `train` is asked; elsewhere this process gathers the hosts itself. Blocks.
/// Errors: `protocol`, `closed` (another call runs, or `train` is gone), and what conduct_job()
/// needs.
Result<job::Verdict> make_call(const job::Training& training, Call call, const Env& env,
                               const Log& log);

}  // namespace muster::toolkit
