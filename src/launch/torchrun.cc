#include <algorithm>

#include "base/text.h"
#include "job/training.h"
#include "launch/efa.h"
#include "launch/inputs.h"

namespace muster::launch {
namespace {

/// `program` is the script as program_command() starts it: interpreter, script, arguments.
Args torchrun_line(const Inputs& inputs, const Command& program) {
  Args words;
  const Env::const_iterator compiles = program.env.find("RUN_NEURON_PARALLEL_COMPILE");
  if (compiles != program.env.end() && compiles->second == "1")
    words.push_back("neuron_parallel_compile");
  words.insert(words.end(), {"torchrun", "--nnodes", std::to_string(inputs.hosts.size()),
                             "--nproc_per_node", std::to_string(inputs.processes_per_host)});
  if (inputs.hosts.size() > 1) {
    const auto at = std::find(inputs.hosts.begin(), inputs.hosts.end(), inputs.host);
    words.insert(words.end(),
                 {"--master_addr", inputs.hosts.front(), "--master_port", job::master_port,
                  "--node_rank", std::to_string(at - inputs.hosts.begin())});
  }
  words.insert(words.end(), program.argv.begin() + 1, program.argv.end());
  return words;
}

/// As the reference, these stand over what the job's own environment has.
void set_fabric(const Inputs& inputs, Env& env) {
  if (has_efa(inputs.instance_type)) env["FI_PROVIDER"] = "efa";
  if (has_efa_rdma(inputs.instance_type)) {
    env["FI_EFA_USE_DEVICE_RDMA"] = "1";
    env["RDMAV_FORK_SAFE"] = "1";
  }
  env["NCCL_SOCKET_IFNAME"] = inputs.interface;
  env["NCCL_PROTO"] = "simple";
}

}  // namespace

Result<HostPlan> plan_torchrun(const Inputs& inputs, const Options& options) {
  if (inputs.processes_per_host < 1)
    return fail(Errc::invalid_input, "sagemaker_mpi_num_of_processes_per_host is " +
                                         std::to_string(inputs.processes_per_host) +
                                         ", want 1 or more");
  HostPlan result;
  result.rank = TRY(script_command(inputs, options, "torchrun", ""));
  set_fabric(inputs, result.rank.env);
  result.rank.argv = torchrun_line(inputs, result.rank);
  return result;
}

}  // namespace muster::launch
