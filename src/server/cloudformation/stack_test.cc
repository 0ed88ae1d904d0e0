#include "server/cloudformation/stack.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "server/cloudformation/template.h"
#include "server/cloudformation/testing.h"

namespace muster::cloudformation {
namespace {

using Parameters = std::map<std::string, std::string>;

std::string refusal_of(const std::string& text, const Parameters& parameters = {}) {
  const Result<Stack, aws::Refusal> stack = stack_made(text, parameters);
  if (stack) return "none";
  CHECK(stack.error().code == "ValidationError");
  return stack.error().message;
}

std::string output_of(const Stack& stack, const std::string& key) {
  for (const StackOutput& each : stack.outputs)
    if (each.key == key) return each.value;
  return "none";
}

/// What `written`, a value in JSON, becomes as an output.
std::string value_of(const std::string& written, const std::string& sections = "") {
  const Result<Stack, aws::Refusal> stack = stack_made(
      R"({"Parameters": {"Name": {"Type": "String", "Default": "n"},
          "Some": {"Type": "CommaDelimitedList", "Default": "a, b ,c"}},
          "Mappings": {"Zone": {"eu-west-1": {"Size": 5}}},
          "Resources": {"Vpc": {"Type": "AWS::EC2::VPC",
              "Properties": {"CidrBlock": "10.0.0.0/16"}}},
          )" +
      sections + R"( "Outputs": {"O": {"Value": )" + written + "}}}");
  return stack ? output_of(*stack, "O") : stack.error().message;
}

constexpr const char* guide = R"yaml(
AWSTemplateFormatVersion: 2010-09-09
Description: Two subnets and a group
Metadata:
  AWS::CloudFormation::Interface: {ParameterGroups: [{Label: {default: x}, Parameters: [Zones]}]}
Parameters:
  Zones: {Type: Number, Default: 2, AllowedValues: [1, 2]}
  Fabric: {Type: String, Default: true, AllowedValues: [true, false]}
Conditions:
  Two: !Equals [!Ref Zones, "2"]
  Some: !Or [!Condition Two, !Not [!Equals [!Ref Fabric, 'false']]]
Resources:
  Endpoint:
    Type: AWS::EC2::VPCEndpoint
    Properties:
      VpcId: !Ref Vpc
      ServiceName: !Join ['', [com.amazonaws., !Ref 'AWS::Region', .s3]]
      RouteTableIds: [!Ref Routes]
      PolicyDocument: {Version: 2012-10-17, Statement: [{Effect: Allow, Action: '*'}]}
  Vpc:
    Type: AWS::EC2::VPC
    Properties:
      CidrBlock: 10.0.0.0/16
      EnableDnsSupport: true
      Tags: [{Key: Name, Value: !Sub '${AWS::StackName}-vpc'}]
  One:
    Type: AWS::EC2::Subnet
    Properties:
      {VpcId: !Ref Vpc, CidrBlock: 10.0.0.0/24, AvailabilityZone: !Select [0, !GetAZs '']}
  Other:
    Type: AWS::EC2::Subnet
    Condition: Two
    Properties:
      VpcId: !GetAtt Vpc.VpcId
      CidrBlock: !Select [1, !Cidr [!GetAtt Vpc.CidrBlock, 2, 8]]
  Routes: {Type: AWS::EC2::RouteTable, Properties: {VpcId: !Ref Vpc}}
  Bound:
    Type: AWS::EC2::SubnetRouteTableAssociation
    Properties: {SubnetId: !Ref One, RouteTableId: !Ref Routes}
  Group:
    Type: AWS::EC2::SecurityGroup
    Properties:
      GroupDescription: hosts of a job
      VpcId: !Ref Vpc
      SecurityGroupEgress: [{IpProtocol: -1, CidrIp: 0.0.0.0/0}]
  Tcp:
    Type: AWS::EC2::SecurityGroupIngress
    DependsOn: [Group]
    Properties:
      {GroupId: !Ref Group, IpProtocol: tcp, FromPort: 0, ToPort: '65535',
       SourceSecurityGroupId: !Ref Group}
  Ike:
    Type: AWS::EC2::SecurityGroupIngress
    Properties:
      {GroupId: !GetAtt Group.GroupId, IpProtocol: 17, FromPort: 500, ToPort: 500,
       SourceSecurityGroupId: !Ref Group}
  Esp:
    Type: AWS::EC2::SecurityGroupIngress
    Properties:
      {GroupId: !Ref Group, IpProtocol: 50, FromPort: 0, ToPort: 0,
       SourceSecurityGroupId: !Ref Group}
