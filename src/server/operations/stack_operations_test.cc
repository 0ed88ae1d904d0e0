#include "server/operations/stack_operations.h"

#include "server/operations/stacks_testing.h"

namespace muster::server {
namespace {

TEST_CASE("stacks: one is created, described, and deleted") {
  StackWorld world;
  const std::string arn = world.create("net").at("StackId");
  CHECK(arn.starts_with("arn:aws:cloudformation:us-east-1:000000000000:stack/net/"));
  const Json stack = world.ask("DescribeStacks", {{"StackName", "net"}}).at("Stacks")[0];
  CHECK(stack.at("StackStatus") == "CREATE_COMPLETE");
  CHECK(stack.at("Parameters")[0].at("ParameterValue") == "****");
  CHECK(stack.at("CreationTime") == 1000.0);
  CHECK(world.ask("DescribeStackResources", {{"StackName", arn}}).at("StackResources").size() == 3);
  const Json events = world.ask("DescribeStackEvents", {{"StackName", "net"}}).at("StackEvents");
  CHECK(events.front().at("ResourceStatus") == "CREATE_COMPLETE");
  CHECK(events.back().at("ResourceStatus") == "CREATE_IN_PROGRESS");
  CHECK(world.ask("GetTemplate", {{"StackName", "net"}}).at("TemplateBody") == net_template);
  CHECK(world.stacks.networks().subnets.size() == 2);
  CHECK(world.ask("DeleteStack", {{"StackName", "net"}}).empty());
  CHECK(world.stacks.networks() == world.of_config);
  CHECK(world.ask("DescribeStacks", {{"StackName", "net"}}).at("message") ==
        "Stack with id net does not exist");
  CHECK(world.ask("DescribeStacks", {{"StackName", arn}}).at("Stacks")[0].at("StackStatus") ==
        "DELETE_COMPLETE");
  CHECK(world.ask("DeleteStack", {{"StackName", "net"}}).empty());
  CHECK(world.ask("ListStacks", {{"StackStatusFilter", {"CREATE_COMPLETE"}}})
            .at("StackSummaries")
            .empty());
  CHECK(world.ask("ListStacks", Json::object()).at("StackSummaries").size() == 1);
}

TEST_CASE("stacks: templates and resources are described") {
  StackWorld world;
  world.create("net");
  const Json listed =
      world.ask("ListStackResources", {{"StackName", "net"}}).at("StackResourceSummaries");
  REQUIRE(listed.size() == 3);
  CHECK(listed[0].at("LastUpdatedTimestamp") == 1000.0);
  CHECK(!listed[0].contains("StackName"));
  const Json summary = world.ask("GetTemplateSummary", {{"StackName", "net"}});
  CHECK(summary == world.ask("GetTemplateSummary", {{"TemplateBody", net_template}}));
  CHECK(summary.at("ResourceTypes") == Json{"AWS::EC2::Subnet", "AWS::EC2::VPC"});
  CHECK(summary.at("Parameters") ==
        Json::array({{{"ParameterKey", "Word"},
                      {"ParameterType", "String"},
                      {"DefaultValue", "hush"},
                      {"NoEcho", true},
                      {"ParameterConstraints", {{"AllowedValues", Json::array()}}}}}));
  const Json valid = world.ask("ValidateTemplate", {{"TemplateBody", net_template}});
  CHECK(valid.at("Description") == "d");
  CHECK(valid.at("Parameters")[0].at("DefaultValue") == "hush");
  const struct {
    const char* operation;
    Json input;
    const char* message;
  } bad[] = {
      {"ValidateTemplate", {{"TemplateBody", "{"}}, "Template format error: JSON not well-formed."},
      {"ValidateTemplate", {{"TemplateURL", "https://s3/x"}}, "TemplateURL is not supported"},
      {"GetTemplateSummary", Json::object(), "Either Template URL or Template Body must"},
      {"GetTemplateSummary", {{"StackName", "net"}, {"TemplateBody", net_template}}, "Only one of"},
      {"GetTemplateSummary", {{"StackName", "no"}}, "Stack with id no does not exist"},
      {"GetTemplateSummary", {{"StackSetName", "s"}}, "StackSetName is not supported"},
      {"ListStackResources", {{"StackName", "no"}}, "Stack with id no does not exist"},
  };
  for (const auto& c : bad) {
    CAPTURE(c.message);
    CHECK(world.ask(c.operation, c.input).at("message").get<std::string>().starts_with(c.message));
  }
}

TEST_CASE("stacks: another server over the store finds them") {
  StackWorld world;
  world.create("net");
  const vpc::Networks before = world.stacks.networks();
  Stacks other(world.store, {api::Realm{}, [] { return UnixMillis(0); }, world.of_config});
  CHECK(other.start()->empty());
  CHECK(other.networks() == before);
  CHECK(other.tags() == world.stacks.tags());
}

TEST_CASE("stacks: a name is used once, and a repeated call creates no second stack") {
  StackWorld world;
  const Json input{{"StackName", "net"}, {"TemplateBody", net_template}};
  const Json first = world.ask("CreateStack", input, "call-1");
  CHECK(world.ask("CreateStack", input, "call-1") == first);
  CHECK(world.ask("CreateStack", input, "call-2").at("code") == "AlreadyExistsException");
  CHECK(world.create("net").at("code") == "AlreadyExistsException");
}

TEST_CASE("stacks: a refused creation leaves nothing") {
  StackWorld world;
  const struct {
    const char* name;
    Json change;
    const char* message;
  } cases[] = {
      {"a name", {{"StackName", "1net"}}, "1 validation error detected: Value '1net' at"},
      {"a URL", {{"TemplateURL", "https://s3/x"}}, "TemplateURL is not supported"},
      {"no template", {{"TemplateBody", nullptr}}, "Either Template URL or Template Body must"},
      {"a bad one", {{"TemplateBody", "{"}}, "Template format error: JSON not well-formed. (line"},
      {"a lock",
       {{"EnableTerminationProtection", true}},
       "EnableTerminationProtection is not supported"},
      {"a parameter",
       {{"Parameters", {{{"ParameterKey", "No"}, {"ParameterValue", "1"}}}}},
       "Parameters: [No] do not exist in the template"},
      {"an earlier value",
       {{"Parameters", {{{"ParameterKey", "Word"}, {"UsePreviousValue", true}}}}},
       "Invalid input for parameter key Word"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    Json input{{"StackName", "net"}, {"TemplateBody", net_template}};
    input.merge_patch(c.change);
    const Json answer = world.ask("CreateStack", input);
    CHECK(answer.value("code", "") == "ValidationError");
    const std::string message = answer.value("message", "");
    CHECK_MESSAGE(message.starts_with(c.message), message);
  }
  CHECK(world.ask("ListStacks", Json::object()).at("StackSummaries").empty());
  CHECK(world.stacks.networks() == world.of_config);
  CHECK(world.ask("DescribeStackEvents", {{"StackName", "net"}}).at("code") == "ValidationError");
  CHECK(world.ask("DescribeStackResources", Json::object()).at("code") == "ValidationError");
  CHECK(world.ask("ListExports", Json::object()).at("code") == "InvalidAction");
}

TEST_CASE("stacks: a stack that a job or another stack uses cannot be deleted") {
  StackWorld world;
  world.create("net");
  const std::string subnet = world.output("net", 0);
  world.create("more", R"({"Resources": {"S": {"Type": "AWS::EC2::Subnet", "Properties": {
      "VpcId": ")" + world.output("net", 1) +
                           R"(", "CidrBlock": "10.0.2.0/24"}}}})");
  CHECK(world.ask("DeleteStack", {{"StackName", "net"}}).at("message") ==
        "Stack [net] cannot be deleted while stack more is in its " + world.output("net", 1));
  CHECK(world.ask("DeleteStack", {{"StackName", "more"}}).empty());
  const Json request{{"VpcConfig", {{"Subnets", {subnet}}, {"SecurityGroupIds", {"sg-1"}}}}};
  REQUIRE(world.store.submit({.name = "j",
                              .arn = "arn:j",
                              .request = to_text(request),
                              .tags = {},
                              .now = world.now,
                              .invocation = {}}));
  CHECK(world.ask("DeleteStack", {{"StackName", "net"}}).at("message") ==
        "Stack [net] cannot be deleted while training job j is in its " + subnet);
  REQUIRE(world.store.finish("j", {.change = {store::Status::stopped, "Stopped", "", world.now}}));
  CHECK(world.ask("DeleteStack", {{"StackName", "net"}}).empty());
}

