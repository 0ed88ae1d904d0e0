#pragma once

#include <functional>
#include <optional>
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

/// When a host's journal told a metric first, from `since` on.
using FirstMetric = std::function<Result<std::optional<UnixMillis>>(
    const std::string& host, const std::string& journal, UnixMillis since)>;
/// Adds that of each host to the timeline that was read of `journals`. It is looked for from the
/// host's first line on: earlier attempts stand in the same journal. Error: as `first_metric`.
Result<void> add_first_metrics(const HostJournals& journals, const FirstMetric& first_metric,
                               job::JobTimeline& timeline);

}  // namespace muster::platform
