#include <algorithm>

#include "job/launch/plan_inputs.h"

namespace muster::launch {
namespace {

constexpr int mesh_service_port = 53957;
constexpr int worker_port = 43857;
constexpr const char* spawn_module = "torch_xla.distributed.xla_spawn";

/// As the reference, these stand over what the job's own environment has.
void set_runtime(const Inputs& inputs, Env& env) {
  const auto at = std::find(inputs.hosts.begin(), inputs.hosts.end(), inputs.host);
  const std::string gpus = std::to_string(inputs.gpus);
  env["NCCL_DEBUG"] = "info";
  env["NCCL_PROTO"] = "simple";
  env["FI_EFA_USE_DEVICE_RDMA"] = "1";
  env["OFI_NCCL_NIC_DUP_CONNS"] = gpus;
  env["XRT_HOST_ORDINAL"] = std::to_string(at - inputs.hosts.begin());
  env["XRT_SHARD_WORLD_SIZE"] = std::to_string(inputs.hosts.size());
  std::string workers;
  for (std::size_t i = 0; i < inputs.hosts.size(); ++i)
    workers += (i == 0 ? "" : "|") + ("localservice:" + std::to_string(i)) + ";" + inputs.hosts[i] +
               ":" + std::to_string(worker_port);
  env["XRT_WORKERS"] = workers;
  env["GPU_NUM_DEVICES"] = gpus;
  if (inputs.hosts.size() > 1)
    env["XRT_MESH_SERVICE_ADDRESS"] =
        inputs.hosts.front() + ":" + std::to_string(mesh_service_port);
}

}  // namespace

// The reference also imports torch_xla first, to say that it is missing. Here the interpreter says
// so ("No module named torch_xla"), and nothing is started twice.
Result<HostPlan> plan_pytorch_xla(const Inputs& inputs, const Options& options) {
  if (inputs.gpus < 1)
    return fail(Errc::invalid_input,
                "sagemaker_pytorch_xla_multi_worker_enabled: PyTorch/XLA runs only on GPUs, but " +
                    inputs.host + " has none");
  HostPlan result;
  result.rank = TRY(script_command(inputs, options, "PyTorch/XLA", spawn_module));
  Args& argv = result.rank.argv;  // PYTHON -m MODULE SCRIPT ARGS…
  argv.insert(argv.begin() + 3, {"--num_gpus", std::to_string(inputs.gpus)});
  set_runtime(inputs, result.rank.env);
  return result;
}

}  // namespace muster::launch
