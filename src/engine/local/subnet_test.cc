#include "engine/local/subnet.h"

#include <doctest/doctest.h>

namespace muster::local {
namespace {

Subnet net(const char* text) {
  return *block_from(text);
}

TEST_CASE("subnet: routes are read as the kernel prints them, the default route left out") {
  const char* const text =
      "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
      "eth0\t00000000\t010200C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
      "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
      "mu1\t0000B10A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
      "torn\t0000";
  CHECK(routes_from(text) == std::vector<Subnet>{net("192.0.2.0/24"), net("10.177.0.0/24")});
  CHECK(routes_from("").empty());
}

TEST_CASE("subnet: the first free /24 is chosen, around routes and other jobs") {
  struct {
    const char* name;
    std::vector<Subnet> taken;
    const char* want;
  } const cases[] = {
      {"nothing taken", {}, "10.177.0.0/24"},
      {"another job", {net("10.177.0.0/24")}, "10.177.1.0/24"},
      {"a hole", {net("10.177.0.0/24"), net("10.177.2.0/24")}, "10.177.1.0/24"},
      {"a small route inside", {net("10.177.0.128/30")}, "10.177.1.0/24"},
      {"the range is half routed", {net("10.177.0.0/17")}, "10.177.128.0/24"},
      {"all of ten is routed", {net("10.0.0.0/8")}, "172.29.0.0/24"},
      {"private ranges are routed", {net("10.0.0.0/8"), net("172.16.0.0/12")}, "198.18.0.0/24"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Result<Subnet> got = choose_subnet(c.taken);
    REQUIRE(got);
    CHECK(cidr(*got) == c.want);
  }
  CHECK(choose_subnet({net("0.0.0.0/0")}).error().code == Errc::system);
}

}  // namespace
}  // namespace muster::local
