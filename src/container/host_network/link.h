#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::container {

/// Requests to the kernel about network links (rtnetlink(7), netdevice(7)). Synchronous.

/// Creates a veth pair: `name` here, `peer` in the namespace of `namespace_fd`.
Result<void> make_cable(const std::string& name, const std::string& peer, int namespace_fd);
/// Creates a bridge.
Result<void> make_bridge(const std::string& name);

/// Removes an interface, and both ends of a veth pair. Succeeds if it does not exist.
Result<void> remove_link(const std::string& name);

/// The following functions work in the namespace of `socket`, any AF_INET socket that was created
/// in it.
Result<void> add_to_bridge(int socket, const std::string& bridge, const std::string& name);
Result<void> set_up(int socket, const std::string& name);
/// Disables IPv6 on the interface; does nothing if the kernel does not support IPv6.
Result<void> disable_ipv6(const std::string& name);
/// Makes the calling thread's network namespace forward packets between its interfaces.
Result<void> forward_ipv4();
/// `address` numeric IPv4; replaces the interface's first address.
Result<void> set_address(int socket, const std::string& name, const std::string& address,
                         int prefix_length);
/// Routes packets for the network `destination` ("0.0.0.0" with 0: all) to `gateway`.
Result<void> add_route(int socket, const std::string& destination, int prefix_length,
                       const std::string& gateway);
/// Routes packets for `address` to the interface `name`, where ARP finds the address.
Result<void> add_neighbour(int socket, const std::string& address, const std::string& name);
/// Removes the route to the interface's own network, which the kernel created.
Result<void> remove_own_route(int socket, const std::string& network, int prefix_length,
                              const std::string& name);

}  // namespace muster::container
