#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aws/api/job_request.h"
#include "job/vpc/vpc_config.h"
#include "server/jobs/job_config.h"

namespace muster::jobs {

// Evaluates a request's VpcConfig. Pure.

/// The connections that muster and the launchers need between a job's hosts: none for one host, or
/// for a job that starts its own program. Launchers use any free ports, on Linux 32768 to 60999
/// (ip_local_port_range). Ranks whose ports the job chooses itself are not checked.
std::vector<vpc::Need> needs_between_hosts(const job::Spec& spec);

/// The place of the job's hosts; none if VpcConfig has no effect: it is missing, or names unknown
/// ids and the config accepts any. Rejects unknown ids, several VPCs, subnets without enough
/// addresses, and groups that forbid connections in needs_between_hosts().
Result<std::optional<job::VpcPlace>, aws::Refusal> vpc_of(const api::JobRequest& request,
                                                          const JobConfig& config,
                                                          const vpc::Networks& networks);

/// The line in the job's log that its VpcConfig has no effect.
std::string no_vpc_note(const api::JobRequest& request, const vpc::Networks& networks);

}  // namespace muster::jobs
