#pragma once

#include <vector>

#include "base/json.h"
#include "server/store.h"

namespace muster::server {

/// DescribeTrainingJob's answer: what was submitted, unknown members too, and where the job stands.
/// Holds what clients index without asking (PROTOCOL.md section 3), absent or not in the request.
/// Pure.
Json describe_job(const Job& job, const std::vector<MetricSample>& final_metrics);

/// [{"Key", "Value"}].
Json to_json(const Tags& tags);

}  // namespace muster::server
