#pragma once

#include "base/command.h"
#include "base/log.h"
#include "base/result.h"
#include "net/loop/loop.h"
#include "server/jobs/job_config.h"

namespace muster::places {
class Machine;
}

namespace muster::server {

/// Checks the GPUs that the config gives to jobs on this machine. Error: as jobs::check_gpus().
Result<void> check_gpus(const jobs::JobConfig& config, const Env& env);

/// The variables with which this machine runs the server's jobs.
Env machine_env(Env env, const jobs::JobConfig& config);

/// Counts the machine's GPUs, so that the queue promises none that the engine would not give to a
/// job. Asks the driver's tool. Blocks.
void count_in_gpus(const Log& log, jobs::JobConfig& config, const Env& env);

/// Asks again, for Runner::Options::fit_gpus. `machine` outlives the task.
loop::Task<std::optional<jobs::FitGpus>> fit_gpus(places::Machine& machine);

}  // namespace muster::server
