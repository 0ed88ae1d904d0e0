#pragma once

#include <map>
#include <string>

#include "aws/api/realm.h"
#include "aws/api/request.h"
#include "job/vpc/networks.h"
#include "server/store/store.h"

namespace muster::server {

/// EC2's DescribeVpcs, DescribeSubnets and DescribeSecurityGroups: what there is, by ids, names and
/// filters, in pages. Codes: InvalidVpcID.NotFound, InvalidSubnetID.NotFound, InvalidGroup.NotFound
/// for what is not there, InvalidParameterValue for filters that are not known.
///
/// Pure. `request` was validated against the model. `tags`: by id, of those that have some.
api::Answer describe_networks(const api::Request& request, const api::Realm& realm,
                              const vpc::Networks& networks,
                              const std::map<std::string, store::Tags>& tags);

}  // namespace muster::server
