#include "net/addresses/interfaces.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace muster {
namespace {

TEST_CASE("interfaces: the loopback's addresses are marked as such") {
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

}  // namespace
}  // namespace muster
