#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "engine/engine.h"

namespace muster::local {

/// What the host uses, from the control group that its steward made (job::jobs_cgroup), on machines
/// with version 1, 2 or both, mounted at `mounted`; what went over its network from `proc`, by a
/// process of the group. Nothing of it is the host's own word. Errors: `closed` without a group;
/// `unsupported` where the machine does not count memory, processor and processes.
Result<engine::Usage> usage_of(const std::string& job, const std::string& host,
                               const std::string& mounted = "/sys/fs/cgroup",
                               const std::string& proc = "/proc");

/// The sum over all disks of io.stat (version 2). Pure.
engine::Flow disk_from_io_stat(std::string_view text);
/// Likewise of blkio.throttle.io_service_bytes (version 1). Pure.
engine::Flow disk_from_blkio(std::string_view text);
/// What came and went by the interfaces of /proc/PID/net/dev but the loopback one. Pure.
engine::Flow network_from(std::string_view text);

}  // namespace muster::local
