#include "job/vpc/vpc_config.h"

#include <algorithm>
#include <optional>

#include "base/address_block.h"
#include "base/port.h"
#include "base/text.h"

namespace muster::vpc {
namespace {

/// First and last port.
struct Ports {
  int from = 0;
  int to = 0;
};

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

/// The rules as passages, those for the job's own groups as for its own hosts.
void add_passages(std::vector<job::Passage>& passages, const std::vector<Rule>& rules,
                  const VpcConfig& config) {
  for (const Rule& rule : rules) {
    if (!rule.group.empty() && !has(config.groups, rule.group)) continue;
    job::Passage passage{rule.protocol, rule.from_port, rule.to_port, rule.cidr};
    if (std::find(passages.begin(), passages.end(), passage) == passages.end())
      passages.push_back(std::move(passage));
  }
}

bool is_about_tcp(const job::Passage& passage, const std::string& other_subnet) {
  if (passage.protocol != "tcp" && passage.protocol != "-1") return false;
  if (passage.cidr.empty()) return true;
  const Result<AddressBlock> cidr = block_from(passage.cidr);
  const Result<AddressBlock> subnet = block_from(other_subnet);
  return cidr && subnet && contains(*cidr, *subnet);
}

/// The first ports of the need that no passage lets through, with the hosts of `other_subnet` at
/// the other end.
std::optional<Ports> gap_in(const std::vector<job::Passage>& passages, const Need& need,
                            const std::string& other_subnet) {
  std::vector<Ports> open;
  for (const job::Passage& passage : passages)
    if (is_about_tcp(passage, other_subnet)) {
      const bool all = passage.protocol == "-1" || passage.from_port < 0;
      open.push_back(all ? Ports{0, port_max} : Ports{passage.from_port, passage.to_port});
    }
  std::sort(open.begin(), open.end(), [](Ports a, Ports b) { return a.from < b.from; });
  int next = need.from_port;  // The first port that nothing has been found for.
  for (const Ports& each : open) {
    if (each.to < next) continue;
    if (each.from > next) return Ports{next, std::min(each.from - 1, need.to_port)};
    next = each.to + 1;
    if (next > need.to_port) return std::nullopt;
  }
  return Ports{next, need.to_port};
}

std::string forbidden(const VpcConfig& config, const Need& need, Ports ports, const char* why) {
  const bool one = config.groups.size() == 1;
  const std::string from = std::to_string(ports.from);
  const std::string which = ports.from == ports.to ? from : from + "-" + std::to_string(ports.to);
  return join(config.groups, ", ") + (one ? " forbids tcp " : " forbid tcp ") + which +
         " between " + (one ? "its" : "their") + " hosts, which " + need.who + " requires: " + why;
}

}  // namespace

std::vector<std::string> unknown_ids(const Networks& networks, const VpcConfig& config) {
  std::vector<std::string> unknown;
  for (const std::string& id : config.subnets)
    if (subnet_of(networks, id) == nullptr) unknown.push_back(id);
  for (const std::string& id : config.groups)
    if (group_of(networks, id) == nullptr) unknown.push_back(id);
  return unknown;
}

Result<job::VpcPlace> place_of(const Networks& networks, const VpcConfig& config) {
  const std::vector<std::string> unknown = unknown_ids(networks, config);
  if (!unknown.empty() || config.subnets.empty())
    return fail(Errc::not_found, "unknown subnets or security groups: " + join(unknown, ", "));
  const std::string id = subnet_of(networks, config.subnets.front())->vpc;
  const auto other = [&](const std::string& what, const std::string& vpc) {
    return fail(Errc::invalid_input, what + " is in " + vpc + ", but " + config.subnets.front() +
                                         " is in " + id +
                                         "; all subnets and groups must be in the same VPC");
  };
  job::VpcPlace place;
  for (const std::string& name : config.subnets) {
    const Subnet& subnet = *subnet_of(networks, name);
    if (subnet.vpc != id) return other(name, subnet.vpc);
    if (!has(place.subnets, subnet.cidr)) place.subnets.push_back(subnet.cidr);
  }
  for (const std::string& name : config.groups) {
    const SecurityGroup& group = *group_of(networks, name);
    if (group.vpc != id) return other(name, group.vpc);
    add_passages(place.in, group.ingress, config);
    add_passages(place.out, group.egress, config);
  }
  const Vpc* const vpc = vpc_of(networks, id);
  CHECK_THAT(vpc != nullptr, "networks are checked: a subnet's VPC is there");
  place.cidr = vpc->cidr;
  return place;
}

std::string what_is_forbidden(const Networks& networks, const VpcConfig& config,
                              const std::vector<Need>& needs) {
  const Result<job::VpcPlace> place = place_of(networks, config);
  if (!place) return place.error().text;
  for (const Need& need : needs)
    for (const std::string& other : place->subnets) {
      if (const std::optional<Ports> gap = gap_in(place->in, need, other))
        return forbidden(config, need, *gap, "no ingress rule allows it");
      if (const std::optional<Ports> gap = gap_in(place->out, need, other))
        return forbidden(config, need, *gap, "no egress rule allows it");
    }
  return {};
}

}  // namespace muster::vpc
