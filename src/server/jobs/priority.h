#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aws/refusal.h"
#include "base/result.h"
#include "server/jobs/job_config.h"

namespace muster::jobs {

/// The tag with a job's priority: "0" to "9".
constexpr const char* priority_tag = "muster:priority";

using Tags = std::vector<std::pair<std::string, std::string>>;

/// The priority in `tags`; none if they have none. Rejects an invalid priority, and one above the
/// limit in the config for the key, which `makers` created (store::AccessKey). Pure.
Result<std::optional<int>, aws::Refusal> priority_asked_for(
    const Tags& tags, const std::string& key, const JobConfig& config,
    const std::vector<std::string>& makers = {});

/// The priority in stored tags; 0 if it is missing or invalid. Pure.
int priority_stored(const Tags& tags);

}  // namespace muster::jobs
