// Runner's view of the machine's GPUs while it runs: those that fail, and those that recover.

#include "server/jobs/runner.h"

namespace muster::jobs {

/// GPUs that failed without a job's failure, or recovered.
loop::Task<> Runner::watch_gpus() {
  loop::Timer timer(loop_);
  bool goes_on = true;
  while (goes_on) {
    goes_on = co_await timer.after(options_.gpu_look);
    const bool matters = queue_.is_awaited("gpu") || queue_.notes().contains("gpu");
    if (goes_on && matters) co_await look_at_gpus();
  }
}

loop::Task<> Runner::look_at_gpus() {
  const std::optional<FitGpus> fit = co_await options_.fit_gpus();
  if (!fit) co_return;
  JobConfig& config = options_.preparation.config;
  count_in_gpus(config, fit->count, fit->unfit);
  const auto limit = config.capacity.find("gpu");
  const auto note = config.notes.find("gpu");
  const std::string why = note == config.notes.end() ? std::string() : note->second;
  if (limit == config.capacity.end() || !queue_.set_limit("gpu", limit->second, why)) co_return;
  const std::string now = "jobs can use " + std::to_string(limit->second) + " GPUs now";
  if (why.empty()) log_.info(now);
  if (!why.empty()) log_.warning(now + ": " + why);
  schedule_soon();
}

}  // namespace muster::jobs
