#include "job/vpc/networks.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::vpc {
namespace {

/// As `aws ec2 describe-…` prints them.
constexpr const char* told = R"({
  "Vpcs": [{"VpcId": "vpc-1", "CidrBlock": "10.0.0.0/16", "State": "available", "Tags": []}],
  "Subnets": [
    {"SubnetId": "subnet-1", "VpcId": "vpc-1", "CidrBlock": "10.0.1.0/24",
     "AvailabilityZone": "us-east-1a", "AvailableIpAddressCount": 251},
    {"SubnetId": "subnet-2", "VpcId": "vpc-1", "CidrBlock": "10.0.2.0/24"}],
  "SecurityGroups": [
    {"GroupId": "sg-1", "GroupName": "training", "Description": "hosts", "VpcId": "vpc-1",
     "IpPermissions": [
       {"IpProtocol": "tcp", "FromPort": 0, "ToPort": 65535,
        "UserIdGroupPairs": [{"GroupId": "sg-1", "UserId": "000000000000"}]},
       {"IpProtocol": "17", "FromPort": 500, "ToPort": 500,
        "IpRanges": [{"CidrIp": "10.0.0.0/16"}, {"CidrIp": "192.0.2.1/32", "Description": "b"}]},
       {"IpProtocol": "50", "FromPort": -1, "UserIdGroupPairs": [{"GroupId": "sg-2"}]}]},
    {"GroupId": "sg-2", "VpcId": "vpc-1", "IpPermissionsEgress": []}]
})";

Networks read(const char* text) {
  const Result<Networks> networks = networks_from(*parse_json(text));
  REQUIRE_MESSAGE(networks.has_value(), (networks ? "" : networks.error().text));
  return *networks;
}

TEST_CASE("networks: read in EC2's format, a rule for each other end") {
  const Networks networks = read(told);
  CHECK(networks.vpcs == std::vector<Vpc>{{"vpc-1", "10.0.0.0/16"}});
  REQUIRE(subnet_of(networks, "subnet-1") != nullptr);
  CHECK(subnet_of(networks, "subnet-1")->zone == "us-east-1a");
  CHECK(subnet_of(networks, "subnet-3") == nullptr);
  const SecurityGroup* const group = group_of(networks, "sg-1");
  REQUIRE(group != nullptr);
  CHECK(group->ingress == std::vector<Rule>{
                              {"tcp", 0, 65535, "", "sg-1"},
                              {"udp", 500, 500, "10.0.0.0/16", ""},
                              {"udp", 500, 500, "192.0.2.1/32", ""},
                              {"50", -1, -1, "", "sg-2"},
                          });
}

TEST_CASE("networks: a group that says nothing lets all out, one that says so nothing") {
  const Networks networks = read(told);
  CHECK(group_of(networks, "sg-1")->egress == std::vector<Rule>{any_egress()});
  CHECK(group_of(networks, "sg-2")->egress.empty());
}

TEST_CASE("networks: written and read they are the same") {
  const Networks networks = read(told);
  const Result<Networks> again = networks_from(to_json(networks));
  REQUIRE(again);
  CHECK(*again == networks);
  CHECK(networks_from(to_json(Networks{}))->empty());
}

/// `told` with another value at a JSON pointer.
Result<Networks> with(const char* pointer, Json value) {
  Json json = *parse_json(told);
  json[Json::json_pointer(pointer)] = std::move(value);
  return networks_from(json);
}

TEST_CASE("networks: errors name the invalid field") {
  const struct {
    const char* pointer;
    Json value;
    const char* want;
  } cases[] = {
      {"/Vpc", Json::array(), "networks.Vpc: expected no such field"},
      {"/Vpcs/0/VpcId", "vpc 1", "networks.Vpcs[vpc 1].VpcId: expected 1 to 64"},
      {"/Vpcs/0/CidrBlock", "10.0.0.0", "such as 10.0.1.0/24, got \"10.0.0.0\""},
      {"/Vpcs/0/CidrBlock", "10.0.0.0/8", "a CIDR block from /16 to /28, got 10.0.0.0/8"},
      {"/Vpcs/0/CidrBlock", "127.0.0.0/16", "outside 127.0.0.0/8"},
      {"/Vpcs/0/CidrBlock", "169.254.0.0/16", "outside 169.254.0.0/16"},
      {"/Vpcs/0/CidrBlock", "240.0.0.0/16", "outside 224.0.0.0/3"},
      {"/Subnets/0/VpcId", "vpc-2", "networks.Subnets[subnet-1].VpcId: expected an existing VPC"},
      {"/Subnets/0/SubnetId", "subnet-2", "expected a unique ID"},
      {"/Subnets/1/CidrBlock", "10.1.2.0/24",
       "a CIDR block within 10.0.0.0/16, the range of vpc-1, got 10.1.2.0/24"},
      {"/Subnets/1/CidrBlock", "10.0.1.128/25", "a CIDR block that does not overlap subnet-1"},
      {"/Subnets/1/CidrBlock", 7, "networks.Subnets[1].CidrBlock: expected text"},
      {"/SecurityGroups/0/VpcId", "vpc-2", "SecurityGroups[sg-1].VpcId: expected an existing VPC"},
      {"/SecurityGroups/1/IpPermission", Json::array(), "IpPermission: expected no such field"},
      {"/SecurityGroups/0/IpPermissions/0/IpProtocol", "tpc", "IpProtocol: expected tcp, udp"},
      {"/SecurityGroups/0/IpPermissions/0/IpProtocol", "256", "IpProtocol: expected tcp, udp"},
      {"/SecurityGroups/0/IpPermissions/0/ToPort", 65536,
       "ToPort: expected a number from -1 to 65535"},
      {"/SecurityGroups/0/IpPermissions/0/FromPort", -2,
       "FromPort: expected a number from -1 to 65535"},
      {"/SecurityGroups/0/IpPermissions/0/ToPort", -1, "ToPort: expected a port >= FromPort"},
      {"/SecurityGroups/0/IpPermissions/0/UserIdGroupPairs/0/GroupId", "sg-3",
       "IpPermissions.GroupId: expected an existing group, got sg-3"},
      {"/SecurityGroups/0/IpPermissions/1/IpRanges/0/CidrIp", "10.0.0.1/16",
       "IpPermissions.CidrIp: expected a CIDR block such as"},
      {"/SecurityGroups/0/IpPermissions/1/IpRanges/0/CidrIp", "2001:db8::/32",
       "IpPermissions.CidrIp: expected a CIDR block such as"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    const Result<Networks> networks = with(c.pointer, c.value);
    REQUIRE(!networks);
    CHECK(networks.error().code == Errc::invalid_input);
    CAPTURE(networks.error().text);
    CHECK(networks.error().text.find(c.want) != std::string::npos);
  }
  CHECK(!networks_from(Json::array()));
}

TEST_CASE("networks: blocks of two VPCs may be equal") {
  Json json = *parse_json(told);
  json["Vpcs"].push_back({{"VpcId", "vpc-2"}, {"CidrBlock", "10.0.0.0/16"}});
  json["Subnets"].push_back(
      {{"SubnetId", "subnet-9"}, {"VpcId", "vpc-2"}, {"CidrBlock", "10.0.1.0/24"}});
  CHECK(networks_from(json).has_value());
}

}  // namespace
}  // namespace muster::vpc
