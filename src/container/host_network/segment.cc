#include "container/host_network/segment.h"

#include "base/address_block.h"
#include "base/text.h"
#include "container/host_network/gateway.h"
#include "container/host_network/link.h"
#include "container/host_network/network.h"
#include "container/host_network/nft.h"

namespace muster::container {
namespace {

/// Limit of tracked connections between the hosts of one job, so that a job that opens connections
/// endlessly uses at most about 20 MB of the machine's memory.
constexpr int connections_max = 65536;

/// "tcp dport 80-443 ": the part of a rule that matches the packet itself, with a trailing space.
std::string kind_of(const job::Passage& passage) {
  const std::string from = std::to_string(passage.from_port);
  const std::string to = std::to_string(passage.to_port);
  if (passage.protocol == "-1") return "";
  if (passage.protocol == "icmp") {
    if (passage.from_port < 0) return "meta l4proto icmp ";
    return "icmp type " + from + (passage.to_port < 0 ? " " : " icmp code " + to + " ");
  }
  if (passage.from_port < 0 || (passage.protocol != "tcp" && passage.protocol != "udp"))
    return "meta l4proto " + passage.protocol + " ";
  return passage.protocol + " dport " + from + "-" + to + " ";
}

/// "ip saddr @hosts " for `end` "saddr".
std::string end_of(const job::Passage& passage, const std::string& end) {
  if (passage.cidr.empty()) return "ip " + end + " @hosts ";
  const Result<AddressBlock> block = block_from(passage.cidr);
  const bool anybody = block && block->prefix_length == 0;
  return anybody ? "" : "ip " + end + " " + passage.cidr + " ";
}

std::string chain(const std::string& name, const std::string& head,
                  const std::vector<std::string>& lines) {
  std::string text = "  chain " + name + " {\n" + (head.empty() ? "" : "    " + head + "\n");
  for (const std::string& line : lines) text += "    " + line + "\n";
  return text + "  }\n";
}

/// The position of `spec.host`.
job::PlacedAddress place_of(const job::HostSpec& spec) {
  const std::string& own = job::own_address(spec);
  const Result<std::vector<job::PlacedAddress>> all =
      addresses_of(*spec.spec.vpc, spec.spec.instance_count);
  if (all)
    for (const job::PlacedAddress& each : *all)
      if (each.address == own) return each;
  CHECK_THAT(false, "a host in a VPC has an address of its subnets");
  return {};
}

}  // namespace

std::string segment_rules(const job::HostSpec& spec) {
  const job::VpcPlace& place = *spec.spec.vpc;
  const std::string outside = std::string("\"") + inner_gateway + "\"";
  std::vector<std::string> cables;
  std::vector<std::string> hosts;
  for (const job::HostAddress& host : spec.hosts) {
    cables.push_back("\"" + cable_name(spec.bridge, host.name) + "\" . " + host.address);
    hosts.push_back(host.address);
  }
  std::vector<std::string> coming_in = {"oifname " + outside + " accept"};
  for (const job::Passage& passage : place.in)
    coming_in.push_back(end_of(passage, "saddr") + kind_of(passage) + "accept");
  // A host uses only its own address, and no IPv6.
  const std::vector<std::string> arriving = {
      "meta nfproto != ipv4 drop",
      "iifname != " + outside + " iifname . ip saddr != @cables drop",
  };
  std::vector<std::string> passing = {
      "ct state established,related accept",
      "ct state != new drop",
      "iifname " + outside + " drop",
      "ip daddr " + place.cidr + " ip daddr != @hosts drop",
      "ct count over " + std::to_string(connections_max) + " drop",
  };
  for (const job::Passage& passage : place.out)
    passing.push_back(end_of(passage, "daddr") + kind_of(passage) + "goto coming_in");
  return "table inet vpc {\n  set cables { type ifname . ipv4_addr; elements = { " +
         join(cables, ", ") + " }; }\n  set hosts { type ipv4_addr; elements = { " +
         join(hosts, ", ") + " }; }\n" + chain("coming_in", "", coming_in) +
         chain("arriving", "type filter hook prerouting priority -300; policy accept;", arriving) +
         chain("to_router", "type filter hook input priority -10; policy drop;", {}) +
         chain("passing", "type filter hook forward priority 0; policy drop;", passing) +
         chain("leaving", "type nat hook postrouting priority 100; policy accept;",
               {"oifname " + outside + " masquerade"}) +
         "}\n";
}

Result<void> make_router(const job::HostSpec& spec, const Env& env) {
  TRY(run_nft(segment_rules(spec), env));
  return forward_ipv4();
}

Result<void> connect_to_router(int socket, const job::HostSpec& spec) {
  const std::string cable = cable_name(spec.bridge, spec.host);
  TRY(disable_ipv6(cable));
  TRY(set_address(socket, cable, place_of(spec).router, 32));
  TRY(set_up(socket, cable));
  return add_neighbour(socket, job::own_address(spec), cable);
}

Result<void> connect_host(int socket, const job::HostSpec& spec, bool outside) {
  const job::PlacedAddress place = place_of(spec);
  const AddressBlock all = TRY(block_from(spec.spec.vpc->cidr));
  const int prefix_length = place.subnet.prefix_length;
  TRY(set_address(socket, "eth0", place.address, prefix_length));
  TRY(set_up(socket, "eth0"));
  // The veth pair has no other neighbours, so the hosts in the same subnet are also reached through
  // the router.
  TRY(remove_own_route(socket, address_in(place.subnet, 0), prefix_length, "eth0"));
  TRY(add_neighbour(socket, place.router, "eth0"));
  TRY(add_route(socket, address_in(all, 0), all.prefix_length, place.router));
  return outside ? add_route(socket, "0.0.0.0", 0, place.router) : Result<void>();
}

}  // namespace muster::container
