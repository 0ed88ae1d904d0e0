#pragma once

#include <netdb.h>

#include <memory>
#include <optional>
#include <string>

namespace muster {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// Resolves the name `host` with getaddrinfo() for datagrams; null if it cannot be resolved.
/// `flags`: AI_* flags. Blocks until the name server responds.
Addresses look_up(const std::string& host, int flags);

/// The address of this machine from which a datagram to `host` would be sent; none if there is no
/// route to it. Sends nothing. Blocks as look_up().
std::optional<std::string> address_towards(const std::string& host);

}  // namespace muster
