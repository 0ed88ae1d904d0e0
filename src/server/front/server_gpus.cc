#include "server/front/server_gpus.h"

#include "os/devices/find.h"
#include "platform/places/machine.h"

namespace muster::server {
namespace {

/// None where the config gives unfit GPUs to jobs, too.
std::vector<std::string> unfit_lines(const places::GpuHealth& health) {
  return health.unfit > 0 ? health.unfit_lines : std::vector<std::string>();
}

}  // namespace

Result<void> check_gpus(const jobs::JobConfig& config, const Env& env) {
  return jobs::check_gpus(config, [&env] { return places::count_gpus(env); });
}

Env machine_env(Env env, const jobs::JobConfig& config) {
  if (config.uses_sick_gpus) env[devices::sick_gpus_variable] = "use";
  return env;
}

void count_in_gpus(const Log& log, jobs::JobConfig& config, const Env& env) {
  const places::GpuHealth health = places::gpu_health(env);
  for (const std::string& line : health.unfit_lines)
    log.warning(line + (health.unfit > 0 ? "; jobs do not use it"
                                         : "; jobs can still use it, as configured"));
  if (!health.unknown.empty()) log.warning("the health of the GPUs is unknown: " + health.unknown);
  jobs::count_in_gpus(config, health.gpus - health.unfit, unfit_lines(health));
}

loop::Task<std::optional<jobs::FitGpus>> fit_gpus(places::Machine& machine) {
  places::GpuHealth health = co_await machine.gpu_health();
  if (!health.unknown.empty()) co_return std::nullopt;
  co_return jobs::FitGpus{health.gpus - health.unfit, unfit_lines(health)};
}

}  // namespace muster::server
