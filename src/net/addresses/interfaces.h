#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/result.h"

namespace muster {

/// An address of a network interface of the calling thread's network namespace; an interface has
/// one entry per address.
struct InterfaceAddress {
  std::string interface;  ///< "eth0"
  std::string address;    ///< As numeric_address() has it.
  bool is_v4 = true;
  bool is_up = true;
  bool is_loopback = false;
  int prefix_bits = 0;  ///< 24 for 255.255.255.0.
};

/// "10.0.0.1", "fe80::1": an IPv4 or IPv6 address without port and scope; empty for another. Pure.
std::string numeric_address(const sockaddr* address);

/// IPv4 and IPv6. Error: as fail_errno().
Result<std::vector<InterfaceAddress>> interface_addresses();

}  // namespace muster
