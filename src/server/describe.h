#pragma once

#include <vector>

#include "base/json.h"
#include "store/store.h"

namespace muster::server {

/// DescribeTrainingJob's answer: what was submitted, unknown members too, and where the job stands.
/// Holds what clients index without asking, whether the request had it or not.
/// Pure. Source: docs/protocols/api.md, "A job as it is described".
Json describe_job(const store::Job& job, const std::vector<store::MetricSample>& final_metrics);

/// [{"Key", "Value"}].
Json to_json(const store::Tags& tags);

}  // namespace muster::server
