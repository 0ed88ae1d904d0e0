#include "container/host_network/outside.h"

#include <doctest/doctest.h>

namespace muster::container {
namespace {

job::HostSpec two_hosts() {
  job::HostSpec spec;
  spec.host = "algo-2";
  spec.hosts = {{"algo-1", "10.177.3.1"}, {"algo-2", "10.177.3.2"}};
  spec.bridge = "mu0123abcd";
  return spec;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("outside: bridge, gateway and machine have addresses that no host has") {
  const Result<Outside> outside = outside_of(two_hosts(), "eth0", true);
  REQUIRE(outside);
  CHECK(outside->table == "mu0123abcd");
  CHECK(outside->gateway == "mu0123abcd-gw");
  CHECK(outside->gateway.size() <= 15);  // IFNAMSIZ, less the NUL.
  CHECK(outside->subnet == "10.177.3.0/24");
  CHECK(outside->subnet_start == "10.177.3.0");
  CHECK(outside->bridge_address == "10.177.3.254");
  CHECK(outside->inner_address == "10.177.3.252");
  CHECK(outside->outer_address == "10.177.3.253");
}

TEST_CASE("outside: without a common /24 hosts have no outside access") {
  job::HostSpec apart = two_hosts();
  apart.hosts[0].address = "10.177.4.1";
  CHECK(outside_of(apart, "eth0", true).error().code == Errc::invalid_input);
  job::HostSpec wide = two_hosts();
  wide.prefix_length = 16;
  CHECK(outside_of(wide, "eth0", true).error().code == Errc::invalid_input);
}

TEST_CASE("outside: the rules, line by line") {
  const std::string want =
      R"(table inet mu0123abcd {
  chain arriving {
    type filter hook prerouting priority -300; policy accept;
    iifname "mu0123abcd-gw" meta nfproto != ipv4 drop
    iifname "mu0123abcd-gw" ip saddr != 10.177.3.0/24 drop
    iifname "mu0123abcd-gw" fib daddr type != unicast drop
    iifname "mu0123abcd-gw" ip daddr { )"
      "0.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 224.0.0.0/3, 100.100.100.200, 168.63.129.16"
      R"( } drop
  }
  chain to_machine {
    type filter hook input priority -10; policy accept;
    iifname "mu0123abcd-gw" drop
  }
  chain from_machine {
    type filter hook output priority -10; policy accept;
    oifname "mu0123abcd-gw" ct state established,related accept
    oifname "mu0123abcd-gw" drop
  }
  chain passing {
    type filter hook forward priority -10; policy accept;
    iifname "mu0123abcd-gw" ct state new ct count over 16384 drop
    iifname "mu0123abcd-gw" oifname "eth0" accept
    iifname "mu0123abcd-gw" meta oifkind { "bridge", "veth" } drop
    oifname "mu0123abcd-gw" ct state established,related accept
    oifname "mu0123abcd-gw" drop
    iifname "eth0" oifname != "mu*" drop
  }
  chain leaving {
    type nat hook postrouting priority 100; policy accept;
    ip saddr 10.177.3.0/24 oifname != "mu0123abcd-gw" masquerade
  }
}
)";
  CHECK(rules(*outside_of(two_hosts(), "eth0", true)) == want);
}

TEST_CASE("outside: on a router, packets between others are not touched") {
  const std::string guarded = rules(*outside_of(two_hosts(), "br0", true));
  const std::string open = rules(*outside_of(two_hosts(), "br0", false));
  CHECK(has(guarded, "iifname \"br0\" oifname != \"mu*\" drop"));
  CHECK(!has(open, "iifname \"br0\""));
}

TEST_CASE("outside: name servers of the machine, as libc reads them") {
  const struct {
    const char* text;
    std::vector<std::string> want;
  } cases[] = {
      {"nameserver 10.0.0.2\n", {"10.0.0.2"}},
      {"# a comment\nnameserver\t127.0.0.53\noptions edns0\nnameserver fe80::1%eth0\n",
       {"127.0.0.53", "fe80::1%eth0"}},
      {"nameserver 1\nnameserver 2\nnameserver 3\nnameserver 4\n", {"1", "2", "3"}},
      {"", {"127.0.0.1"}},
      {"nameserver\nsearch here\n", {"127.0.0.1"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    CHECK(name_servers(c.text) == c.want);
  }
}

TEST_CASE("outside: a host searches and asks as the machine does, by the steward") {
  CHECK(host_resolv_conf("nameserver 10.0.0.2\nsearch a.example  b.example\noptions ndots:2\n"
                         "sortlist 1.2.3.4\nsearch\n",
                         "127.0.0.1") ==
        "nameserver 127.0.0.1\nsearch a.example b.example\noptions ndots:2\n");
  CHECK(host_resolv_conf("", "127.0.0.1") == "nameserver 127.0.0.1\n");
}

}  // namespace
}  // namespace muster::container
