#include "launch/inputs.h"

#include "job/training.h"

namespace muster::launch {

Result<Inputs> inputs_from(const job::Training& training, std::optional<Runner> runner) {
  Inputs inputs;
  inputs.entry_point = training.user_entry_point;
  inputs.args = TRY(job::user_args(training));
  inputs.variables = job::sm_variables(training);
  inputs.host = training.current_host;
  inputs.hosts = training.distribution_hosts;
  inputs.hosts_of_job = static_cast<int>(training.hosts.size());
  inputs.interface = training.interface;
  inputs.instance_type = training.instance_type;
  inputs.runner = runner.value_or(job::mpi_enabled(training) ? Runner::mpi : Runner::process);
  if (inputs.runner == Runner::process) return inputs;
  inputs.processes_per_host = TRY(job::processes_per_host(training));
  inputs.processes = TRY(job::num_processes(training));
  inputs.custom_options = TRY(job::custom_mpi_options(training));
  return inputs;
}

Result<HostPlan> plan(const job::Training& training, const Options& options) {
  const Inputs inputs = TRY(inputs_from(training, options.runner));
  return plan(inputs, options);
}

}  // namespace muster::launch
