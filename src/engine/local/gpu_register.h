#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "os/devices/assign.h"

namespace muster::local {

/// Chooses GPUs for a job's hosts that no other living job of the machine has, and notes them in
/// `register_file` (docs/protocols/job-folder.md): one line a host, its name, its device files,
/// comma by comma, and the job's folder, with tabs between. A line holds as long as its job
/// folder's lock is held, as in network.h. `unfit`: GPUs that no job is to have. Errors:
/// devices::assign()'s; `system`.
Result<std::vector<std::vector<devices::Gpu>>> allocate_gpus(
    const std::string& register_file, const std::string& job_folder,
    const std::vector<devices::Gpu>& gpus, const std::vector<devices::Wish>& wishes,
    const devices::Topology& topology, const std::vector<devices::Holding>& unfit = {});

}  // namespace muster::local
