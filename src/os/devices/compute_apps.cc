#include "os/devices/compute_apps.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/text.h"
#include "os/devices/gpu_figures.h"

namespace muster::devices {
namespace {

constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t memory_mib_max = std::int64_t{1} << 32;
constexpr std::int64_t pid_max = 1 << 22;  ///< Source: proc_sys_kernel(5), pid_max.

constexpr std::array<std::string_view, 6> complaints = {
    "CUDA out of memory",       "CUDA error: out of memory",         "cudaErrorMemoryAllocation",
    "CUDA_ERROR_OUT_OF_MEMORY", "RESOURCE_EXHAUSTED: Out of memory", "CUBLAS_STATUS_ALLOC_FAILED"};

}  // namespace

Args compute_apps_command() {
  return {"nvidia-smi", "--query-compute-apps=gpu_bus_id,pid,used_gpu_memory",
          "--format=csv,noheader,nounits", "--loop=5"};
}

std::optional<ComputeApp> compute_app_from(std::string_view line) {
  const std::vector<std::string> fields = split(line, ',');
  if (fields.size() != 3) return std::nullopt;
  const std::optional<std::int64_t> pid = number_up_to(fields[1], pid_max);
  const std::optional<std::int64_t> memory = number_up_to(fields[2], memory_mib_max);
  if (!pid || *pid == 0 || !memory) return std::nullopt;
  return ComputeApp{bus_name(fields[0]), *pid, *memory * mib};
}

bool tells_of_card_memory(std::string_view text) {
  return std::any_of(complaints.begin(), complaints.end(), [text](std::string_view words) {
    return text.find(words) != std::string_view::npos;
  });
}

}  // namespace muster::devices