Outputs:
  Group: {Value: !Ref Group, Description: of the hosts}
  Subnets:
    Value: !If [Two, !Sub '${One},${Other}', !Ref One]
    Export: {Name: !Sub '${AWS::StackName}-subnets'}
  Other: {Value: !Ref Other, Condition: Two}
  Fabric: {Value: !If [Some, 'yes', !Ref 'AWS::NoValue']}
)yaml";

TEST_CASE("stacks: a template like the guide's becomes networks, and returns their ids") {
  const Result<Stack, aws::Refusal> stack = stack_made(guide);
  REQUIRE_MESSAGE(stack, stack.error().message);
  const vpc::Networks& networks = stack->networks;
  REQUIRE(networks.vpcs.size() == 1);
  REQUIRE(networks.subnets.size() == 2);
  CHECK(output_of(*stack, "Subnets") == networks.subnets[0].id + "," + networks.subnets[1].id);
  CHECK(networks.subnets[1].cidr == "10.0.1.0/24");
  const vpc::SecurityGroup* group = vpc::group_of(networks, output_of(*stack, "Group"));
  REQUIRE(group != nullptr);
  CHECK(group->vpc == networks.vpcs[0].id);
  CHECK(group->name.starts_with("net-Group-"));
  const std::vector<vpc::Rule> want = {
      {.protocol = "50", .group = group->id},
      {.protocol = "udp", .from_port = 500, .to_port = 500, .group = group->id},
      {.protocol = "tcp", .from_port = 0, .to_port = 65535, .group = group->id}};
  CHECK(group->ingress == want);
  CHECK(group->egress == std::vector<vpc::Rule>{vpc::any_egress()});
  CHECK(networks.groups[0].name == "default");
  CHECK(stack->resources[0].name == "Vpc");
  CHECK(stack->resources[0].tags[0].second == "net-vpc");
  CHECK(stack->resources.size() == 10);
  CHECK(output_of(*stack, "Fabric") == "yes");
  CHECK(stack->description == "Two subnets and a group");
  CHECK(stack->outputs.back().export_name == "net-subnets");
}

TEST_CASE("stacks: conditions leave resources and outputs out") {
  const Result<Stack, aws::Refusal> stack = stack_made(guide, {{"Zones", "1"}});
  REQUIRE_MESSAGE(stack, stack.error().message);
  REQUIRE(stack->networks.subnets.size() == 1);
  CHECK(stack->networks.subnets[0].zone == "eu-west-1a");
  CHECK(output_of(*stack, "Other") == "none");
  CHECK(output_of(*stack, "Subnets") == stack->networks.subnets[0].id);
  CHECK(
      refusal_of(guide, {{"Zones", "1"}, {"Fabric", "false"}}) ==
      "Template format error: Output Fabric is malformed. The Value field of every Outputs member "
      "must evaluate to a String of at most 4096 bytes.");
}

TEST_CASE("stacks: the store keeps what was created") {
  const Stack stack = *stack_made(guide);
  const Result<Stack> kept = stack_from(to_json(stack));
  REQUIRE(kept);
  CHECK(to_json(*kept) == to_json(stack));
  CHECK(!stack_from(Json::array()));
  CHECK(!stack_from(Json{{"Description", 1}}));
}

