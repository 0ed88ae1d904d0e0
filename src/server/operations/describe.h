#pragma once

#include <string>
#include <vector>

#include "aws/refusal.h"
#include "base/json.h"
#include "server/store/store.h"

namespace muster::server {

/// DescribeTrainingJob's response: the submitted request, including unknown members, and the job's
/// state. Always contains the members that clients read without checking. `waits_for`: why the job
/// waits now, shown in its last transition; it is not stored, because each job that ends changes it
/// for all waiting jobs. Empty: the job does not wait. Pure. Source: docs/protocols/api.md, "A job
/// as it is described".
Json describe_job(const store::Job& job, const std::vector<store::MetricSample>& final_metrics,
                  const std::string& waits_for);

/// For a request that names an unknown job.
aws::Refusal no_such_job();

/// [{"Key", "Value"}].
Json to_json(const store::Tags& tags);

}  // namespace muster::server
