#pragma once

#include <string>

namespace muster::loop {

/// True for an address, as text, on the public internet: not a loopback, private, link-local,
/// shared, multicast, reserved or documentation one, nor one that translates to such an address
/// (IPv4 in IPv6, 6to4, NAT64, Teredo). Pure. Source: IANA's special-purpose address registries for
/// IPv4 and IPv6.
bool is_public_address(const std::string& address);

/// True for an address that an interface of this machine has.
bool is_own_address(const std::string& address);

}  // namespace muster::loop
