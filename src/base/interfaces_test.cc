#include "base/interfaces.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace muster {
namespace {

TEST_CASE("interfaces: the loopback's addresses are told as what they are") {
  const Result<std::vector<InterfaceAddress>> all = interface_addresses();
  REQUIRE(all);
  const auto loopback = std::find_if(all->begin(), all->end(), [](const InterfaceAddress& each) {
    return each.address == "127.0.0.1";
  });
  REQUIRE(loopback != all->end());
  CHECK(loopback->interface == "lo");
  CHECK(loopback->prefix_bits == (loopback->is_v4 ? 8 : 128));
  CHECK(loopback->is_v4);
  CHECK(loopback->is_up);
  CHECK(loopback->is_loopback);
  for (const InterfaceAddress& each : *all)
    CHECK(each.is_v4 == (each.address.find(':') == std::string::npos));
}

TEST_CASE("interfaces: an address's subnet") {
  CHECK(subnet_of("10.0.3.7", 24) == "10.0.3.0/24");
  CHECK(subnet_of("10.0.3.7", 31) == "10.0.3.6/31");
  CHECK(subnet_of("10.0.3.7", 32) == "10.0.3.7/32");
  CHECK(subnet_of("10.0.3.7", 0) == "0.0.0.0/0");
  for (const int bits : {-1, 33}) CHECK(subnet_of("10.0.3.7", bits).empty());
  CHECK(subnet_of("fe80::1", 24).empty());
}

}  // namespace
}  // namespace muster
