#include "net/addresses/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>

namespace muster {

std::string numeric_address(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
  } else if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
  }
  return text.data();
}

namespace {

/// The number of leading ones in a mask.
int bits_of(const sockaddr* mask) {
  if (mask == nullptr) return 0;
  std::array<unsigned char, 16> bytes{};
  std::size_t size = 4;
  if (mask->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, mask, sizeof v6);
    std::memcpy(bytes.data(), &v6.sin6_addr, size = 16);
  } else {
    sockaddr_in v4{};
    std::memcpy(&v4, mask, sizeof v4);
    std::memcpy(bytes.data(), &v4.sin_addr, size);
  }
  int bits = 0;
  for (std::size_t i = 0; i < size; ++i) bits += std::popcount(bytes[i]);
  return bits;
}

}  // namespace

Result<std::vector<InterfaceAddress>> interface_addresses() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return fail_errno("cannot read the machine's network addresses");
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(list, ::freeifaddrs);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    std::string address = each->ifa_addr == nullptr ? "" : numeric_address(each->ifa_addr);
    if (address.empty()) continue;
    found.push_back({each->ifa_name, std::move(address), each->ifa_addr->sa_family == AF_INET,
                     (each->ifa_flags & IFF_UP) != 0, (each->ifa_flags & IFF_LOOPBACK) != 0,
                     bits_of(each->ifa_netmask)});
  }
  return found;
}

}  // namespace muster
