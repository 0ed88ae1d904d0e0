#pragma once

#include <string>
#include <vector>

#include "aws/refusal.h"
#include "base/json.h"
#include "store/store.h"

namespace muster::server {

/// DescribeTrainingJob's answer: what was submitted, unknown members too, and where the job stands.
/// Holds what clients index without asking, whether the request had it or not.
/// `waits_for`: why it waits now, told with its last transition; that is in no store, since each
/// job that ends changes it for all that wait. Empty: it does not wait. Pure. Source:
/// docs/protocols/api.md, "A job as it is described".
Json describe_job(const store::Job& job, const std::vector<store::MetricSample>& final_metrics,
                  const std::string& waits_for);

/// Where nobody has a job of the name that a request gives.
aws::Refusal no_such_job();

/// [{"Key", "Value"}].
Json to_json(const store::Tags& tags);

}  // namespace muster::server
