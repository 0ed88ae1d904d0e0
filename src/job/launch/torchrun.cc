#include <algorithm>

#include "base/text.h"
#include "job/launch/efa.h"
#include "job/launch/plan_inputs.h"
#include "job/launch/rank_line.h"
#include "job/training/training.h"

namespace muster::launch {
namespace {

/// The interpreter's torchrun; behind neuron_parallel_compile the one that it finds.
Args torchrun_words(const std::string& python, const Env& env) {
  const Env::const_iterator compiles = env.find("RUN_NEURON_PARALLEL_COMPILE");
  if (compiles != env.end() && compiles->second == "1")
    return {"neuron_parallel_compile", "torchrun"};
  return torchrun_of(python);
}

/// `rank` is what each rank runs.
Args torchrun_line(const Inputs& inputs, const Options& options, const Command& rank) {
  Args words = torchrun_words(options.python, rank.env);
  words.insert(words.end(), {"--nnodes", std::to_string(inputs.hosts.size()), "--nproc_per_node",
                             std::to_string(inputs.processes_per_host)});
  if (inputs.hosts.size() > 1) {
    const auto at = std::find(inputs.hosts.begin(), inputs.hosts.end(), inputs.host);
    words.insert(words.end(),
                 {"--master_addr", inputs.hosts.front(), "--master_port", job::master_port,
                  "--node_rank", std::to_string(at - inputs.hosts.begin())});
  }
  words.emplace_back("--no_python");
  const Args ranks = rank_line(options.sm, rank.argv);
  words.insert(words.end(), ranks.begin(), ranks.end());
  return words;
}

/// In a SageMaker container these replace variables of the job's own environment, as in the
/// reference. On muster's platform the user's are kept, and so are NCCL's fast protocols without
/// EFA.
void set_fabric(const Inputs& inputs, const Options& options, Env& env) {
  Env variables;
  if (has_efa(inputs.instance_type)) variables["FI_PROVIDER"] = "efa";
  if (has_efa_rdma(inputs.instance_type)) {
    variables["FI_EFA_USE_DEVICE_RDMA"] = "1";
    variables["RDMAV_FORK_SAFE"] = "1";
  }
  if (has_efa(inputs.instance_type) || !options.on_platform) variables["NCCL_PROTO"] = "simple";
  if (!options.on_platform) variables["NCCL_SOCKET_IFNAME"] = inputs.interface;
  for (auto& [name, value] : variables)
    if (!options.on_platform || !env.contains(name)) env[name] = std::move(value);
}

}  // namespace

Result<HostPlan> plan_torchrun(const Inputs& inputs, const Options& options) {
  if (inputs.processes_per_host < 1)
    return fail(Errc::invalid_input, "sagemaker_mpi_num_of_processes_per_host is " +
                                         std::to_string(inputs.processes_per_host) +
                                         "; expected a number of 1 or more");
  HostPlan result;
  result.launcher = Launcher::direct;
  result.rank = TRY(script_command(inputs, options, "torchrun", ""));
  set_fabric(inputs, options, result.rank.env);
  const Args script(result.rank.argv.begin() + 1, result.rank.argv.end());
  result.rank.argv = TRY(torch_script(options.python, {}, script, result.rank.env)).argv;
  result.ranks_near_gpus = true;
  result.ranks_here = inputs.processes_per_host;
  result.ranks_total = inputs.processes_per_host * static_cast<int>(inputs.hosts.size());
  Command agent{torchrun_line(inputs, options, result.rank),
                without_script_options(result.rank.env), result.rank.cwd};
  result.programs.push_back({"torchrun", -1, std::move(agent), true, true});
  return result;
}

}  // namespace muster::launch
