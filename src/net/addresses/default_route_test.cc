#include "net/addresses/default_route.h"

#include <doctest/doctest.h>

#include <string>

namespace muster {
namespace {

TEST_CASE("default_route: the interface of the default route with the lowest metric") {
  const std::string head =
      "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n";
  const std::string local = "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
  const std::string wired = "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n";
  const std::string radio = "wlan0\t00000000\t010300C0\t0003\t0\t0\t50\t00000000\t0\t0\t0\n";
  const std::string half = "tun0\t00000000\t010300C0\t0003\t0\t0\t0\t00000080\t0\t0\t0\n";
  const std::string nowhere = "*\t00000000\t00000000\t0200\t0\t0\t0\t00000000\t0\t0\t0\n";
  const struct {
    const char* name;
    std::string routes;
    const char* want;
  } cases[] = {
      {"none at all", "", ""},
      {"no default route", head + local, ""},
      {"one", head + wired + local, "eth0"},
      {"two", head + wired + radio, "wlan0"},
      {"half of the addresses is not all", head + half, ""},
      {"one that leads nowhere", head + nowhere + wired, "eth0"},
      {"a broken line", head + "eth1\t00000000\n" + wired, "eth0"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(default_route_interface(c.routes) == c.want);
  }
}

}  // namespace
}  // namespace muster
