#pragma once

// Inside job/ only: a job's groups of hosts, and how they stand in JSON.

#include "job/spec.h"
#include "job/spec_fields.h"

namespace muster::job {

/// Names, counts (those of `instance_count`), and the names in channels. Error: `invalid_input`.
Result<void> check_groups(const Spec& spec);

/// ResourceConfig's InstanceGroups.
Json groups_json(const std::vector<HostGroup>& groups);
/// Muster's part: limits by group, in their order.
Json group_limits_json(const std::vector<HostGroup>& groups);
Json group_gpus_json(const std::vector<HostGroup>& groups);

/// Sets the groups, the count of hosts and the first one's type.
void read_groups(const Json& list, Spec& spec, Fields& outer);
void read_group_limits(const Json& list, Spec& spec, Fields& outer);
void read_group_gpus(const Json& list, Spec& spec, Fields& outer);

}  // namespace muster::job
