#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "aws/access/keyring.h"

namespace muster::registry {

/// Logins to the registry by HTTP Basic: an access key's id with its secret, or "AWS" with a token
/// of ECR's GetAuthorizationToken.
///
/// Pure: keys and time are arguments.

constexpr Duration token_life = std::chrono::hours(12);  ///< As in AWS.

/// A password for "AWS", valid until then or until its key is revoked. It does not contain the
/// key's secret: its holder can use the registry as this key, but cannot sign requests.
///
/// Its form: KEY_ID.MILLISECONDS.MAC, with a MAC key derived from the access key's secret. So the
/// server stores nothing for it, and revoking or replacing a key invalidates its tokens.
std::string token_for(const access::AccessKey& key, UnixMillis expires);
/// When a token that is created now ends: after token_life, or with its key.
UnixMillis token_end(const access::AccessKey& key, UnixMillis now);

/// The key of an Authorization header. Error: `denied`, one line for the user.
///
/// A key with a session token can log in only with GetAuthorizationToken: Basic has no field for
/// the session token.
Result<std::shared_ptr<const access::AccessKey>> logged_in(
    std::optional<std::string_view> authorization, const access::KeyRing& keys, UnixMillis now);

}  // namespace muster::registry
