#pragma once

#include <netdb.h>

#include <memory>
#include <optional>
#include <string>

namespace muster {

using Addresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// What the name `host` means on this machine, as getaddrinfo() says for datagrams; null: nothing.
/// `flags` are its AI_*. Blocks, for as long as a name server takes.
Addresses look_up(const std::string& host, int flags);

/// The address of this machine from which a datagram to `host` would go; none where no route leads
/// there. Sends nothing. Blocks as look_up().
std::optional<std::string> address_towards(const std::string& host);

}  // namespace muster
