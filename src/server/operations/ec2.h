#pragma once

#include <map>
#include <string>

#include "aws/api/realm.h"
#include "aws/api/request.h"
#include "job/vpc/networks.h"
#include "server/store/store.h"

namespace muster::server {

/// EC2's DescribeVpcs, DescribeSubnets and DescribeSecurityGroups: the existing networks, by ids,
/// names and filters, in pages. Codes: InvalidVpcID.NotFound, InvalidSubnetID.NotFound and
/// InvalidGroup.NotFound for missing ones, InvalidParameterValue for unknown filters.
///
/// Pure. `request` was validated against the model. `tags`: by id, for resources that have tags.
api::Answer describe_networks(const api::Request& request, const api::Realm& realm,
                              const vpc::Networks& networks,
                              const std::map<std::string, store::Tags>& tags);

}  // namespace muster::server
