#include "job/launch/operators.h"
#include "job/training/training.h"

namespace muster::launch {
namespace {

bool enabled(const job::Training& training, const char* name) {
  const job::PyValue* value = training.framework_parameters.find(name);
  return value != nullptr && value->truthy();
}

bool parameter_servers(const job::Training& training) {
  return enabled(training, "sagemaker_parameter_server_enabled");
}

bool mirrored_workers(const job::Training& training) {
  return enabled(training, "sagemaker_multi_worker_mirrored_strategy_enabled");
}

}  // namespace

bool wants_operator(const job::Training& training) {
  // Operators are of all hosts; MPI, where a job asks for both, comes first.
  const bool all = training.hosts.size() > 1 && training.distribution_hosts == training.hosts;
  return all && !job::mpi_enabled(training) &&
         (parameter_servers(training) || mirrored_workers(training));
}

Args script_operator(const job::Training& training, std::string_view framework) {
  if (!wants_operator(training)) return {};
  if (!parameter_servers(training))
    return framework == "tensorflow" ? Args{"tf", "multi-worker", "--"} : Args{};
  if (framework == "mxnet") return {"mxnet", "run", "--"};
  if (framework != "tensorflow") return {};
  const std::size_t hosts = training.hosts.size();
  return {"tf",
          "run-distributed-training",
          "--config-only",
          "--chief",
          "--num-workers=" + std::to_string(hosts - 1),
          "--num-parameter-servers=" + std::to_string(hosts),
          "--"};
}

}  // namespace muster::launch
