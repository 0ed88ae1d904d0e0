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

/// The most that one job, and all jobs together, may have. It is less than the machine has, so that
/// a job that takes all it can still leaves enough for the server, its stewards and an
/// administrator's shell. Pure.
struct JobLimits {
  std::int64_t memory_bytes = 0;
  std::int64_t processes = 0;  ///< 0: not limited, for limit_cgroup().
};
JobLimits job_limits(const MachineSize& machine);

/// One host's part. Its file systems in memory, even when full, take less than its part of the
/// job's memory (with GPUs only if that part is at least 2 GiB); what is in them counts as the
/// job's memory. Pure.
struct HostLimits {
  std::int64_t processes = 0;
  std::int64_t tmp_bytes = 0;
  std::int64_t run_bytes = 0;
  std::int64_t shm_bytes = 0;
};
/// What one host's part depends on.
struct HostNeeds {
  int hosts = 1;                  ///< Hosts of the job on this machine, at least 1.
  std::int64_t shm_bytes = 0;     ///< What the job asks for /dev/shm; 0: the default.
  std::int64_t memory_bytes = 0;  ///< A limit of the host's own; 0: none.
  bool has_gpus = false;          ///< NCCL and data loaders need much of /dev/shm, at least 1 GiB.
};
HostLimits host_limits(const JobLimits& job, const HostNeeds& needs);

/// How many files a process may have open by default; it can raise this up to `hard`. Pure.
std::uint64_t open_files(std::uint64_t hard);

/// Makes the control group `path` ("/muster", "/muster/<job>") in the hierarchies of memory and
/// processes and limits it; repeating it changes nothing. If the machine has no hierarchy for a
/// resource, that resource stays unlimited. Error: `system`.
Result<void> limit_cgroup(const std::string& path, const JobLimits& limits);

}  // namespace muster::container