TEST_CASE("ec2: resources by ids, filters and pages") {
  StackWorld world;
  world.create("net");
  const std::string one = world.output("net", 0);
  const std::string vpc = world.output("net", 1);
  CHECK(world.ec2("DescribeVpcs", Json::object()).at("Vpcs").size() == 2);
  const Json subnet = world.ec2("DescribeSubnets", {{"SubnetIds", {one}}}).at("Subnets").at(0);
  CHECK(subnet.at("VpcId") == vpc);
  CHECK(subnet.at("AvailableIpAddressCount") == 251);
  CHECK(subnet.at("Tags").size() == 3);
  CHECK(world.ec2("DescribeSubnets", {{"SubnetIds", {one, "subnet-9"}}}).at("message") ==
        "The subnet ID 'subnet-9' does not exist");
  CHECK(world.ec2("DescribeVpcs", {{"VpcIds", {"vpc-9"}}}).at("code") == "InvalidVpcID.NotFound");
  CHECK(world.ec2("DescribeSecurityGroups", {{"GroupIds", {"sg-9"}}}).at("code") ==
        "InvalidGroup.NotFound");
  CHECK(world.ec2("DescribeSecurityGroups", {{"GroupNames", {"none"}}}).at("code") ==
        "InvalidGroup.NotFound");
  const Json groups = world.ec2("DescribeSecurityGroups", {{"GroupNames", {"default"}}});
  CHECK(groups.at("SecurityGroups")[0].at("IpPermissions")[0].at("IpProtocol") == "-1");
  const struct {
    const char* operation;
    const char* list;
    const char* filter;
    const char* value;
    std::size_t count;
  } cases[] = {
      {"DescribeSubnets", "Subnets", "vpc-id", "vpc-*", 2},
      {"DescribeSubnets", "Subnets", "cidr-block", "10.0.?.0/24", 2},
      {"DescribeSubnets", "Subnets", "cidr-block", "10.0.1.0/24", 1},
      {"DescribeSubnets", "Subnets", "availability-zone", "us-east-1a", 1},
      {"DescribeVpcs", "Vpcs", "tag:Name", "lab", 1},
      {"DescribeVpcs", "Vpcs", "tag:aws:cloudformation:stack-name", "net", 1},
      {"DescribeVpcs", "Vpcs", "tag-key", "Name", 1},
      {"DescribeVpcs", "Vpcs", "is-default", "false", 2},
      {"DescribeSecurityGroups", "SecurityGroups", "group-name", "other", 0},
  };
  for (const auto& c : cases) {
    CAPTURE(c.filter);
    const Json filter{{"Name", c.filter}, {"Values", {c.value}}};
    CHECK(world.ec2(c.operation, {{"Filters", Json::array({filter})}}).at(c.list).size() ==
          c.count);
  }
  const Json filter{{"Name", "moon"}, {"Values", {"full"}}};
  CHECK(world.ec2("DescribeVpcs", {{"Filters", Json::array({filter})}}).at("code") ==
        "InvalidParameterValue");
  const Json page = world.ec2("DescribeSubnets", {{"MaxResults", 1}});
  CHECK(page.at("Subnets").size() == 1);
  const Json next =
      world.ec2("DescribeSubnets", {{"MaxResults", 1}, {"NextToken", page.at("NextToken")}});
  CHECK(next.at("Subnets").size() == 1);
  CHECK(next.at("Subnets")[0] != page.at("Subnets")[0]);
  CHECK(!next.contains("NextToken"));
  CHECK(world.ec2("DescribeSubnets", {{"NextToken", "x"}}).at("code") == "InvalidNextToken");
}

}  // namespace
}  // namespace muster::server
