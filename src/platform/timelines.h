#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "job/timeline.h"

namespace muster::platform {

/// Host and journal; a journal may come later.
using HostJournals = std::vector<std::pair<std::string, std::string>>;

/// What the hosts of a job did, as far as their journals tell by now; one that is damaged ends
/// before the damage. Blocks for about a second for each GiB of them. Error: as open(2), read(2).
Result<job::JobTimeline> read_timeline(std::string job, UnixMillis submitted,
                                       const HostJournals& journals);

}  // namespace muster::platform
