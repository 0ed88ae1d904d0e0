#pragma once

// Inside job/ only: a job's groups of hosts, and their JSON form.

#include "job/spec.h"
#include "job/spec_fields.h"

namespace muster::job {

/// Names, counts (those of `instance_count`), and the names in channels. Error: `invalid_input`.
Result<void> check_groups(const Spec& spec);

/// ResourceConfig's InstanceGroups.
Json groups_json(const std::vector<HostGroup>& groups);
/// Muster's own part: for each property of a group's hosts, a list in the groups' order.
void add_group_resources(const std::vector<HostGroup>& groups, Json& own);

/// Sets the groups, the count of hosts and the first one's type.
void read_groups(const Json& list, Spec& spec, Fields& outer);
void read_group_resources(Spec& spec, Fields& own);

}  // namespace muster::job
