#include "container/bundle/collectives.h"

#include "base/text.h"

namespace muster::container {
namespace {

/// The launcher then sets NCCL_DEBUG=INFO unless it is set, as sagemaker-training does.
bool asks_for_mpi(const job::Spec& spec) {
  for (const char* name : {"sagemaker_mpi_enabled", "sagemaker_use_mpi"}) {
    const auto found = spec.hyperparameters.find(name);
    if (found == spec.hyperparameters.end()) continue;
    const std::string text = lower_case(found->second);  // The SDKs quote it or not.
    if (text == "true" || text == "\"true\"" || text == "1" || text == "\"1\"") return true;
  }
  return false;
}

}  // namespace

void set_collectives(const job::HostSpec& spec, const std::string& interface, Env& env) {
  // On the machine's own network NCCL's choice is better: it prefers InfiniBand.
  if (!job::shares_network(spec)) {
    env.try_emplace("NCCL_SOCKET_IFNAME", "=" + interface);  // Else NCCL takes it as a prefix.
    env.try_emplace("GLOO_SOCKET_IFNAME", interface);
  }
  if (spec.devices.gpus.empty()) return;
  if (!asks_for_mpi(spec.spec)) env.try_emplace("NCCL_DEBUG", "WARN");
}

}  // namespace muster::container
