// Written by tools/service_model.py from botocore's published service model.
#include "api/model_table.h"

// clang-format off
namespace muster::api {

namespace {

constexpr Operation operations[] = {
    {"DescribeSecurityGroups", 0, 11}, {"DescribeSubnets", 28, 32},
};

constexpr Shape shapes[] = {
    {Kind::structure, 0, 6}, {Kind::list, 6, 1}, {Kind::string}, {Kind::list, 7, 1}, {Kind::string},
    {Kind::string}, {Kind::integer, 0, 0, 5, 1000}, {Kind::boolean}, {Kind::list, 8, 1},
    {Kind::structure, 9, 2}, {Kind::list, 11, 1}, {Kind::structure, 12, 2}, {Kind::string},
    {Kind::list, 14, 1}, {Kind::structure, 15, 9}, {Kind::list, 24, 1}, {Kind::structure, 25, 7},
    {Kind::integer}, {Kind::list, 32, 1}, {Kind::structure, 33, 7}, {Kind::list, 40, 1},
    {Kind::structure, 41, 2}, {Kind::list, 43, 1}, {Kind::structure, 44, 2}, {Kind::list, 46, 1},
    {Kind::structure, 47, 2}, {Kind::list, 49, 1}, {Kind::structure, 50, 2},
    {Kind::structure, 52, 5}, {Kind::list, 57, 1}, {Kind::string}, {Kind::integer, 0, 0, 5, 1000},
    {Kind::structure, 58, 2}, {Kind::list, 60, 1}, {Kind::structure, 61, 23}, {Kind::boolean},
    {Kind::string}, {Kind::list, 84, 1}, {Kind::structure, 85, 5}, {Kind::string},
    {Kind::structure, 90, 2}, {Kind::string, 0, 6}, {Kind::string, 6, 2}, {Kind::string, 8, 3},
    {Kind::structure, 92, 3}, {Kind::string, 11, 2}, {Kind::structure, 95, 1},
    {Kind::string, 13, 3}, {Kind::string, 16, 5},
};

constexpr Member members[] = {
    {"GroupIds", 1, false, "GroupId"}, {"GroupNames", 3, false, "GroupName"}, {"NextToken", 5},
    {"MaxResults", 6}, {"DryRun", 7}, {"Filters", 8, false, "Filter"},
    {"member", 2, false, "GroupId"}, {"member", 4, false, "GroupName"},
    {"member", 9, false, "Filter"}, {"Name", 5}, {"Values", 10, false, "Value"},
    {"member", 5, false, "Item"}, {"NextToken", 12, false, "nextToken"},
    {"SecurityGroups", 13, false, "securityGroupInfo"}, {"member", 14, false, "item"},
    {"GroupId", 12, false, "groupId"}, {"IpPermissionsEgress", 15, false, "ipPermissionsEgress"},
    {"Tags", 26, false, "tagSet"}, {"VpcId", 12, false, "vpcId"},
    {"SecurityGroupArn", 12, false, "securityGroupArn"}, {"OwnerId", 12, false, "ownerId"},
    {"GroupName", 12, false, "groupName"}, {"Description", 12, false, "groupDescription"},
    {"IpPermissions", 15, false, "ipPermissions"}, {"member", 16, false, "item"},
    {"IpProtocol", 12, false, "ipProtocol"}, {"FromPort", 17, false, "fromPort"},
    {"ToPort", 17, false, "toPort"}, {"UserIdGroupPairs", 18, false, "groups"},
    {"IpRanges", 20, false, "ipRanges"}, {"Ipv6Ranges", 22, false, "ipv6Ranges"},
    {"PrefixListIds", 24, false, "prefixListIds"}, {"member", 19, false, "item"},
    {"Description", 12, false, "description"}, {"UserId", 12, false, "userId"},
    {"GroupName", 12, false, "groupName"}, {"GroupId", 12, false, "groupId"},
    {"VpcId", 12, false, "vpcId"}, {"VpcPeeringConnectionId", 12, false, "vpcPeeringConnectionId"},
    {"PeeringStatus", 12, false, "peeringStatus"}, {"member", 21, false, "item"},
    {"Description", 12, false, "description"}, {"CidrIp", 12, false, "cidrIp"},
    {"member", 23, false, "item"}, {"Description", 12, false, "description"},
    {"CidrIpv6", 12, false, "cidrIpv6"}, {"member", 25, false, "item"},
    {"Description", 12, false, "description"}, {"PrefixListId", 12, false, "prefixListId"},
    {"member", 27, false, "item"}, {"Key", 12, false, "key"}, {"Value", 12, false, "value"},
    {"Filters", 8, false, "Filter"}, {"SubnetIds", 29, false, "SubnetId"}, {"NextToken", 5},
    {"MaxResults", 31}, {"DryRun", 7}, {"member", 30, false, "SubnetId"},
    {"NextToken", 12, false, "nextToken"}, {"Subnets", 33, false, "subnetSet"},
    {"member", 34, false, "item"}, {"AvailabilityZoneId", 12, false, "availabilityZoneId"},
    {"EnableLniAtDeviceIndex", 17, false, "enableLniAtDeviceIndex"},
    {"MapCustomerOwnedIpOnLaunch", 35, false, "mapCustomerOwnedIpOnLaunch"},
    {"CustomerOwnedIpv4Pool", 36, false, "customerOwnedIpv4Pool"},
    {"OwnerId", 12, false, "ownerId"},
    {"AssignIpv6AddressOnCreation", 35, false, "assignIpv6AddressOnCreation"},
    {"Ipv6CidrBlockAssociationSet", 37, false, "ipv6CidrBlockAssociationSet"},
    {"Tags", 26, false, "tagSet"}, {"SubnetArn", 12, false, "subnetArn"},
    {"OutpostArn", 12, false, "outpostArn"}, {"EnableDns64", 35, false, "enableDns64"},
    {"Ipv6Native", 35, false, "ipv6Native"},
    {"PrivateDnsNameOptionsOnLaunch", 44, false, "privateDnsNameOptionsOnLaunch"},
    {"BlockPublicAccessStates", 46, false, "blockPublicAccessStates"}, {"Type", 12, false, "type"},
    {"SubnetId", 12, false, "subnetId"}, {"State", 48, false, "state"},
    {"VpcId", 12, false, "vpcId"}, {"CidrBlock", 12, false, "cidrBlock"},
    {"AvailableIpAddressCount", 17, false, "availableIpAddressCount"},
    {"AvailabilityZone", 12, false, "availabilityZone"},
    {"DefaultForAz", 35, false, "defaultForAz"},
    {"MapPublicIpOnLaunch", 35, false, "mapPublicIpOnLaunch"}, {"member", 38, false, "item"},
    {"AssociationId", 39, false, "associationId"}, {"Ipv6CidrBlock", 12, false, "ipv6CidrBlock"},
    {"Ipv6CidrBlockState", 40, false, "ipv6CidrBlockState"},
    {"Ipv6AddressAttribute", 42, false, "ipv6AddressAttribute"},
    {"IpSource", 43, false, "ipSource"}, {"State", 41, false, "state"},
    {"StatusMessage", 12, false, "statusMessage"}, {"HostnameType", 45, false, "hostnameType"},
    {"EnableResourceNameDnsARecord", 35, false, "enableResourceNameDnsARecord"},
    {"EnableResourceNameDnsAAAARecord", 35, false, "enableResourceNameDnsAAAARecord"},
    {"InternetGatewayBlockMode", 47, false, "internetGatewayBlockMode"},
};

constexpr std::string_view words[] = {
    "associating", "associated", "disassociating", "disassociated", "failing", "failed", "public",
    "private", "amazon", "byoip", "none", "ip-name", "resource-name", "off", "block-bidirectional",
    "block-ingress", "pending", "available", "unavailable", "failed",
    "failed-insufficient-capacity",
};

}  // namespace

constinit const Service ec2_model = {
    .name = "ec2",
    .version = "2016-11-15",
    .target = "",
    .json_version = "",
    .xml_namespace = "http://ec2.amazonaws.com/doc/2016-11-15",
    .style = Style::ec2,
    .operations = operations,
    .shapes = shapes,
    .members = members,
    .words = words,
    .patterns = {},
};

}  // namespace muster::api
