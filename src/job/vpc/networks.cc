#include "job/vpc/networks.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/address_block.h"
#include "base/port.h"
#include "base/text.h"
#include "job/spec_fields.h"

namespace muster::vpc {
namespace {

using job::Fields;

constexpr std::size_t id_bytes_max = 64;
constexpr std::size_t rules_max = 1000;  // EC2's own bound of a network interface's rules.
constexpr int vpc_prefix_min = 16;       // EC2: a block of a /16 to a /28.
constexpr int vpc_prefix_max = 28;
constexpr int icmp_max = 255;
constexpr int protocol_max = 255;

/// Blocks that mean something else to any kernel: no host can have an address of them.
constexpr const char* no_hosts[] = {"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3"};

/// Further fields of EC2's responses, which are not used here.
constexpr const char* passed_over[] = {"Tags", "OwnerId", "State", "IsDefault", "DhcpOptionsId"};

template <class Thing>
const Thing* find(const std::vector<Thing>& things, const std::string& id) {
  const auto found =
      std::find_if(things.begin(), things.end(), [&](const Thing& each) { return each.id == id; });
  return found == things.end() ? nullptr : &*found;
}

std::string at(const char* list, const std::string& id) {
  return std::string("networks.") + list + "[" + to_utf8(id) + "]";
}

Result<AddressBlock> block_at(const std::string& field, const std::string& text) {
  const Result<AddressBlock> block = block_from(text);
  if (block) return *block;
  return expected(field, "a CIDR block such as 10.0.1.0/24, got \"" + to_utf8(text) + "\"");
}

Result<void> check_block(const std::string& field, const std::string& text) {
  const AddressBlock block = TRY(block_at(field, text));
  if (block.prefix_length < vpc_prefix_min || block.prefix_length > vpc_prefix_max)
    return expected(field, "a CIDR block from /16 to /28, got " + text);
  for (const char* const other : no_hosts)
    if (overlap(block, *block_from(other)))
      return expected(field, std::string("a CIDR block outside ") + other + ", got " + text);
  return {};
}

template <class Thing>
Result<void> check_ids(const char* list, const char* field, const std::vector<Thing>& things) {
  std::set<std::string> seen;
  for (const Thing& thing : things) {
    const bool fits = !thing.id.empty() && thing.id.size() <= id_bytes_max;
    if (!fits || !job::only_has(thing.id, "-"))
      return expected(at(list, thing.id) + "." + field, "1 to 64 letters, digits and '-'");
    if (!seen.insert(thing.id).second)
      return expected(at(list, thing.id) + "." + field, "a unique ID");
  }
  return {};
}

Result<void> check_number(const std::string& field, int value, int most) {
  if (value >= -1 && value <= most) return {};
  return expected(field,
                  "a number from -1 to " + std::to_string(most) + ", got " + std::to_string(value));
}

Result<void> check_ports(const std::string& field, const Rule& rule) {
  TRY(check_number(field + ".FromPort", rule.from_port, port_max));
  TRY(check_number(field + ".ToPort", rule.to_port, port_max));
  const bool all = rule.from_port == -1 && rule.to_port == -1;
  if (all || (rule.from_port >= 0 && rule.from_port <= rule.to_port)) return {};
  return expected(field + ".ToPort", "a port >= FromPort");
}

Result<void> check_protocol(const std::string& field, const Rule& rule) {
  if (rule.protocol == "tcp" || rule.protocol == "udp") return check_ports(field, rule);
  if (rule.protocol == "icmp") {
    TRY(check_number(field + ".FromPort", rule.from_port, icmp_max));
    return check_number(field + ".ToPort", rule.to_port, icmp_max);
  }
  const std::optional<std::int64_t> number = parse_integer(rule.protocol);
  if (rule.protocol == "-1" || (number && *number >= 0 && *number <= protocol_max)) return {};
  return expected(field + ".IpProtocol", "tcp, udp, icmp, -1 or a number from 0 to 255, got \"" +
                                             to_utf8(rule.protocol) + "\"");
}

Result<void> check_rules(const std::string& field, const std::vector<Rule>& rules,
                         const Networks& networks) {
  if (rules.size() > rules_max) return expected(field, "at most 1000 rules");
  for (const Rule& rule : rules) {
    TRY(check_protocol(field, rule));
    if (rule.cidr.empty() == rule.group.empty())
      return expected(field, "either a CidrIp or a GroupId in each rule");
    if (!rule.cidr.empty()) TRY(block_at(field + ".CidrIp", rule.cidr));
    if (!rule.group.empty() && group_of(networks, rule.group) == nullptr)
      return expected(field + ".GroupId", "an existing group, got " + to_utf8(rule.group));
  }
  return {};
}

Result<void> check_subnet(const Subnet& subnet, const Networks& networks) {
  const std::string field = at("Subnets", subnet.id);
  const Vpc* const vpc = vpc_of(networks, subnet.vpc);
  if (vpc == nullptr)
    return expected(field + ".VpcId", "an existing VPC, got \"" + to_utf8(subnet.vpc) + "\"");
  TRY(check_block(field + ".CidrBlock", subnet.cidr));
  const AddressBlock block = *block_from(subnet.cidr);
  if (!contains(*block_from(vpc->cidr), block))
    return expected(field + ".CidrBlock", "a CIDR block within " + vpc->cidr + ", the range of " +
                                              vpc->id + ", got " + subnet.cidr);
  for (const Subnet& other : networks.subnets)
    if (other.id < subnet.id && other.vpc == subnet.vpc) {
      const Result<AddressBlock> its = block_from(other.cidr);
      if (its && overlap(*its, block))
        return expected(field + ".CidrBlock",
                        "a CIDR block that does not overlap " + other.id + ", got " + subnet.cidr);
    }
  return {};
}

Json permission(const Rule& rule) {
  Json json{{"IpProtocol", rule.protocol}};
  if (rule.protocol == "tcp" || rule.protocol == "udp" || rule.protocol == "icmp") {
    json["FromPort"] = rule.from_port;
    json["ToPort"] = rule.to_port;
  }
  if (!rule.cidr.empty()) json["IpRanges"] = Json::array({Json{{"CidrIp", rule.cidr}}});
  if (!rule.group.empty()) json["UserIdGroupPairs"] = Json::array({Json{{"GroupId", rule.group}}});
  return json;
}

Json permissions(const std::vector<Rule>& rules) {
  Json list = Json::array();
  for (const Rule& rule : rules) list.push_back(permission(rule));
  return list;
}

/// "tcp" for "6", as EC2 has it.
std::string protocol_name(const std::string& protocol) {
  if (protocol == "6") return "tcp";
  if (protocol == "17") return "udp";
  if (protocol == "1") return "icmp";
  return protocol;
}

void pass_over(Fields& fields, std::initializer_list<const char*> more) {
  for (const char* const name : passed_over) fields.ignore(name);
  for (const char* const name : more) fields.ignore(name);
  fields.no_others();
}

/// Reads `list`, an array of objects that have `name`, one call for each.
void each_named(Fields& fields, const char* list, const char* name,
                const std::function<void(std::string)>& take) {
  const Json* const found = fields.array(list);
  if (found == nullptr) return;
  for (std::size_t i = 0; i < found->size(); ++i) {
    Fields inner((*found)[i], fields.path_of(list) + "[" + std::to_string(i) + "]");
    std::string value;
    inner.text(name, value, true);
    pass_over(inner, {"Description", "UserId", "GroupName", "VpcId"});
    fields.take(inner);
    take(std::move(value));
  }
}

void read_permission(Fields& fields, std::vector<Rule>& rules) {
  Rule rule;
  fields.text("IpProtocol", rule.protocol, true);
  fields.integer("FromPort", rule.from_port);
  fields.integer("ToPort", rule.to_port);
  rule.protocol = protocol_name(rule.protocol);
  const bool has_ports =
      rule.protocol == "tcp" || rule.protocol == "udp" || rule.protocol == "icmp";
  if (!has_ports) rule.from_port = rule.to_port = -1;  // EC2 passes over them, too.
  each_named(fields, "IpRanges", "CidrIp", [&](std::string cidr) {
    rules.push_back(rule);
    rules.back().cidr = std::move(cidr);
  });
  each_named(fields, "UserIdGroupPairs", "GroupId", [&](std::string group) {
    rules.push_back(rule);
    rules.back().group = std::move(group);
  });
  pass_over(fields, {"Ipv6Ranges", "PrefixListIds"});
}

/// False if there is no such field.
bool read_rules(Fields& fields, const char* name, std::vector<Rule>& rules) {
  const Json* const found = fields.array(name);
  if (found == nullptr) return false;
  for (std::size_t i = 0; i < found->size(); ++i) {
    Fields inner((*found)[i], fields.path_of(name) + "[" + std::to_string(i) + "]");
    read_permission(inner, rules);
    fields.take(inner);
  }
  return true;
}

void read_group(Fields& fields, SecurityGroup& group) {
  fields.text("GroupId", group.id, true);
  fields.text("GroupName", group.name);
  fields.text("Description", group.description);
  fields.text("VpcId", group.vpc, true);
  read_rules(fields, "IpPermissions", group.ingress);
  if (!read_rules(fields, "IpPermissionsEgress", group.egress)) group.egress = {any_egress()};
  pass_over(fields, {"SecurityGroupArn"});
}

/// One call for each object of the array `name`.
void each_object(Fields& fields, const char* name, const std::function<void(Fields&)>& read) {
  const Json* const found = fields.array(name);
  if (found == nullptr) return;
  for (std::size_t i = 0; i < found->size(); ++i) {
    Fields inner((*found)[i], fields.path_of(name) + "[" + std::to_string(i) + "]");
    read(inner);
    fields.take(inner);
  }
}

}  // namespace

const Vpc* vpc_of(const Networks& networks, const std::string& id) {
  return find(networks.vpcs, id);
}

const Subnet* subnet_of(const Networks& networks, const std::string& id) {
  return find(networks.subnets, id);
}

const SecurityGroup* group_of(const Networks& networks, const std::string& id) {
  return find(networks.groups, id);
}

Rule any_egress() {
  return {.protocol = "-1", .cidr = "0.0.0.0/0"};
}

Result<void> check(const Networks& networks) {
  TRY(check_ids("Vpcs", "VpcId", networks.vpcs));
  TRY(check_ids("Subnets", "SubnetId", networks.subnets));
  TRY(check_ids("SecurityGroups", "GroupId", networks.groups));
  for (const Vpc& vpc : networks.vpcs)
    TRY(check_block(at("Vpcs", vpc.id) + ".CidrBlock", vpc.cidr));
  for (const Subnet& subnet : networks.subnets) TRY(check_subnet(subnet, networks));
  for (const SecurityGroup& group : networks.groups) {
    const std::string field = at("SecurityGroups", group.id);
    if (vpc_of(networks, group.vpc) == nullptr)
      return expected(field + ".VpcId", "an existing VPC, got \"" + to_utf8(group.vpc) + "\"");
    TRY(check_rules(field + ".IpPermissions", group.ingress, networks));
    TRY(check_rules(field + ".IpPermissionsEgress", group.egress, networks));
  }
  return {};
}

Json to_json(const Networks& networks) {
  Json vpcs = Json::array();
  for (const Vpc& vpc : networks.vpcs) vpcs.push_back({{"VpcId", vpc.id}, {"CidrBlock", vpc.cidr}});
  Json subnets = Json::array();
  for (const Subnet& subnet : networks.subnets)
    subnets.push_back({{"SubnetId", subnet.id},
                       {"VpcId", subnet.vpc},
                       {"CidrBlock", subnet.cidr},
                       {"AvailabilityZone", subnet.zone}});
  Json groups = Json::array();
  for (const SecurityGroup& group : networks.groups)
    groups.push_back({{"GroupId", group.id},
                      {"GroupName", group.name},
                      {"Description", group.description},
                      {"VpcId", group.vpc},
                      {"IpPermissions", permissions(group.ingress)},
                      {"IpPermissionsEgress", permissions(group.egress)}});
  return {{"Vpcs", vpcs}, {"Subnets", subnets}, {"SecurityGroups", groups}};
}

Result<Networks> networks_from(const Json& json) {
  Networks networks;
  Fields fields(json, "networks");
  each_object(fields, "Vpcs", [&](Fields& inner) {
    Vpc& vpc = networks.vpcs.emplace_back();
    inner.text("VpcId", vpc.id, true);
    inner.text("CidrBlock", vpc.cidr, true);
    pass_over(inner, {"InstanceTenancy", "CidrBlockAssociationSet", "Ipv6CidrBlockAssociationSet"});
  });
  each_object(fields, "Subnets", [&](Fields& inner) {
    Subnet& subnet = networks.subnets.emplace_back();
    inner.text("SubnetId", subnet.id, true);
    inner.text("VpcId", subnet.vpc, true);
    inner.text("CidrBlock", subnet.cidr, true);
    inner.text("AvailabilityZone", subnet.zone);
    pass_over(inner, {"AvailabilityZoneId", "AvailableIpAddressCount", "DefaultForAz",
                      "MapPublicIpOnLaunch", "SubnetArn"});
  });
  each_object(fields, "SecurityGroups",
              [&](Fields& inner) { read_group(inner, networks.groups.emplace_back()); });
  fields.no_others();
  if (fields.error()) return *fields.error();
  TRY(check(networks));
  return networks;
}

}  // namespace muster::vpc
