#include "container/host_network/segment.h"

#include <doctest/doctest.h>

namespace muster::container {
namespace {

job::HostSpec two_hosts() {
  job::HostSpec spec;
  spec.spec.instance_count = 2;
  spec.spec.vpc = job::VpcPlace{.cidr = "10.0.0.0/16",
                                .subnets = {"10.0.1.0/24", "10.0.2.0/24"},
                                .in = {{"tcp", 9730, 9730, ""}, {"50", -1, -1, "10.0.0.0/16"}},
                                .out = {{"-1", -1, -1, "0.0.0.0/0"}}};
  spec.host = "algo-2";
  spec.hosts = {{"algo-1", "10.0.1.4"}, {"algo-2", "10.0.2.4"}};
  spec.bridge = "mu0123abcd";
  return spec;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("segment: the rules, line by line") {
  CHECK(segment_rules(two_hosts()) ==
        R"(table inet vpc {
)"
        R"(  set cables { type ifname . ipv4_addr; elements = { )"
        R"("mu0123abcd-1" . 10.0.1.4, "mu0123abcd-2" . 10.0.2.4 }; }
  set hosts { type ipv4_addr; elements = { 10.0.1.4, 10.0.2.4 }; }
  chain coming_in {
    oifname "outside" accept
    ip saddr @hosts tcp dport 9730-9730 accept
    ip saddr 10.0.0.0/16 meta l4proto 50 accept
  }
  chain arriving {
    type filter hook prerouting priority -300; policy accept;
    meta nfproto != ipv4 drop
    iifname != "outside" iifname . ip saddr != @cables drop
  }
  chain to_router {
    type filter hook input priority -10; policy drop;
  }
  chain passing {
    type filter hook forward priority 0; policy drop;
    ct state established,related accept
    ct state != new drop
    iifname "outside" drop
    ip daddr 10.0.0.0/16 ip daddr != @hosts drop
    ct count over 65536 drop
    goto coming_in
  }
  chain leaving {
    type nat hook postrouting priority 100; policy accept;
    oifname "outside" masquerade
  }
}
)");
}

TEST_CASE("segment: each kind of rule in nft's words") {
  const struct {
    job::Passage passage;
    const char* want;
  } cases[] = {
      {{"tcp", 80, 443, "192.0.2.0/24"}, "ip daddr 192.0.2.0/24 tcp dport 80-443 goto coming_in"},
      {{"tcp", -1, -1, ""}, "ip daddr @hosts meta l4proto tcp goto coming_in"},
      {{"udp", 500, 500, "0.0.0.0/0"}, "\n    udp dport 500-500 goto coming_in"},
      {{"icmp", -1, -1, ""}, "ip daddr @hosts meta l4proto icmp goto coming_in"},
      {{"icmp", 8, -1, ""}, "ip daddr @hosts icmp type 8 goto coming_in"},
      {{"icmp", 3, 4, ""}, "ip daddr @hosts icmp type 3 icmp code 4 goto coming_in"},
      {{"47", -1, -1, ""}, "ip daddr @hosts meta l4proto 47 goto coming_in"},
      {{"-1", -1, -1, ""}, "ip daddr @hosts goto coming_in"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    job::HostSpec spec = two_hosts();
    spec.spec.vpc->out = {c.passage};
    const std::string rules = segment_rules(spec);
    CAPTURE(rules);
    CHECK(has(rules, c.want));
  }
}

TEST_CASE("segment: without rules nothing passes") {
  job::HostSpec spec = two_hosts();
  spec.spec.vpc->in.clear();
  spec.spec.vpc->out.clear();
  const std::string rules = segment_rules(spec);
  CHECK(!has(rules, "goto"));
  CHECK(has(rules, "hook forward priority 0; policy drop;"));
}

}  // namespace
}  // namespace muster::container
