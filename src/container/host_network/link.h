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

/// Removes an interface, of a cable both ends; succeeds if it does not exist.
Result<void> remove_link(const std::string& name);

/// Through a socket of the namespace that is meant (any AF_INET socket made inside it).
Result<void> add_to_bridge(int socket, const std::string& bridge, const std::string& name);
Result<void> set_up(int socket, const std::string& name);
/// The interface has no IPv6; where the kernel has none, there is nothing to do.
Result<void> disable_ipv6(const std::string& name);
/// The calling thread's network namespace hands packets on between its interfaces.
Result<void> forward_ipv4();
/// `address` numeric IPv4; replaces the interface's first address.
Result<void> set_address(int socket, const std::string& name, const std::string& address,
                         int prefix_length);
/// Packets for the network `destination` ("0.0.0.0" with 0: any) go to `gateway`.
Result<void> add_route(int socket, const std::string& destination, int prefix_length,
                       const std::string& gateway);
/// Packets for `address` leave by the interface `name`: who has it is asked for there.
Result<void> add_neighbour(int socket, const std::string& address, const std::string& name);
/// The route to an interface's own network, which the kernel made when it was set up, goes.
Result<void> remove_own_route(int socket, const std::string& network, int prefix_length,
                              const std::string& name);

}  // namespace muster::container
