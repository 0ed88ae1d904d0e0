#include "container/segment.h"

#include "base/address_block.h"
#include "base/text.h"
#include "container/gateway.h"
#include "container/link.h"
#include "container/network.h"
#include "container/nft.h"

namespace muster::container {
namespace {

/// Connections of one job between its hosts that the kernel keeps in mind: a job that opens them
/// without end takes no more of the machine's memory than 20 MB or so.
constexpr int connections_max = 65536;

/// The router's number in the job's own network, where no host ever is; a bridge has it there, too.
constexpr std::uint32_t router_number = 254;

/// "tcp dport 80-443": what of a packet's own a rule asks for, with a space behind it.
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

/// "<table> { <sets> <chain of what comes in>": how the tables of router and host begin. `outside`:
/// a rule for what leaves the job.
std::string head(const job::HostSpec& spec, const std::vector<std::string>& sets,
                 const std::vector<std::string>& outside) {
  std::vector<std::string> hosts;
  for (const job::HostAddress& host : spec.hosts) hosts.push_back(host.address);
  std::vector<std::string> coming_in = outside;
  if (spec.spec.vpc)
    for (const job::Passage& passage : spec.spec.vpc->in)
      coming_in.push_back(end_of(passage, "saddr") + kind_of(passage) + "accept");
  return "table inet vpc {\n" + join(sets, "") + "  set hosts { type ipv4_addr; elements = { " +
         join(hosts, ", ") + " }; }\n" + chain("coming_in", "", coming_in);
}

void add_egress(std::vector<std::string>& lines, const job::VpcPlace& place) {
  for (const job::Passage& passage : place.out)
    lines.push_back(end_of(passage, "daddr") + kind_of(passage) + "goto coming_in");
}

}  // namespace

bool is_routed(const job::HostSpec& spec) {
  return spec.spec.vpc || is_encrypted(spec);
}

job::PlacedAddress place_of(const job::HostSpec& spec) {
  const std::string& own = job::own_address(spec);
  if (!spec.spec.vpc) {
    const AddressBlock alone = block_from(own + "/32").value_or(AddressBlock{});
    const AddressBlock subnet{alone.address & ~std::uint32_t{255}, 24};
    return {own, subnet, address_in(subnet, router_number)};
  }
  const Result<std::vector<job::PlacedAddress>> all =
      addresses_of(*spec.spec.vpc, spec.spec.instance_count);
  if (all)
    for (const job::PlacedAddress& each : *all)
      if (each.address == own) return each;
  CHECK_THAT(false, "a host in a VPC has an address of its subnets");
  return {};
}

std::string segment_rules(const job::HostSpec& spec, std::optional<Cipher> cipher) {
  const std::string outside = std::string("\"") + inner_gateway + "\"";
  std::vector<std::string> cables;
  for (const job::HostAddress& host : spec.hosts)
    cables.push_back("\"" + cable_name(spec.bridge, host.name) + "\" . " + host.address);
  // A host has its own address alone, and no IPv6.
  std::vector<std::string> arriving = {
      "meta nfproto != ipv4 drop",
      "iifname != " + outside + " iifname . ip saddr != @cables drop",
  };
  std::vector<std::string> passing;
  if (cipher) {
    // Two hosts that greet each other at once: NAT would take that for a clash, and change a port.
    const std::string packets = "ip daddr @hosts " + packets_of(*cipher);
    arriving.push_back(packets + " notrack");
    passing = {packets + " accept", "ip daddr @hosts ct state new drop"};
  }
  passing.insert(passing.end(), {
                                    "ct state established,related accept",
                                    "ct state != new drop",
                                    "iifname " + outside + " drop",
                                });
  if (spec.spec.vpc)
    passing.push_back("ip daddr " + spec.spec.vpc->cidr + " ip daddr != @hosts drop");
  passing.push_back("ct count over " + std::to_string(connections_max) + " drop");
  if (spec.spec.vpc)
    add_egress(passing, *spec.spec.vpc);
  else
    passing.push_back("oifname " + outside + " accept");
  const std::string set =
      "  set cables { type ifname . ipv4_addr; elements = { " + join(cables, ", ") + " }; }\n";
  return head(spec, {set}, {"oifname " + outside + " accept"}) +
         chain("arriving", "type filter hook prerouting priority -300; policy accept;", arriving) +
         chain("to_router", "type filter hook input priority -10; policy drop;", {}) +
         chain("passing", "type filter hook forward priority 0; policy drop;", passing) +
         chain("leaving", "type nat hook postrouting priority 100; policy accept;",
               {"oifname " + outside + " masquerade"}) +
         "}\n";
}

std::string tunnel_rules(const job::HostSpec& spec) {
  std::vector<std::string> lines = {
      "iifname != \"eth0\" accept",
      packets_of(Cipher::esp) + " accept",
      "ct state established,related accept",
      "ct state != new drop",
  };
  add_egress(lines, *spec.spec.vpc);
  return head(spec, {}, {}) +
         chain("arriving", "type filter hook input priority 0; policy drop;", lines) + "}\n";
}

Result<void> make_router(const job::HostSpec& spec, std::optional<Cipher> cipher, const Env& env) {
  TRY(run_nft(segment_rules(spec, cipher), env));
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
  const AddressBlock all = spec.spec.vpc ? TRY(block_from(spec.spec.vpc->cidr)) : place.subnet;
  const int prefix_length = place.subnet.prefix_length;
  TRY(set_address(socket, "eth0", place.address, prefix_length));
  TRY(set_up(socket, "eth0"));
  // No neighbour answers on the cable: those of the subnet are reached by the router, too.
  TRY(remove_own_route(socket, address_in(place.subnet, 0), prefix_length, "eth0"));
  TRY(add_neighbour(socket, place.router, "eth0"));
  TRY(add_route(socket, address_in(all, 0), all.prefix_length, place.router));
  return outside ? add_route(socket, "0.0.0.0", 0, place.router) : Result<void>();
}

}  // namespace muster::container
