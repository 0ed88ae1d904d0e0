#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "job/metric_definitions.h"
#include "job/wire/timeline.h"

namespace muster::platform {

/// Host and journal; a journal may come later.
using HostJournals = std::vector<std::pair<std::string, std::string>>;

/// The timeline of a job's hosts, as far as their journals go by now; a damaged journal ends before
/// the damage. Blocks for about a second per GiB of journals. Error: as open(2), read(2).
Result<job::JobTimeline> read_timeline(std::string job, UnixMillis submitted,
                                       const HostJournals& journals);

/// Adds the first metric of each host to the timeline that was read from `journals`: the time of
/// the first whole line, as LogMessages gives it, in which an expression of `metrics` finds a
/// number. The search starts at the host's first line, because earlier attempts are in the same
/// journal. It ends after 64 MiB of a host's journal, or when the expressions have taken too much
/// work. Blocks. Error: as open(2), read(2); as job::MetricDefinitions::from().
Result<void> add_first_metrics(const std::vector<job::MetricDefinition>& metrics,
                               const HostJournals& journals, job::JobTimeline& timeline);

}  // namespace muster::platform
