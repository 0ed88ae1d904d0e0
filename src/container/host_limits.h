#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace muster::container {

/// How much of a machine jobs may use. Reasons and figures: docs/decisions/0024-limits.md.

struct MachineSize {
  std::int64_t memory_bytes = 0;
  std::int64_t processes = 0;  ///< The kernel's own limit, threads included.

  bool operator==(const MachineSize&) const = default;
};
/// Error: `system` when /proc cannot be read.
Result<MachineSize> machine_size();

/// The limits of one job, and of all jobs together. They are below the machine's resources, so that
/// a job at its limit leaves enough for the server, its stewards and an administrator's shell.
/// Pure.
struct JobLimits {
  std::int64_t memory_bytes = 0;
  std::int64_t processes = 0;  ///< 0: not limited, for limit_cgroup().
};
JobLimits job_limits(const MachineSize& machine);

/// The limits of one host. Its file systems in memory, even when full, use less than its share of
/// the job's memory (with GPUs, only if that share is at least 2 GiB). Their contents count as the
/// job's memory. Pure.
struct HostLimits {
  std::int64_t processes = 0;
  std::int64_t tmp_bytes = 0;
  std::int64_t run_bytes = 0;
  std::int64_t shm_bytes = 0;
};
/// The input for the limits of one host.
struct HostNeeds {
  int hosts = 1;                  ///< Hosts of the job on this machine, at least 1.
  std::int64_t shm_bytes = 0;     ///< The size that the job requests for /dev/shm; 0: the default.
  std::int64_t memory_bytes = 0;  ///< The host's own limit; 0: none.
  bool has_gpus = false;          ///< NCCL and data loaders need much of /dev/shm, at least 1 GiB.
};
HostLimits host_limits(const JobLimits& job, const HostNeeds& needs);

/// How many files a process may have open by default; it can raise this up to `hard`. Pure.
std::uint64_t open_files(std::uint64_t hard);

/// Creates the control group `path` ("/muster", "/muster/<job>") in the hierarchies for memory and
/// processes, and sets its limits. Idempotent. If the machine has no hierarchy for a resource, that
/// resource stays unlimited. Error: `system`.
Result<void> limit_cgroup(const std::string& path, const JobLimits& limits);

}  // namespace muster::container
