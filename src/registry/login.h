#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "access/keyring.h"

namespace muster::registry {

/// Who comes to the registry, by HTTP Basic: an access key's id with its secret, or "AWS" with a
/// token of ECR's GetAuthorizationToken.
///
/// Pure: keys and time come in.

constexpr Duration token_life = std::chrono::hours(12);  ///< As AWS's.

/// A password for "AWS" that holds until then or until its key is gone. It holds no secret: whoever
/// has it can come in to the registry as this key, and cannot sign.
///
/// Its form: KEY_ID.MILLISECONDS.MAC, the MAC by a key that the access key's secret gives. So the
/// server keeps nothing of it, and a key that is revoked or replaced takes its tokens along.
std::string token_for(const access::AccessKey& key, UnixMillis expires);
/// When one that is made now ends: after token_life, or with its key.
UnixMillis token_end(const access::AccessKey& key, UnixMillis now);

/// The key of an Authorization header. Error: `denied`, one line for the user.
///
/// A key with a session token comes in by GetAuthorizationToken alone: Basic has no place for its
/// session token.
Result<std::shared_ptr<const access::AccessKey>> logged_in(
    std::optional<std::string_view> authorization, const access::KeyRing& keys, UnixMillis now);

}  // namespace muster::registry
