#include "server/cloudformation/resource_types.h"

#include <algorithm>
#include <set>

#include "aws/digest.h"
#include "base/fields.h"
#include "base/port.h"
#include "base/text.h"
#include "server/cloudformation/stack.h"

namespace muster::cloudformation {

/// Words are separated by spaces.
struct Type {
  std::string_view name;
  std::string_view prefix;      ///< What ids begin with.
  std::string_view required;    ///< Properties.
  std::string_view optional;    ///< Properties that are heeded or change nothing here.
  std::string_view fixed;       ///< Properties that an update changes by another resource alone.
  std::string_view attributes;  ///< For Fn::GetAtt.
  Maker::Function make;

  static const Type* of(std::string_view name);
};

namespace {

using Checked = Result<void, aws::Refusal>;

aws::Refusal refused(const std::string& resource, const std::string& why) {
  return invalid("Resource " + resource + ": " + why);
}

bool has_word(std::string_view words, std::string_view word) {
  const std::vector<std::string> all = split_words(words);
  return std::find(all.begin(), all.end(), word) != all.end();
}

/// Required properties whose value is AWS::NoValue, or no text where one is expected.
Checked check_text(const std::string& resource, const Json& properties, const char* name) {
  if (!member_text(properties, name).empty()) return {};
  return refused(resource, std::string(name) + " must be a non-empty string");
}

/// A port as text; -1 where it is not given.
Result<int, aws::Refusal> port_in(const std::string& resource, const Json& properties,
                                  const char* name) {
  if (!properties.contains(name)) return -1;
  const std::optional<std::int64_t> number = parse_integer(member_text(properties, name));
  if (number && *number >= -1 && *number <= port_max) return static_cast<int>(*number);
  return refused(resource, std::string(name) + " must be -1 to 65535");
}

std::string protocol_of(const std::string& written) {
  const std::string protocol = lower_case(written);
  if (protocol == "6") return "tcp";
  if (protocol == "17") return "udp";
  if (protocol == "1") return "icmp";
  return protocol == "all" ? "-1" : protocol;
}

bool has_ports(const std::string& protocol) {
  return protocol == "tcp" || protocol == "udp" || protocol == "icmp";
}

/// The rule of a SecurityGroupIngress or -Egress, or of a group's own list. None: it is of IPv6,
/// which hosts do not have.
Result<std::optional<vpc::Rule>, aws::Refusal> rule_from(const std::string& resource,
                                                         const Json& properties, bool is_ingress) {
  static const std::set<std::string> known = {"CidrIp",
                                              "CidrIpv6",
                                              "Description",
                                              "FromPort",
                                              "ToPort",
                                              "IpProtocol",
                                              "GroupId",
                                              "SourceSecurityGroupId",
                                              "SourceSecurityGroupOwnerId",
                                              "DestinationSecurityGroupId"};
  if (!properties.is_object()) return refused(resource, "a rule must be an object");
  for (const auto& [name, each] : properties.items())
    if (!known.contains(name)) return refused(resource, "Encountered unsupported property " + name);
  TRY(check_text(resource, properties, "IpProtocol"));
  vpc::Rule rule{.protocol = protocol_of(member_text(properties, "IpProtocol"))};
  if (has_ports(rule.protocol)) {
    rule.from_port = TRY(port_in(resource, properties, "FromPort"));
    rule.to_port = TRY(port_in(resource, properties, "ToPort"));
  }
  rule.cidr = member_text(properties, "CidrIp");
  rule.group =
      member_text(properties, is_ingress ? "SourceSecurityGroupId" : "DestinationSecurityGroupId");
  const bool is_ipv6 = properties.contains("CidrIpv6");
  const int ends = int{!rule.cidr.empty()} + int{!rule.group.empty()} + int{is_ipv6};
  if (ends != 1)
    return refused(resource, std::string("a rule must have exactly one of CidrIp, CidrIpv6 and ") +
                                 (is_ingress ? "Source" : "Destination") + "SecurityGroupId");
  if (is_ipv6) return std::optional<vpc::Rule>();
  return std::optional<vpc::Rule>(std::move(rule));
}

Result<std::vector<vpc::Rule>, aws::Refusal> rules_from(const std::string& resource,
                                                        const Json& list, bool is_ingress) {
  std::vector<vpc::Rule> rules;
  for (const Json& each : list.is_array() ? list : Json::array({list}))
    if (std::optional<vpc::Rule> rule = TRY(rule_from(resource, each, is_ingress)))
      rules.push_back(*std::move(rule));
  return rules;
}

/// "Vpc" for each id in a text that contains "vpc-0a…".
std::string with_names(std::string text, const std::map<std::string, std::string>& names) {
  for (const auto& [id, name] : names)
    for (std::size_t at = text.find(id); at != std::string::npos;
         at = text.find(id, at + name.size()))
      text.replace(at, id.size(), name);
  return text;
}

/// Equal for properties that are.
std::string digest_of(const Json& properties) {
  constexpr std::size_t digits = 32;
  return hex(aws::view_of(aws::sha256(to_text(properties)))).substr(0, digits);
}

std::string fixed_of(const Json& properties, std::string_view words) {
  Json fixed = Json::object();
  for (const std::string& name : split_words(words))
    if (properties.contains(name)) fixed[name] = properties.at(name);
  return digest_of(fixed);
}

std::string without_tags(Json properties) {
  properties.erase("Tags");
  return digest_of(properties);
}

void append(vpc::Networks& all, const vpc::Networks& more) {
  all.vpcs.insert(all.vpcs.end(), more.vpcs.begin(), more.vpcs.end());
  all.subnets.insert(all.subnets.end(), more.subnets.begin(), more.subnets.end());
  all.groups.insert(all.groups.end(), more.groups.begin(), more.groups.end());
}

}  // namespace

const Type* Type::of(std::string_view name) {
  static constexpr Type types[] = {
      {"AWS::EC2::VPC", "vpc", "CidrBlock",
       "EnableDnsHostnames EnableDnsSupport InstanceTenancy Tags", "CidrBlock",
       "VpcId CidrBlock DefaultSecurityGroup", &Maker::make_vpc},
      {"AWS::EC2::Subnet", "subnet", "CidrBlock VpcId",
       "AvailabilityZone MapPublicIpOnLaunch PrivateDnsNameOptionsOnLaunch Tags",
       "AvailabilityZone CidrBlock VpcId", "SubnetId VpcId CidrBlock AvailabilityZone",
       &Maker::make_subnet},
      {"AWS::EC2::SecurityGroup", "sg", "GroupDescription VpcId",
       "GroupName SecurityGroupIngress SecurityGroupEgress Tags",
       "GroupDescription GroupName VpcId", "GroupId Id VpcId", &Maker::make_group},
      {"AWS::EC2::SecurityGroupIngress", "sgr", "GroupId IpProtocol",
       "CidrIp CidrIpv6 Description FromPort ToPort SourceSecurityGroupId "
       "SourceSecurityGroupOwnerId",
       "CidrIp CidrIpv6 FromPort GroupId IpProtocol SourceSecurityGroupId "
       "SourceSecurityGroupOwnerId ToPort",
       "Id", &Maker::make_rule},
      {"AWS::EC2::SecurityGroupEgress", "sgr", "GroupId IpProtocol",
       "CidrIp CidrIpv6 Description FromPort ToPort DestinationSecurityGroupId",
       "CidrIp CidrIpv6 DestinationSecurityGroupId FromPort GroupId IpProtocol ToPort", "Id",
       &Maker::make_rule},
      {"AWS::EC2::RouteTable", "rtb", "VpcId", "Tags", "VpcId", "RouteTableId", &Maker::make_other},
      {"AWS::EC2::Route", "r", "RouteTableId",
       "DestinationCidrBlock DestinationIpv6CidrBlock GatewayId",
       "DestinationCidrBlock DestinationIpv6CidrBlock RouteTableId", "CidrBlock",
       &Maker::make_other},
      {"AWS::EC2::SubnetRouteTableAssociation", "rtbassoc", "RouteTableId SubnetId", "", "SubnetId",
       "Id", &Maker::make_other},
      {"AWS::EC2::VPCEndpoint", "vpce", "ServiceName VpcId",
       "PolicyDocument RouteTableIds VpcEndpointType Tags", "ServiceName VpcEndpointType VpcId",
       "Id", &Maker::make_endpoint},
      {"AWS::EC2::InternetGateway", "igw", "", "Tags", "", "InternetGatewayId", &Maker::make_other},
      {"AWS::EC2::VPCGatewayAttachment", "igw-attach", "VpcId", "InternetGatewayId",
       "InternetGatewayId VpcId", "", &Maker::make_other},
  };
  for (const Type& type : types)
    if (type.name == name) return &type;
  return nullptr;
}

bool is_resource_type(std::string_view type) {
  return Type::of(type) != nullptr;
}

bool has_attribute(std::string_view type, std::string_view attribute) {
  const Type* found = Type::of(type);
  return found != nullptr && has_word(found->attributes, attribute);
}

Checked check_properties(const Resource& resource) {
  const Type& type = *Type::of(resource.type);
  for (const auto& [name, each] : resource.properties.items())
    if (!has_word(type.required, name) && !has_word(type.optional, name))
      return refused(resource.name, "Encountered unsupported property " + name);
  for (const std::string& name : split_words(type.required))
    if (!resource.properties.contains(name))
      return refused(resource.name, "Property " + name + " cannot be empty.");
  return {};
}

Result<Made, aws::Refusal> Maker::make(const Resource& resource, const Json& properties) {
  const Type& type = *Type::of(resource.type);
  for (const std::string& name : split_words(type.required))
    TRY(check_text(resource.name, properties, name.c_str()));
  const std::string fixed = fixed_of(properties, type.fixed);
  const std::string id = TRY(id_of(resource, type.prefix, fixed));
  Made made = TRY((this->*type.make)(resource, properties, id));
  made.digest = without_tags(properties);
  made.fixed = fixed;
  logical_.insert_or_assign(made.id, resource.name);
  return made;
}

Result<std::string, aws::Refusal> Maker::id_of(const Resource& resource, std::string_view prefix,
                                               const std::string& fixed) const {
  if (options_.before != nullptr)
    for (const StackResource& each : options_.before->resources) {
      if (each.name != resource.name) continue;
      if (each.type != resource.type)
        return invalid(
            "Update of resource type is not permitted. The new template modifies resource type of "
            "the following resources: [" +
            resource.name + "]");
      if (each.fixed == fixed || each.fixed.empty()) return each.id;
    }
  return options_.fresh_id(prefix);
}

Result<Made, aws::Refusal> Maker::make_vpc(const Resource& resource, const Json& properties,
                                           const std::string& id) {
  const std::string cidr = member_text(properties, "CidrBlock");
  made_.vpcs.push_back({id, cidr});
  // Each VPC of EC2's has one: its members reach each other, and everything.
  std::string group;
  if (options_.before != nullptr)
    for (const vpc::SecurityGroup& each : options_.before->networks.groups)
      if (group.empty() && each.vpc == id && each.name == "default") group = each.id;
  if (group.empty()) group = options_.fresh_id("sg");
  made_.groups.push_back({.id = group,
                          .name = "default",
                          .description = "default VPC security group",
                          .vpc = id,
                          .ingress = {{.protocol = "-1", .group = group}},
                          .egress = {vpc::any_egress()}});
  logical_.insert_or_assign(group, resource.name + ".DefaultSecurityGroup");
  return Made{id, {{"VpcId", id}, {"CidrBlock", cidr}, {"DefaultSecurityGroup", group}}};
}

Result<Made, aws::Refusal> Maker::make_subnet(const Resource&, const Json& properties,
                                              const std::string& id) {
  vpc::Subnet subnet{.id = id,
                     .vpc = member_text(properties, "VpcId"),
                     .cidr = member_text(properties, "CidrBlock"),
                     .zone = member_text(properties, "AvailabilityZone")};
  if (const vpc::Subnet* before =
          options_.before != nullptr ? vpc::subnet_of(options_.before->networks, id) : nullptr)
    subnet.zone = before->zone;
  constexpr std::string_view zones = "abc";
  if (subnet.zone.empty()) subnet.zone = options_.region + zones[subnets_ % zones.size()];
  ++subnets_;
  made_.subnets.push_back(subnet);
  return Made{subnet.id,
              {{"SubnetId", subnet.id},
               {"VpcId", subnet.vpc},
               {"CidrBlock", subnet.cidr},
               {"AvailabilityZone", subnet.zone}}};
}

Result<Made, aws::Refusal> Maker::make_group(const Resource& resource, const Json& properties,
                                             const std::string& id) {
  vpc::SecurityGroup group{.id = id,
                           .name = member_text(properties, "GroupName"),
                           .description = member_text(properties, "GroupDescription"),
                           .vpc = member_text(properties, "VpcId"),
                           .ingress = {},
                           .egress = {vpc::any_egress()}};
  if (group.name.empty())
    group.name =
        options_.stack + "-" + resource.name + "-" + group.id.substr(group.id.rfind('-') + 1);
  for (const vpc::Networks* networks : {&options_.known, static_cast<const vpc::Networks*>(&made_)})
    for (const vpc::SecurityGroup& other : networks->groups)
      if (other.vpc == group.vpc && other.name == group.name)
        return refused(resource.name, "The security group '" + group.name +
                                          "' already exists for VPC '" + group.vpc + "'");
  if (const auto rules = properties.find("SecurityGroupIngress"); rules != properties.end())
    group.ingress = TRY(rules_from(resource.name, *rules, true));
  if (const auto rules = properties.find("SecurityGroupEgress"); rules != properties.end())
    group.egress = TRY(rules_from(resource.name, *rules, false));
  made_.groups.push_back(group);
  return Made{group.id, {{"GroupId", group.id}, {"Id", group.id}, {"VpcId", group.vpc}}};
}

Result<Made, aws::Refusal> Maker::make_rule(const Resource& resource, const Json& properties,
                                            const std::string& id) {
  const bool is_ingress = resource.type == "AWS::EC2::SecurityGroupIngress";
  const std::string of = member_text(properties, "GroupId");
  const auto group = std::find_if(made_.groups.begin(), made_.groups.end(),
                                  [&](const vpc::SecurityGroup& each) { return each.id == of; });
  if (group == made_.groups.end())
    return refused(resource.name,
                   "GroupId: " + of +
                       " is not a security group of this template; add rules where it was created");
  if (const std::optional<vpc::Rule> rule = TRY(rule_from(resource.name, properties, is_ingress)))
    (is_ingress ? group->ingress : group->egress).push_back(*rule);
  return Made{id, {{"Id", id}}};
}

Result<Made, aws::Refusal> Maker::make_endpoint(const Resource& resource, const Json& properties,
                                                const std::string& id) {
  if (!member_text(properties, "ServiceName").ends_with(".s3"))
    return refused(resource.name, "ServiceName: muster supports endpoints only for S3, got " +
                                      member_text(properties, "ServiceName"));
  const std::string type = member_text(properties, "VpcEndpointType");
  if (!type.empty() && type != "Gateway")
    return refused(resource.name,
                   "VpcEndpointType: an endpoint for S3 must be a Gateway, got " + type);
  return make_other(resource, properties, id);
}

Result<Made, aws::Refusal> Maker::make_other(const Resource& resource, const Json& properties,
                                             const std::string& id) {
  const Type& type = *Type::of(resource.type);
  Made made{id, {}};
  for (const std::string& name : split_words(type.attributes))
    made.attributes[name] =
        name == "CidrBlock" ? member_text(properties, "DestinationCidrBlock") : id;
  return made;
}

Result<vpc::Networks, aws::Refusal> Maker::networks() const {
  vpc::Networks all = options_.known;
  append(all, made_);
  const Result<void> fine = vpc::check(all);
  if (fine) return made_;
  constexpr std::string_view prefix = "networks.";
  std::string text = fine.error().text;
  if (text.starts_with(prefix)) text.erase(0, prefix.size());
  return invalid(with_names(std::move(text), logical_));
}

}  // namespace muster::cloudformation
