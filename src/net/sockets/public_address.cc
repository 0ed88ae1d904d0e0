#include "net/sockets/public_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "net/addresses/interfaces.h"

namespace muster::loop {
namespace {

struct Network {
  const char* address;
  int bits;
};

/// Addresses that are not global in the registries, and multicast addresses.
constexpr Network private_v4[] = {
    {"0.0.0.0", 8},      {"10.0.0.0", 8},     {"100.64.0.0", 10}, {"127.0.0.0", 8},
    {"169.254.0.0", 16}, {"172.16.0.0", 12},  {"192.0.0.0", 24},  {"192.0.2.0", 24},
    {"192.88.99.0", 24}, {"192.168.0.0", 16}, {"198.18.0.0", 15}, {"198.51.100.0", 24},
    {"203.0.113.0", 24}, {"224.0.0.0", 3},
};
/// Within 2000::/3, the only range that is assigned.
constexpr Network private_v6[] = {
    {"2001::", 23},
    {"2001:db8::", 32},
    {"2002::", 16},
    {"3fff::", 20},
};

template <std::size_t Bytes>
bool is_in(const std::array<unsigned char, Bytes>& address, const Network& network, int family) {
  std::array<unsigned char, Bytes> base{};
  if (::inet_pton(family, network.address, base.data()) != 1) return false;
  for (int bit = 0; bit < network.bits; ++bit) {
    const auto byte = static_cast<std::size_t>(bit / 8);
    const int mask = 0x80 >> (bit % 8);
    if ((address[byte] & mask) != (base[byte] & mask)) return false;
  }
  return true;
}

}  // namespace

bool is_public_address(const std::string& address) {
  std::array<unsigned char, 4> v4{};
  if (::inet_pton(AF_INET, address.c_str(), v4.data()) == 1)
    return std::none_of(std::begin(private_v4), std::end(private_v4),
                        [&](const Network& network) { return is_in(v4, network, AF_INET); });
  std::array<unsigned char, 16> v6{};
  if (::inet_pton(AF_INET6, address.c_str(), v6.data()) != 1) return false;
  if (!is_in(v6, {"2000::", 3}, AF_INET6)) return false;
  return std::none_of(std::begin(private_v6), std::end(private_v6),
                      [&](const Network& network) { return is_in(v6, network, AF_INET6); });
}

bool is_own_address(const std::string& address) {
  const Result<std::vector<InterfaceAddress>> own = interface_addresses();
  if (!own) return true;  // Treated as its own if the addresses cannot be read.
  return std::any_of(own->begin(), own->end(),
                     [&](const InterfaceAddress& each) { return each.address == address; });
}

}  // namespace muster::loop
