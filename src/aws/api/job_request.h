#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aws/api/request.h"
#include "base/result.h"
#include "job/metric_definitions.h"
#include "job/spec.h"

namespace muster::api {

/// CreateTrainingJob's input, read once: whatever the server asks about a job is answered from
/// this.
///
/// Pure.
struct JobRequest {
  job::Spec spec;                    ///< What hosts run; muster's own part is a fresh Spec's.
  std::string image;                 ///< TrainingImage; empty: an algorithm by name.
  std::string credentials_provider;  ///< The ARN of what logs in for it; empty: none is named.
  std::vector<job::MetricDefinition> metrics;  ///< As they came: expressions may be none.
  bool isolated = false;             ///< EnableNetworkIsolation: nothing outside is reached.
  std::vector<std::string> subnets;  ///< VpcConfig.Subnets: ids.
  std::vector<std::string> security_groups;  ///< VpcConfig.SecurityGroupIds.
  std::string without_effect;                ///< See aws/api/without_effect.h.

  /// "algo-1" ... "algo-N", in the order of their numbers.
  std::vector<std::string> hosts() const;
};

/// `input` passed validation against the service's model. Refuses what no server of muster's runs:
/// Pipe mode, data that is not in S3, and what job::spec_asked_for() refuses.
Result<JobRequest, aws::Refusal> job_request(const Json& input);

/// What the store keeps of a request. Error: `invalid_input`.
Result<JobRequest> job_request_from(std::string_view stored);

}  // namespace muster::api
