#pragma once

#include <functional>
#include <string>

#include "base/log.h"
#include "net/loop/loop.h"
#include "server/jobs/reserve.h"

namespace muster::jobs {

/// Repeats `work` until it succeeds. After a full disk it first frees the reserve, then waits; it
/// logs the failure once. `job` is the job of this work. `reserve` and `log` outlive the task.
loop::Task<> until_stored(loop::Loop& loop, const Reserve& reserve, const Log& log, std::string job,
                          std::function<Result<void>()> work);

}  // namespace muster::jobs
