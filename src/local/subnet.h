#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::local {

/// An IPv4 network; `address` in host byte order with no bit set behind `prefix_length`.
struct Subnet {
  std::uint32_t address = 0;
  int prefix_length = 24;

  bool operator==(const Subnet&) const = default;
};

bool overlap(const Subnet& a, const Subnet& b);
/// "10.177.3.0/24", and back. Error: `invalid_input`.
std::string cidr(const Subnet& subnet);
Result<Subnet> subnet_from(std::string_view text);
/// "10.177.3.7" for `number` 7, which the network has room for.
std::string address_in(const Subnet& subnet, std::uint32_t number);

/// The networks that /proc/net/route lists, without the default route. Lines that are not
/// understood are passed over. Pure. Source: the kernel's net/ipv4/fib_trie.c (fib_route_seq_show).
std::vector<Subnet> routes_from(std::string_view proc_net_route);

/// The first free /24 out of muster's ranges: 10.177.0.0/16, and where a route covers that one
/// 172.29.0.0/16, then 198.18.0.0/15. Pure. Error: `system` when none is free.
Result<Subnet> choose_subnet(const std::vector<Subnet>& taken);

}  // namespace muster::local
