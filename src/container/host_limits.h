#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace muster::container {

/// What jobs may use of a machine. Reasons and figures: docs/decisions/0024-limits.md.

struct MachineSize {
  std::int64_t memory_bytes = 0;
  std::int64_t processes = 0;  ///< The kernel's own limit, threads included.

  bool operator==(const MachineSize&) const = default;
};
/// Error: `system` when /proc cannot be read.
Result<MachineSize> machine_size();

/// The most that one job may have, and all jobs together: less than the machine, so that a job that
/// takes all it can leaves the server, its stewards and a shell to look with. Pure.
struct JobLimits {
  std::int64_t memory_bytes = 0;
  std::int64_t processes = 0;  ///< 0: not limited, for limit_cgroup().
};
JobLimits job_limits(const MachineSize& machine);

/// One host's part. Its file systems in memory, full, together take less than its part of the job's
/// memory (with GPUs, if that part is at least 2 GiB); what is in them counts as the job's. Pure.
struct HostLimits {
  std::int64_t processes = 0;
  std::int64_t tmp_bytes = 0;
  std::int64_t run_bytes = 0;
  std::int64_t shm_bytes = 0;
};
/// What decides about one host's part.
struct HostNeeds {
  int hosts = 1;                  ///< Hosts of the job on this machine, at least 1.
  std::int64_t shm_bytes = 0;     ///< What the job asks for /dev/shm; 0: the default.
  std::int64_t memory_bytes = 0;  ///< A limit of the host's own; 0: none.
  bool has_gpus = false;          ///< NCCL and data loaders need much of /dev/shm, at least 1 GiB.
};
HostLimits host_limits(const JobLimits& job, const HostNeeds& needs);

/// The files that a process may have open, unless it asks for more, up to `hard`. Pure.
std::uint64_t open_files(std::uint64_t hard);

/// Makes the control group `path` ("/muster", "/muster/<job>") in the hierarchies of memory and
/// processes and limits it; done again, it does nothing more. What the machine has no hierarchy for
/// stays without a limit. Error: `system`.
Result<void> limit_cgroup(const std::string& path, const JobLimits& limits);

}  // namespace muster::container
