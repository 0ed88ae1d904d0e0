#pragma once

#include "api/realm.h"
#include "api/request.h"

namespace muster::server {

/// Services whose answers need no state: STS's GetCallerIdentity, IAM's GetRole (every role exists)
/// and SimulatePrincipalPolicy (everything is allowed: keys decide here). Pure.
/// `request` was validated against the service's model.
api::Answer identify(const api::Request& request, const api::Realm& realm);

}  // namespace muster::server
