#pragma once

#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace muster::local {

/// What the host uses, from the control group that its steward made (job::jobs_cgroup), on machines
/// with version 1, 2 or both, mounted at `mounted`. Errors: `closed` without a group; `unsupported`
/// where the machine does not count all of it.
Result<engine::Usage> usage_of(const std::string& job, const std::string& host,
                               const std::string& mounted = "/sys/fs/cgroup");

}  // namespace muster::local
