#include "base/address_block.h"

#include <doctest/doctest.h>

namespace muster {
namespace {

AddressBlock net(const char* text) {
  return *block_from(text);
}

TEST_CASE("address block: text is read, written and refused") {
  CHECK(cidr(net("10.177.3.0/24")) == "10.177.3.0/24");
  CHECK(address_in(net("10.177.3.0/24"), 254) == "10.177.3.254");
  const char* const bad[] = {"",
                             "10.0.0.0",
                             "10.0.0/8",
                             "10.0.0.0/33",
                             "10.0.0.256/24",
                             "10.0.0.1/24",
                             "10.0.0.0/-1",
                             "a.b.c.d/8",
                             "10.0.0.0/24/1"};
  for (const char* text : bad) {
    CAPTURE(text);
    REQUIRE(!block_from(text));
    CHECK(block_from(text).error().code == Errc::invalid_input);
  }
}

TEST_CASE("address block: networks overlap when one holds the other") {
  CHECK(overlap(net("10.0.0.0/8"), net("10.177.3.0/24")));
  CHECK(overlap(net("10.177.3.0/24"), net("10.177.3.128/25")));
  CHECK(!overlap(net("10.177.3.0/24"), net("10.177.4.0/24")));
  CHECK(overlap(net("0.0.0.0/0"), net("192.168.0.0/16")));
}

TEST_CASE("address block: one contains another, and not the other way round") {
  CHECK(contains(net("10.0.0.0/16"), net("10.0.3.0/24")));
  CHECK(contains(net("10.0.0.0/16"), net("10.0.0.0/16")));
  CHECK(contains(net("0.0.0.0/0"), net("10.0.0.1/32")));
  CHECK(!contains(net("10.0.3.0/24"), net("10.0.0.0/16")));
  CHECK(!contains(net("10.0.3.0/24"), net("10.0.4.0/24")));
}

TEST_CASE("address block: an address's subnet") {
  CHECK(subnet_of("10.0.3.7", 24) == "10.0.3.0/24");
  CHECK(subnet_of("10.0.3.7", 31) == "10.0.3.6/31");
  CHECK(subnet_of("10.0.3.7", 32) == "10.0.3.7/32");
  CHECK(subnet_of("10.0.3.7", 0) == "0.0.0.0/0");
  for (const int bits : {-1, 33}) CHECK(subnet_of("10.0.3.7", bits).empty());
  CHECK(subnet_of("fe80::1", 24).empty());
}

}  // namespace
}  // namespace muster
