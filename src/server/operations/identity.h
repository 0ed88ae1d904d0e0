#pragma once

#include <string>

#include "aws/api/realm.h"
#include "aws/api/request.h"

namespace muster::server {

/// A caller, as in responses of GetCallerIdentity and AssumeRole.
struct Identity {
  std::string user_id;
  std::string arn;
};
Identity identity_of(const api::Request& request, const api::Realm& realm);
/// The holder of a key that AssumeRole created; `session`: "ROLE/NAME".
Identity assumed_identity(const std::string& session, const api::Realm& realm);

/// Services whose answers need no state: STS's GetCallerIdentity, IAM's GetRole (every role exists)
/// and SimulatePrincipalPolicy (everything is allowed, because permissions depend on keys). Pure.
/// `request` was validated against the service's model.
api::Answer identify(const api::Request& request, const api::Realm& realm);

}  // namespace muster::server
