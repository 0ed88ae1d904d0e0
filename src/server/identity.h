#pragma once

#include "api/realm.h"
#include "api/request.h"
#include "base/time.h"

namespace muster::server {

/// Services whose answers need no state: STS's GetCallerIdentity, IAM's GetRole (every role exists)
/// and SimulatePrincipalPolicy (everything is allowed: keys decide here), ECR's token and images
/// (there are none). Pure.
/// `request` was validated against the service's model.
api::Answer identify(const api::Request& request, const api::Realm& realm, UnixMillis now);

}  // namespace muster::server