TEST_CASE("stacks: functions and what they give") {
  const struct {
    const char* written;
    const char* want;
  } cases[] = {
      {R"("text")", "text"},
      {"17", "17"},
      {"true", "true"},
      {R"({"Ref": "Name"})", "n"},
      {R"({"Ref": "Vpc"})", "vpc-1"},
      {R"({"Ref": "AWS::Region"})", "eu-west-1"},
      {R"({"Fn::GetAtt": ["Vpc", "DefaultSecurityGroup"]})", "sg-2"},
      {R"({"Fn::GetAtt": "Vpc.CidrBlock"})", "10.0.0.0/16"},
      {R"({"Fn::Join": ["-", ["a", 1, {"Ref": "Name"}]]})", "a-1-n"},
      {R"({"Fn::Join": ["/", {"Ref": "Some"}]})", "a/b/c"},
      {R"({"Fn::Select": ["1", {"Ref": "Some"}]})", "b"},
      {R"({"Fn::Select": [2, {"Fn::GetAZs": {"Ref": "AWS::Region"}}]})", "eu-west-1c"},
      {R"({"Fn::Sub": "a ${Name} ${Vpc.CidrBlock} ${!Literal} ${AWS::AccountId}"})",
       "a n 10.0.0.0/16 ${Literal} 000000000000"},
      {R"({"Fn::Sub": ["${x}-${Name}", {"x": {"Ref": "Vpc"}}]})", "vpc-1-n"},
      {R"({"Fn::Sub": "open ${Name"})", "open ${Name"},
      {R"({"Fn::Select": [1, {"Fn::Split": ["--", "a--b--c"]}]})", "b"},
      {R"({"Fn::FindInMap": ["Zone", {"Ref": "AWS::Region"}, "Size"]})", "5"},
      {R"({"Fn::Base64": "abc"})", "YWJj"},
      {R"({"Fn::Select": [3, {"Fn::Cidr": ["10.0.0.0/16", 4, 6]}]})", "10.0.0.192/26"},
      // What they refuse.
      {R"({"Fn::Select": [3, {"Ref": "Some"}]})",
       "Template error: Fn::Select cannot select nonexistent value at index 3"},
      {R"({"Fn::Select": ["x", {"Ref": "Some"}]})",
       "Template error: every Fn::Select object requires two non-empty parameters, an integer "
       "index "
       "and a list"},
      {R"({"Fn::Join": ["-"]})",
       "Template error: every Fn::Join object requires a list of 2 parameters"},
      {R"({"Fn::FindInMap": ["Zone", "x", "Size"]})",
       "Template error: Unable to get mapping for \"Zone\"::\"x\"::\"Size\""},
      {R"({"Fn::ImportValue": "x"})",
       "Template error: Fn::ImportValue is not supported: pass the value as a parameter"},
      {R"({"Fn::Transform": {}})",
       "Template error: Encountered unsupported function: Fn::Transform"},
      {R"({"Fn::GetAZs": "us-east-1"})",
       "Template error: Fn::GetAZs: this server is in eu-west-1 alone"},
      {R"({"Fn::Cidr": ["10.0.0.0/24", 4, 7]})",
       "Template error: Fn::Cidr: 10.0.0.0/24 has no 4 blocks of 7 bits"},
      {R"({"Fn::GetAtt": ["Vpc", "Arn"]})",
       "Template error: resource Vpc does not support attribute type Arn in Fn::GetAtt"},
      {R"({"Fn::GetAtt": ["Gone", "Arn"]})",
       "Template format error: Unresolved resource dependencies [Gone] in the Outputs block of the "
       "template"},
      {R"({"Fn::Sub": "${Gone}"})",
       "Template format error: Unresolved resource dependencies [Gone] in the Outputs block of the "
       "template"},
      {R"({"Fn::If": ["Gone", "a", "b"]})",
       "Template format error: Unresolved condition dependency Gone in the Outputs block of the "
       "template"},
      {R"(["a"])",
       "Template format error: Output O is malformed. The Value field of every Outputs member must "
       "evaluate to a String of at most 4096 bytes."},
  };
  for (const auto& c : cases) {
    CAPTURE(c.written);
    CHECK(value_of(c.written) == c.want);
  }
}

TEST_CASE("stacks: conditions are decided") {
  const struct {
    const char* condition;
    const char* want;
  } cases[] = {
      {R"({"Fn::Equals": [{"Ref": "Name"}, "n"]})", "yes"},
      {R"({"Fn::Equals": [1, "1"]})", "yes"},
      {R"({"Fn::Not": [{"Fn::Equals": ["a", "b"]}]})", "yes"},
      {R"({"Fn::And": [{"Fn::Equals": ["a", "a"]}, {"Fn::Equals": ["a", "b"]}]})", "no"},
      {R"({"Fn::Or": [{"Fn::Equals": ["a", "a"]}, {"Fn::Equals": ["a", "b"]}]})", "yes"},
      {R"({"Condition": "Base"})", "no"},
      {R"({"Condition": "C"})", "Template error: Circular dependency of conditions: [C]"},
      {R"({"Fn::Or": [{"Condition": "Base"}]})",
       "Template error: every Fn::Or object requires a list of at least 2 and at most 10 boolean "
       "parameters"},
      {R"({"Fn::Equals": [{"Ref": "Vpc"}, "n"]})",
       "Template error: Unresolved dependencies [Vpc]. Cannot reference resources in the "
       "Conditions "
       "block of the template"},
      {R"({"Condition": "Gone"})",
       "Template format error: Unresolved condition dependency Gone in the Conditions block of the "
       "template"},
      {R"({"Ref": "Name"})",
       "Template error: Conditions can only be boolean operations on parameters and other "
       "conditions, got Ref"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.condition);
    CHECK(value_of(R"({"Fn::If": ["C", "yes", "no"]})",
                   R"("Conditions": {"Base": {"Fn::Equals": ["a", "b"]}, "C": )" +
                       std::string(c.condition) + "},") == c.want);
  }
}

std::string with_resources(const std::string& resources) {
  return R"({"Resources": {"Vpc": {"Type": "AWS::EC2::VPC", "Properties":
    {"CidrBlock": "10.0.0.0/16"}}, )" +
         resources + "}}";
}

