#include "launch/inputs.h"

#include "job/training.h"

namespace muster::launch {
namespace {

/// Where no framework package decides. MPI wins where a job asks for both, as there; plan() sees to
/// it that only hosts of the distribution take part.
Runner runner_asked_for(const job::Training& training) {
  if (job::mpi_enabled(training)) return Runner::mpi;
  const job::PyValue* torch =
      training.framework_parameters.find("sagemaker_torch_distributed_enabled");
  return torch != nullptr && torch->truthy() ? Runner::torch_distributed : Runner::process;
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

const char* custom_options_name(Runner runner) {
  return runner == Runner::smdataparallel ? "sagemaker_distributed_dataparallel_custom_mpi_options"
                                          : "sagemaker_mpi_custom_mpi_options";
}

Result<Inputs> inputs_from(const job::Training& training, std::optional<Runner> runner) {
  Inputs inputs;
  inputs.entry_point = training.user_entry_point;
  inputs.args = TRY(job::user_args(training));
  inputs.variables = job::sm_variables(training);
  inputs.host = training.current_host;
  inputs.hosts = training.distribution_hosts;
  inputs.hosts_of_job = static_cast<int>(training.hosts.size());
  inputs.interface = training.interface;
  inputs.runner = runner ? *runner : runner_asked_for(training);
  inputs.instance_type = instance_type(training, inputs.runner);
  inputs.gpus = training.facts.num_gpus;
  inputs.smddprun = training.facts.smddprun_installed;
  if (inputs.runner == Runner::process) return inputs;
  inputs.processes_per_host = TRY(job::processes_per_host(training));
  if (inputs.runner == Runner::mpi) inputs.processes = TRY(job::num_processes(training));
  if (inputs.runner == Runner::mpi || inputs.runner == Runner::smdataparallel)
    inputs.custom_options =
        TRY(job::custom_mpi_options(training, custom_options_name(inputs.runner)));
  return inputs;
}

Result<HostPlan> plan(const job::Training& training, const Options& options) {
  const Inputs inputs = TRY(inputs_from(training, options.runner));
  return plan(inputs, options);
}

}  // namespace muster::launch
