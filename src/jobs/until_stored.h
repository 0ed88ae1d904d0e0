#pragma once

#include <functional>
#include <string>

#include "base/log.h"
#include "jobs/reserve.h"
#include "loop/loop.h"

namespace muster::jobs {

/// Does `work`, however often it fails: a full disk gets what is kept for that, then time, and the
/// log is told once. `job` is what the work is about. `reserve` and `log` outlive the task.
loop::Task<> until_stored(loop::Loop& loop, const Reserve& reserve, const Log& log, std::string job,
                          std::function<Result<void>()> work);

}  // namespace muster::jobs
