#include "job/launch/plan_inputs.h"

#include "job/launch/launchers.h"
#include "job/training/training.h"

namespace muster::launch {
namespace {

/// Where no framework package decides. The first row wins where a job asks for two; plan() sees to
/// it that only hosts of the distribution take part.
Runner runner_asked_for(const job::Training& training) {
  for (const LauncherRow& row : launchers())
    if (!row.hyperparameter.empty() && job::asks_for(training, row.hyperparameter))
      return {row.name};
  return Runner::process;
}

/// The SDK says it in a parameter too, which is what SMDDP's runner looks at first.
/// Source: sagemaker-training 5.1.4, smdataparallel.py.
std::string instance_type(const job::Training& training, Runner runner) {
  const job::PyValue* named = training.framework_parameters.find("sagemaker_instance_type");
  if (runner == Runner::smdataparallel && named != nullptr && named->truthy())
    return job::python_str(*named);
  return training.instance_type;
}

}  // namespace

Result<Inputs> inputs_from(const job::Training& training, std::optional<Runner> runner) {
  Inputs inputs;
  inputs.entry_point = training.user_entry_point;
  inputs.args = TRY(job::user_args(training));
  inputs.variables = job::sm_variables(training);
  inputs.host = training.current_host;
  inputs.hosts = training.distribution_hosts;
  inputs.hosts_in_roll_call = static_cast<int>(training.roll_call_hosts().size());
  inputs.interface = training.interface;
  inputs.runner = runner ? *runner : runner_asked_for(training);
  inputs.instance_type = instance_type(training, inputs.runner);
  inputs.gpus = training.facts.num_gpus;
  inputs.smddprun = training.facts.smddprun_installed;
  if (inputs.runner == Runner::process) return inputs;
  inputs.processes_per_host = TRY(job::processes_per_host(training));
  if (inputs.runner == Runner::mpi) inputs.processes = TRY(job::num_processes(training));
  const std::string_view options = launcher_of(inputs.runner).custom_options;
  if (!options.empty()) inputs.custom_options = TRY(job::custom_mpi_options(training, options));
  return inputs;
}

}  // namespace muster::launch
