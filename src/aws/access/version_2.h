#pragma once

// Inside access/ only: presigned URLs of Signature Version 2. Pure.

#include <string>
#include <string_view>

#include "aws/access/signature_claim.h"

namespace muster::access {

/// True if the query names a part of such a signature.
bool is_version_2(const aws::RequestHead& head);
/// The claim, if the URL holds what Version 2 signs and nothing else, each once: an unsigned
/// parameter would let others change what is asked. Source: Amazon S3 User Guide, "Signing and
/// authenticating REST requests", query string authentication.
Result<Claim, AuthRefusal> claim_of_version_2(const aws::RequestHead& head);
/// The signed text. `bucket`: that of the Host header; empty: it is in the path.
std::string version_2_text(const aws::RequestHead& head, std::string_view bucket);
/// Base64 of the HMAC with SHA-1.
std::string version_2_signature(std::string_view secret, std::string_view text);

}  // namespace muster::access
