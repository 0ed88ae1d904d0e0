#pragma once

#include <optional>
#include <string>
#include <vector>

#include "aws/api/job_request.h"
#include "job/vpc/place.h"
#include "server/jobs/job_config.h"

namespace muster::jobs {

// What becomes of a request's VpcConfig. Pure.

/// What muster's own parts and launchers need between the hosts of a job: nothing for one host, or
/// for a job that brings a program of its own to start with. Launchers take any free ports, which
/// Linux has from 32768 to 60999 (ip_local_port_range); ranks whose ports the job has chosen itself
/// are not looked at.
std::vector<vpc::Need> needs_between_hosts(const job::Spec& spec);

/// The place of the job's hosts; none if VpcConfig has no effect: it is missing, or names unknown
/// ids and the config accepts any. Rejects unknown ids, several VPCs, subnets without enough
/// addresses, and groups that forbid connections in needs_between_hosts().
Result<std::optional<job::VpcPlace>, aws::Refusal> vpc_of(const api::JobRequest& request,
                                                          const JobConfig& config,
                                                          const vpc::Networks& networks);

/// Says in the job's log that its VpcConfig has no effect.
std::string no_vpc_note(const api::JobRequest& request, const vpc::Networks& networks);

}  // namespace muster::jobs
