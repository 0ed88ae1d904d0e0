#include "container/host_network/outside.h"

#include "base/text.h"

namespace muster::container {
namespace {

constexpr std::size_t name_servers_max = 3;  // resolv.conf(5): MAXNS.

/// "10.177.3" of "10.177.3.17".
std::string first_three(const std::string& address) {
  return address.substr(0, address.rfind('.'));
}

std::string chain(const std::string& name, const std::string& hook,
                  const std::vector<std::string>& lines) {
  std::string text = "  chain " + name + " {\n    type " + hook + "; policy accept;\n";
  for (const std::string& line : lines) text += "    " + line + "\n";
  return text + "  }\n";
}

}  // namespace

Result<Outside> outside_of(const job::HostSpec& spec, std::string uplink, bool guards_uplink) {
  const std::string start = first_three(job::machine_address(spec));
  const bool in_vpc = spec.spec.vpc.has_value();
  for (const job::HostAddress& host : spec.hosts)
    if (!in_vpc && (spec.prefix_length != 24 || first_three(host.address) != start))
      return fail(Errc::invalid_input, "the hosts are not in the same /24 network");
  return Outside{.table = spec.bridge,
                 .gateway = spec.bridge + "-gw",
                 .subnet_start = start + ".0",
                 .subnet = start + ".0/24",
                 .bridge_address = start + ".254",
                 .inner_address = start + ".252",
                 .outer_address = start + ".253",
                 .uplink = std::move(uplink),
                 .guards_uplink = guards_uplink};
}

std::string rules(const Outside& outside) {
  const std::string from_job = "iifname \"" + outside.gateway + "\" ";
  const std::string to_job = "oifname \"" + outside.gateway + "\" ";
  const std::string uplink = "\"" + outside.uplink + "\"";
  // Before other rules change a packet's destination, and before connection tracking.
  const std::vector<std::string> arriving = {
      from_job + "meta nfproto != ipv4 drop",
      from_job + "ip saddr != " + outside.subnet + " drop",
      from_job + "fib daddr type != unicast drop",
      from_job + "ip daddr { " + forbidden_outside + " } drop",
  };
  // Allows the kernel's errors about a job's own connections (too large, unreachable).
  const std::vector<std::string> from_machine = {
      to_job + "ct state established,related accept",
      to_job + "drop",
  };
  std::vector<std::string> passing = {
      from_job + "ct state new ct count over " + std::to_string(outside_connections_max) + " drop",
      from_job + "oifname " + uplink + " accept",
      // Containers and virtual machines of this machine, and other jobs' gateways.
      from_job + "meta oifkind { \"bridge\", \"veth\" } drop",
      to_job + "ct state established,related accept",
      to_job + "drop",
  };
  // The machine forwards only for jobs, whose gateways have such names
  // (engine/local/job_network.h).
  if (outside.guards_uplink) passing.push_back("iifname " + uplink + " oifname != \"mu*\" drop");
  return "table inet " + outside.table + " {\n" +
         chain("arriving", "filter hook prerouting priority -300", arriving) +
         chain("to_machine", "filter hook input priority -10", {from_job + "drop"}) +
         chain("from_machine", "filter hook output priority -10", from_machine) +
         chain("passing", "filter hook forward priority -10", passing) +
         chain("leaving", "nat hook postrouting priority 100",
               {"ip saddr " + outside.subnet + " oifname != \"" + outside.gateway +
                "\" masquerade"}) +
         "}\n";
}

std::vector<std::string> name_servers(std::string_view resolv_conf) {
  std::vector<std::string> servers;
  for (const std::string& line : split(resolv_conf, '\n')) {
    const std::vector<std::string> words = split_words(line);
    const bool is_one = words.size() >= 2 && words[0] == "nameserver";
    if (is_one && servers.size() < name_servers_max) servers.push_back(words[1]);
  }
  if (servers.empty()) servers.emplace_back("127.0.0.1");  // resolv.conf(5).
  return servers;
}

std::string host_resolv_conf(std::string_view machine, const std::string& server) {
  std::string text = "nameserver " + server + "\n";
  for (const std::string& line : split(machine, '\n')) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() < 2) continue;
    if (words[0] == "search" || words[0] == "domain" || words[0] == "options")
      text += join(words, " ") + "\n";
  }
  return text;
}

}  // namespace muster::container