TEST_CASE("stacks: bad templates, each with CloudFormation's word") {
  const std::string group = R"("G": {"Type": "AWS::EC2::SecurityGroup", "Properties":
      {"GroupDescription": "g", "VpcId": {"Ref": "Vpc"}}}, )";
  const auto rule = [&](const std::string& properties) {
    return with_resources(group + R"("R": {"Type": "AWS::EC2::SecurityGroupIngress", "Properties":
      {"GroupId": {"Ref": "G"}, )" +
                          properties + "}}");
  };
  const auto subnet = [&](const std::string& properties) {
    return with_resources(R"("S": {"Type": "AWS::EC2::Subnet", "Properties": )" + properties + "}");
  };
  const struct {
    const char* name;
    std::string text;
    const char* want;
  } cases[] = {
      {"empty", " ", "Template format error: unsupported structure."},
      {"a list", "[]", "Template format error: unsupported structure."},
      {"JSON cut short", R"({"Resources": )",
       "Template format error: JSON not well-formed. (line 1, column 15)"},
      {"bad YAML", "Resources: [a", "Template format error: YAML not well-formed. (line 2"},
      {"no resources", "{}", "Template format error: At least one Resources member must be"},
      {"an unknown section", R"({"Resource": {}})",
       "Invalid template property or properties [Resource]"},
      {"a transform", R"({"Transform": "x", "Resources": {}})",
       "Template format error: Transform: not supported"},
      {"another version", R"({"AWSTemplateFormatVersion": "2011-01-01", "Resources": {}})",
       "Template format error: \"2011-01-01\" is not a supported value for"},
      {"null",
       R"({"Resources": {"A": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": null}}}})",
       "Template format error: [/Resources/A/Properties/CidrBlock] 'null' values are not allowed"},
      {"unknown types", with_resources(R"("A": {"Type": "AWS::S3::Bucket"},
          "B": {"Type": "AWS::EC2::NatGateway"})"),
       "Template format error: Unrecognized resource types: [AWS::EC2::NatGateway, "
       "AWS::S3::Bucket]"},
      {"no type", with_resources(R"("A": {})"),
       "Template format error: [/Resources/A] Every Resources object must contain a Type member."},
      {"a name", with_resources(R"("A-b": {"Type": "AWS::EC2::VPC"})"),
       "Template format error: Resources name 'A-b' is non alphanumeric."},
      {"a word", with_resources(R"("A": {"Type": "AWS::EC2::VPC", "Foo": 1})"),
       "Invalid template resource property 'Foo'"},
      {"an unknown property", subnet(R"({"VpcId": "v", "CidrBlock": "c", "Ipv6Native": true})"),
       "Resource S: Encountered unsupported property Ipv6Native"},
      {"a missing property", subnet(R"({"CidrBlock": "10.0.0.0/24"})"),
       "Resource S: Property VpcId cannot be empty."},
      {"no such name", subnet(R"({"VpcId": {"Ref": "Net"}, "CidrBlock": "10.0.0.0/24"})"),
       "Template format error: Unresolved resource dependencies [Net] in the Resources block"},
      {"after nothing", with_resources(R"("A": {"Type": "AWS::EC2::InternetGateway",
          "DependsOn": "B"})"),
       "Template format error: Unresolved resource dependencies [B] in the Resources block"},
      {"a ring", with_resources(R"("A": {"Type": "AWS::EC2::InternetGateway", "DependsOn": "B"},
          "B": {"Type": "AWS::EC2::InternetGateway", "DependsOn": ["A"]},
          "C": {"Type": "AWS::EC2::InternetGateway", "DependsOn": ["A"]})"),
       "Circular dependency between resources: [A, B]"},
      {"no block", subnet(R"({"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.0.0.0"})"),
       "Subnets[S].CidrBlock: expected a CIDR block such as"},
      {"outside the VPC", subnet(R"({"VpcId": {"Ref": "Vpc"}, "CidrBlock": "10.1.0.0/24"})"),
       "Subnets[S].CidrBlock: expected a CIDR block within 10.0.0.0/16, the range of Vpc, got "
       "10.1.0.0/24"},
      {"a VPC that is not there", subnet(R"({"VpcId": "vpc-9", "CidrBlock": "10.0.0.0/24"})"),
       "Subnets[S].VpcId: expected an existing VPC, got \"vpc-9\""},
      {"a port",
       rule(R"("IpProtocol": "tcp", "FromPort": 0, "ToPort": 65536, "CidrIp": "0.0.0.0/0")"),
       "Resource R: ToPort must be -1 to 65535"},
      {"ports", rule(R"("IpProtocol": "tcp", "FromPort": 2, "ToPort": 1, "CidrIp": "0.0.0.0/0")"),
       "SecurityGroups[G].IpPermissions.ToPort: expected a port >= FromPort"},
      {"a protocol", rule(R"("IpProtocol": "gre", "CidrIp": "0.0.0.0/0")"),
       "SecurityGroups[G].IpPermissions.IpProtocol: expected tcp, udp"},
      {"no other end", rule(R"("IpProtocol": "-1")"),
       "Resource R: a rule must have exactly one of CidrIp, CidrIpv6 and SourceSecurityGroupId"},
      {"a group elsewhere", with_resources(R"("R": {"Type": "AWS::EC2::SecurityGroupIngress",
          "Properties": {"GroupId": "sg-9", "IpProtocol": "-1", "CidrIp": "0.0.0.0/0"}})"),
       "Resource R: GroupId: sg-9 is not a security group of this template"},
      {"an endpoint", with_resources(R"("E": {"Type": "AWS::EC2::VPCEndpoint", "Properties":
          {"VpcId": {"Ref": "Vpc"}, "ServiceName": "com.amazonaws.eu-west-1.sts"}})"),
       "Resource E: ServiceName: muster supports endpoints only for S3"},
      {"large", "{" + std::string(template_bytes_max, ' ') + "}",
       "1 validation error detected: Value at 'templateBody' failed to satisfy constraint"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const std::string got = refusal_of(c.text);
    CHECK_MESSAGE(got.starts_with(c.want), got);
  }
}

