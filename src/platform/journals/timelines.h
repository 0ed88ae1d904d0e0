#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "job/wire/timeline.h"

namespace muster::platform {

/// Host and journal; a journal may come later.
using HostJournals = std::vector<std::pair<std::string, std::string>>;

/// The timeline of a job's hosts, as far as their journals go by now; a damaged journal ends before
/// the damage. Blocks for about a second per GiB of journals. Error: as open(2), read(2).
Result<job::JobTimeline> read_timeline(std::string job, UnixMillis submitted,
                                       const HostJournals& journals);

/// When a host's journal first reports a metric, from `since` on.
using FirstMetric = std::function<Result<std::optional<UnixMillis>>(
    const std::string& host, const std::string& journal, UnixMillis since)>;
/// Adds the first metric of each host to the timeline that was read from `journals`. The search
/// starts at the host's first line, because earlier attempts are in the same journal. Error: as
/// `first_metric`.
Result<void> add_first_metrics(const HostJournals& journals, const FirstMetric& first_metric,
                               job::JobTimeline& timeline);

}  // namespace muster::platform
