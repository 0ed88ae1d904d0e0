#include "container/bundle/collectives.h"

#include <cstdint>

#include "base/text.h"
#include "job/ml_paths.h"
#include "job/training/raw_hyperparameters.h"

namespace muster::container {
namespace {

struct Pair {
  const char* name;   ///< The name in newer versions of torch.
  const char* older;  ///< The name in older versions, which newer versions also read.
};
constexpr Pair buffer_size{"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"};
constexpr Pair dump_file{"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"};

bool sets(const Env& env, const Pair& pair) {
  return env.contains(pair.name) || env.contains(pair.older);
}

/// If one of the two names is set, the other is not added.
void set_pair(const job::HostSpec& spec, const Pair& pair, const std::string& value, Env& env) {
  if (sets(env, pair) || sets(spec.spec.environment, pair)) return;
  env[pair.name] = value;
  env[pair.older] = value;
}

/// A port for NCCL's diagnostic service (RAS) that no other host of the job has, and hosts of other
/// jobs hardly: below those of roll calls on clusters, and those that Linux gives to programs.
int ras_port_of(const job::HostSpec& spec) {
  constexpr std::uint32_t first = 15000;
  constexpr std::uint32_t count = 5000;
  std::uint32_t hash = 2166136261u;  // FNV-1a.
  for (const char c : spec.job_folder) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  const auto number = parse_integer(spec.host.substr(spec.host.rfind('-') + 1)).value_or(0);
  return static_cast<int>(first + (hash % count + static_cast<std::uint32_t>(number)) % count);
}

}  // namespace

bool records_flights(const job::HostSpec& spec) {
  const bool is_elsewhere = sets(spec.spec.environment, dump_file) ||
                            (spec.spec.image && sets(spec.spec.image->environment, dump_file));
  return !spec.devices.gpus.empty() && !is_elsewhere;
}

void set_collectives(const job::HostSpec& spec, const std::string& interface, Env& env) {
  // On the machine's own network NCCL's choice is better: it prefers InfiniBand.
  if (!job::shares_network(spec)) {
    env.try_emplace("NCCL_SOCKET_IFNAME", "=" + interface);  // Without "=", it is a prefix.
    env.try_emplace("GLOO_SOCKET_IFNAME", interface);
  }
  if (spec.devices.gpus.empty()) return;
  // For MPI, the launcher sets INFO, as sagemaker-training does.
  if (!job::asks_for_mpi(spec.spec.hyperparameters)) env.try_emplace("NCCL_DEBUG", "WARN");
  if (job::shares_network(spec))
    env.try_emplace("NCCL_RAS_ADDR", "localhost:" + std::to_string(ras_port_of(spec)));
  set_pair(spec, buffer_size, "2000", env);
  set_pair(spec, dump_file, std::string(job::ml_path) + "/output/data/" + dumps_folder + "/rank_",
           env);
  env.try_emplace("TORCH_NCCL_DUMP_ON_TIMEOUT", "1");
}

}  // namespace muster::container
