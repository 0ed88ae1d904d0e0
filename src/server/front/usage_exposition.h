#pragma once

#include <string>
#include <utility>
#include <vector>

#include "job/wire/usage.h"
#include "server/exposition.h"

namespace muster::server {

/// What the hosts of running jobs and their GPUs use, as families of /metrics; what is not known is
/// left out. Pure.
void write_usage(Exposition& to,
                 const std::vector<std::pair<std::string, std::vector<job::HostUsage>>>& jobs);

}  // namespace muster::server
