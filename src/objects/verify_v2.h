#pragma once

// Inside objects/ only: what Version 2 signs in a query, and what both versions check. Pure.

#include <optional>
#include <string>
#include <string_view>

#include "objects/claim.h"

namespace muster::objects {

/// Source: Amazon S3 User Guide, "Signing and authenticating REST requests (Signature Version 2)".
std::string text_to_sign_v2(const RequestHead& head, const ClaimV2& claim,
                            std::string_view bucket_path);

/// `key` may be null: unknown.
std::optional<Refused> check_key(const AccessKey* key, std::string_view id, std::string_view token,
                                 UnixMillis now);

}  // namespace muster::objects
