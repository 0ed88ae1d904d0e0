#pragma once

#include "aws/api/realm.h"
#include "aws/api/request.h"
#include "server/operations/keys.h"

namespace muster::server {

/// STS's AssumeRole and GetSessionToken: temporary keys with the rights and bounds of the caller's,
/// whatever the role. `request` was validated against the service's model, and is a user's.
/// Belongs to the store's thread. Source: AWS STS API reference.
api::Answer lend_key(const api::Request& request, const api::Realm& realm, UserKeys& keys,
                     UnixMillis now);

}  // namespace muster::server
