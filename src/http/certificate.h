#pragma once

#include <string>

#include "base/result.h"

namespace muster::http {

/// Whether a client that trusts `roots` (certificates in PEM) takes a server's certificate, a PEM
/// chain, for `host` (a name or a numeric address) today. Error: `system` for what cannot be read
/// or is no pair; `denied` with the reason: unknown authority, another host, expired.
Result<void> check_certificate(const std::string& certificate_file, const std::string& key_file,
                               const std::string& roots, const std::string& host);

}  // namespace muster::http
