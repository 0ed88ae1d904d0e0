#pragma once

#include <string_view>
#include <vector>

#include "base/address_block.h"
#include "base/result.h"

namespace muster::local {

using Subnet = AddressBlock;

/// The networks that /proc/net/route lists, without the default route. Lines that are not
/// understood are passed over. Pure. Source: the kernel's net/ipv4/fib_trie.c (fib_route_seq_show).
std::vector<Subnet> routes_from(std::string_view proc_net_route);

/// The first free /24 out of muster's ranges: 10.177.0.0/16, and where a route covers that one
/// 172.29.0.0/16, then 198.18.0.0/15. Pure. Error: `system` when none is free.
Result<Subnet> choose_subnet(const std::vector<Subnet>& taken);

}  // namespace muster::local
