#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace muster::vpc {

// The networks that jobs may name: VPCs, their subnets, their security groups. IPv4 only.
//
// Pure. Source of names and bounds: EC2's API, DescribeVpcs, DescribeSubnets,
// DescribeSecurityGroups.

/// Lets traffic pass.
struct Rule {
  std::string protocol;  ///< "tcp", "udp", "icmp", "-1" (all), or a number as text: "50".
  int from_port = -1;    ///< tcp, udp: 0 to 65535; -1: all. icmp: the type; -1: all.
  int to_port = -1;      ///< icmp: the code; -1: all.
  std::string cidr{};    ///< "10.0.0.0/16": who is at the other end; or
  std::string group{};   ///< the hosts of a security group, by id.

  bool operator==(const Rule&) const = default;
};

struct SecurityGroup {
  std::string id, name, description, vpc;
  std::vector<Rule> ingress, egress;

  bool operator==(const SecurityGroup&) const = default;
};

struct Subnet {
  std::string id, vpc, cidr, zone;

  bool operator==(const Subnet&) const = default;
};

struct Vpc {
  std::string id, cidr;

  bool operator==(const Vpc&) const = default;
};

/// All that jobs may name.
struct Networks {
  std::vector<Vpc> vpcs;
  std::vector<Subnet> subnets;
  std::vector<SecurityGroup> groups;

  bool empty() const { return vpcs.empty() && subnets.empty() && groups.empty(); }
  bool operator==(const Networks&) const = default;
};

/// Null if the id is unknown.
const Vpc* vpc_of(const Networks& networks, const std::string& id);
const Subnet* subnet_of(const Networks& networks, const std::string& id);
const SecurityGroup* group_of(const Networks& networks, const std::string& id);

/// What a group lets out unless it says otherwise: everything.
Rule any_egress();

/// What is wrong with them: ids twice or out of their alphabet, blocks that are not in their VPC's,
/// that overlap or that no host may have, ports, groups that there are not.
/// Error: `invalid_input`, naming the field as JSON has it.
Result<void> check(const Networks& networks);

/// In EC2's own names: Vpcs[VpcId, CidrBlock], Subnets[SubnetId, VpcId, CidrBlock,
/// AvailabilityZone], SecurityGroups[GroupId, GroupName, Description, VpcId, IpPermissions,
/// IpPermissionsEgress], each permission of IpProtocol, FromPort, ToPort, IpRanges[CidrIp],
/// UserIdGroupPairs[GroupId].
Json to_json(const Networks& networks);
/// Checked as check() does; a group without IpPermissionsEgress has any_egress(). Other members of
/// EC2's descriptions (tags, owners, states, IPv6) are ignored, unknown fields are rejected. Error:
/// `invalid_input`, naming the field.
Result<Networks> networks_from(const Json& json);

}  // namespace muster::vpc
