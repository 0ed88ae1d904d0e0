#pragma once

#include <string>
#include <string_view>

namespace muster {

/// The interface of the machine's IPv4 default route with the lowest metric; empty without such a
/// route. `routes` is the text of /proc/net/route. Pure. Source: the kernel's net/ipv4/fib_trie.c
/// (fib_route_seq_show).
std::string default_route_interface(std::string_view routes);

}  // namespace muster
