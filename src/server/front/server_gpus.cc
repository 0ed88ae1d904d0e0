#include "server/front/server_gpus.h"

#include "os/devices/find.h"
#include "platform/places/machine.h"

namespace muster::server {

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
  jobs::count_in_gpus(config, places::count_gpus(env).value_or(0) - health.unfit,
                      health.unfit > 0 ? health.unfit_lines : std::vector<std::string>());
}

}  // namespace muster::server