TEST_CASE("stacks: parameters are what the template allows") {
  const auto text = [](const std::string& parameter) {
    return R"({"Parameters": {"P": )" + parameter +
           R"(}, "Resources": {"A": {"Type": "AWS::EC2::InternetGateway"}}})";
  };
  const struct {
    const char* parameter;
    Parameters given;
    const char* want;
  } cases[] = {
      {R"({"Type": "String"})", {{"P", "x"}}, "none"},
      {R"({"Type": "String"})", {}, "Parameters: [P] must have values"},
      {R"({"Type": "String", "Default": "d"})",
       {{"Q", "x"}},
       "Parameters: [Q] do not exist in the template"},
      {R"({"Type": "String", "AllowedValues": ["a"]})",
       {{"P", "b"}},
       "Parameter 'P' must be one of AllowedValues"},
      {R"({"Type": "String", "AllowedPattern": "[a-z]+"})",
       {{"P", "a1"}},
       "Parameter P failed to satisfy constraint: must match pattern [a-z]+"},
      {R"({"Type": "String", "AllowedPattern": "("})",
       {{"P", "a1"}},
       "Template format error: AllowedPattern of parameter P cannot be read: missing ): ("},
      {R"({"Type": "String", "MinLength": 2, "ConstraintDescription": "two letters"})",
       {{"P", "a"}},
       "Parameter P failed to satisfy constraint: two letters"},
      {R"({"Type": "Number", "MaxValue": 3})",
       {{"P", "4"}},
       "Parameter P failed to satisfy constraint: must have MaxValue 3"},
      {R"({"Type": "Number"})", {{"P", "x"}}, "Parameter 'P' must be a number."},
      {R"({"Type": "List<Number>", "Default": "1, 2"})", {}, "none"},
      {R"({"Type": "List<AWS::EC2::Subnet::Id>", "Default": "a,b"})", {}, "none"},
      {R"({"Type": "AWS::SSM::Parameter::Value<String>", "Default": "a"})",
       {},
       "Template format error: Unrecognized parameter type: AWS::SSM::Parameter::Value<String> of "
       "P"},
      {R"({"Default": "a"})",
       {},
       "Template format error: Every Parameters object must contain a Type member."},
      {R"({"Type": "String", "Foo": "a"})", {}, "Invalid template parameter property 'Foo'"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.parameter);
    CHECK(refusal_of(text(c.parameter), c.given) == c.want);
  }
  const Stack stack = *stack_made(text(R"({"Type": "String", "NoEcho": true})"), {{"P", "secret"}});
  CHECK(stack.parameters[0].second == "****");
}

TEST_CASE("stacks: a subnet may be in an existing VPC already") {
  const vpc::Networks known{.vpcs = {{"vpc-old", "10.9.0.0/16"}}, .subnets = {}, .groups = {}};
  const Result<Stack, aws::Refusal> stack =
      stack_made(R"({"Parameters": {"V": {"Type": "AWS::EC2::VPC::Id"}}, "Resources": {"S": {
          "Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "V"},
          "CidrBlock": "10.9.1.0/24"}}}})",
                 {{"V", "vpc-old"}}, known);
  REQUIRE_MESSAGE(stack, stack.error().message);
  CHECK(stack->networks.vpcs.empty());
  CHECK(stack->networks.subnets[0].vpc == "vpc-old");
}

TEST_CASE("stacks: a small template cannot make large values") {
  const std::string commas(20'000, ',');
  CHECK(value_of(R"({"Fn::Join": [")" + commas + R"(", {"Fn::Split": [",", ")" + commas +
                 R"("]}]})") ==
        "Template error: the values of its functions are larger than 4 MiB in total");
}

}  // namespace
}  // namespace muster::cloudformation
