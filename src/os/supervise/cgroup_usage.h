#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "job/wire/usage.h"

namespace muster::supervise {

/// What the host uses, from the control group that its steward made (job::jobs_cgroup), on machines
/// with version 1, 2 or both, mounted at `mounted`; what went over its network from `proc`, by a
/// process of the group. Nothing of it is the host's own word. Errors: `closed` without a group;
/// `unsupported` where the machine does not count memory, processor and processes.
Result<job::Usage> usage_of(const std::string& job, const std::string& host,
                            const std::string& mounted = "/sys/fs/cgroup",
                            const std::string& proc = "/proc");

/// What is counted of some processes; none: it is not.
struct Counted {
  std::optional<std::int64_t> memory_bytes;
  std::optional<std::chrono::microseconds> processor_time;
  std::optional<std::int64_t> processes;
  job::Flow disk;
};
/// By control groups, given as their folders: of one host, in several hierarchies.
Counted counted_in(const std::vector<std::string>& folders);
/// By the processes themselves, with those that they have waited for. What they share of their
/// memory counts for none of them. Who has ended meanwhile is left out.
Counted counted_of(const std::vector<pid_t>& processes, const std::string& proc = "/proc");

/// A process's place in one hierarchy of control groups.
struct GroupPlace {
  std::string root;  ///< The hierarchy's folder.
  std::string path;  ///< "/slurm/uid_0/job_7/step_0/task_0"

  bool operator==(const GroupPlace&) const = default;
};
/// By /proc/PID/cgroup, of which `text` is; hierarchies without a controller have no place but that
/// of version 2. Looks up what is mounted at `mounted`.
std::vector<GroupPlace> group_places(std::string_view text,
                                     const std::string& mounted = "/sys/fs/cgroup");
/// The processes directly in such a folder, at most 10,000.
std::vector<pid_t> processes_of_group(const std::string& folder);

/// The sum over all disks of io.stat (version 2). Pure.
job::Flow disk_from_io_stat(std::string_view text);
/// The sum over all disks of blkio.throttle.io_service_bytes (version 1). Pure.
job::Flow disk_from_blkio(std::string_view text);
/// What came and went by the interfaces of /proc/PID/net/dev: by the one named, or by all but the
/// loopback one. Pure.
job::Flow network_from(std::string_view text, std::string_view interface = {});

}  // namespace muster::supervise
