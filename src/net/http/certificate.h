#pragma once

#include <string>

#include "base/result.h"

namespace muster::http {

/// Checks that a client that trusts `roots` (certificates in PEM) accepts a server's certificate, a
/// PEM chain, for `host` (a name or a numeric address) today. Error: `system` if a file cannot be
/// read, or certificate and key do not match; `denied` with the reason: unknown authority, another
/// host, expired.
Result<void> check_certificate(const std::string& certificate_file, const std::string& key_file,
                               const std::string& roots, const std::string& host);

}  // namespace muster::http
