#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::container {

/// Requests to the kernel about links (rtnetlink(7), netdevice(7)). Small and synchronous.

/// Makes a pair of virtual cables' ends: `name` here, `peer` in the namespace of `namespace_fd`.
Result<void> make_cable(const std::string& name, const std::string& peer, int namespace_fd);
/// Makes a bridge.
Result<void> make_bridge(const std::string& name);

/// Through a socket of the namespace that is meant (any AF_INET socket made inside it).
Result<void> add_to_bridge(int socket, const std::string& bridge, const std::string& name);
Result<void> set_up(int socket, const std::string& name);
/// `address` numeric IPv4; replaces the interface's first address.
Result<void> set_address(int socket, const std::string& name, const std::string& address,
                         int prefix_length);

}  // namespace muster::container
