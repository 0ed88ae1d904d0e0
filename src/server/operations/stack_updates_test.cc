#include <map>

#include "server/operations/stacks_testing.h"

namespace muster::server {
namespace {

constexpr const char* group_template = R"({
  "Parameters": {"Port": {"Type": "Number", "Default": 22},
                 "Block": {"Type": "String", "Default": "10.0.0.0/24"}},
  "Resources": {
    "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16"}},
    "One": {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"},
      "CidrBlock": {"Ref": "Block"}}},
    "Group": {"Type": "AWS::EC2::SecurityGroup", "Properties": {"VpcId": {"Ref": "Vpc"},
      "GroupDescription": "g", "SecurityGroupIngress": [{"IpProtocol": "tcp",
        "FromPort": {"Ref": "Port"}, "ToPort": {"Ref": "Port"}, "CidrIp": "0.0.0.0/0"}]}}}})";

Json parameter(const char* key, const char* value) {
  return Json::array({{{"ParameterKey", key}, {"ParameterValue", value}}});
}

/// The guide's way: a stack "net" of `group_template`.
struct UpdatedWorld : StackWorld {
  UpdatedWorld() { REQUIRE(create("net", group_template).contains("StackId")); }

  /// Logical names to physical ones.
  std::map<std::string, std::string> ids() {
    std::map<std::string, std::string> ids;
    const Json told = ask("ListStackResources", {{"StackName", "net"}});
    for (const Json& each : told.at("StackResourceSummaries"))
      ids[each.at("LogicalResourceId")] = each.at("PhysicalResourceId");
    return ids;
  }
  std::string status() {
    return ask("DescribeStacks", {{"StackName", "net"}}).at("Stacks")[0].at("StackStatus");
  }
  int port() {
    const vpc::SecurityGroup* group = vpc::group_of(stacks.networks(), ids().at("Group"));
    return group == nullptr ? -1 : group->ingress.at(0).from_port;
  }
  Json update(const Json& change) {
    Json input{{"StackName", "net"}, {"TemplateBody", group_template}};
    input.merge_patch(change);
    return ask("UpdateStack", input);
  }
  /// A change set "one" and its description.
  Json change_set(const Json& change) {
    Json input{{"StackName", "net"}, {"ChangeSetName", "one"}, {"TemplateBody", group_template}};
    input.merge_patch(change);
    Json made = ask("CreateChangeSet", input);
    if (made.contains("code")) return made;
    return ask("DescribeChangeSet", {{"ChangeSetName", made.at("Id")}});
  }
  Json execute() {
    return ask("ExecuteChangeSet", {{"StackName", "net"}, {"ChangeSetName", "one"}});
  }
  void submit(const std::string& job, const std::string& subnet) {
    const Json request{{"VpcConfig", {{"Subnets", {subnet}}, {"SecurityGroupIds", {"sg-1"}}}}};
    REQUIRE(store.submit({.name = job,
                          .arn = "arn:" + job,
                          .request = to_text(request),
                          .tags = {},
                          .now = now,
                          .invocation = {}}));
  }
};

TEST_CASE("stacks: a change set says what it changes, and changes it when it is executed") {
  UpdatedWorld world;
  const auto before = world.ids();
  const Json told = world.change_set({{"Parameters", parameter("Port", "2222")}});
  CHECK(told.at("Status") == "CREATE_COMPLETE");
  CHECK(told.at("ExecutionStatus") == "AVAILABLE");
  REQUIRE(told.at("Changes").size() == 1);
  CHECK(told.at("Changes")[0].at("ResourceChange") ==
        Json{{"Action", "Modify"},
             {"LogicalResourceId", "Group"},
             {"PhysicalResourceId", before.at("Group")},
             {"ResourceType", "AWS::EC2::SecurityGroup"},
             {"Replacement", "False"},
             {"Scope", {"Properties"}},
             {"Details", Json::array()}});
  CHECK(world.port() == 22);
  world.now += std::chrono::seconds(5);
  CHECK(world.execute() == Json::object());
  CHECK(world.port() == 2222);
  CHECK(world.ids() == before);
  CHECK(world.status() == "UPDATE_COMPLETE");
  CHECK(world.ask("DescribeStacks", {{"StackName", "net"}}).at("Stacks")[0].at("LastUpdatedTime") ==
        1005.0);
  CHECK(world.ask("DescribeStackEvents", {{"StackName", "net"}})
            .at("StackEvents")[0]
            .at("ResourceStatus") == "UPDATE_COMPLETE");
  CHECK(world.execute().at("code") == "InvalidChangeSetStatus");
  // The CLI names change sets by the second: an executed one makes room, one that waits does not.
  CHECK(world.change_set({{"Parameters", parameter("Port", "23")}}).at("Status") ==
        "CREATE_COMPLETE");
  CHECK(world.change_set({{"Parameters", parameter("Port", "24")}}).at("code") ==
        "AlreadyExistsException");
}

TEST_CASE("stacks: a change set of a new name makes the stack in two steps") {
  StackWorld world;
  const Json input{{"StackName", "new"},
                   {"ChangeSetName", "one"},
                   {"ChangeSetType", "CREATE"},
                   {"TemplateBody", group_template}};
  const Json made = world.ask("CreateChangeSet", input, "call-1");
  CHECK(world.ask("CreateChangeSet", input, "call-1") == made);
  CHECK(world.ask("CreateChangeSet", input, "call-2").at("code") == "AlreadyExistsException");
  const auto status = [&] {
    return world.ask("DescribeStacks", {{"StackName", "new"}}).at("Stacks")[0].at("StackStatus");
  };
  CHECK(status() == "REVIEW_IN_PROGRESS");
  CHECK(world.stacks.networks() == world.of_config);
  CHECK(world.ask("UpdateStack", {{"StackName", "new"}, {"UsePreviousTemplate", true}})
            .at("message")
            .get<std::string>()
            .ends_with("is in REVIEW_IN_PROGRESS state and can not be updated."));
  const Json execution{{"ChangeSetName", made.at("Id")}};
  CHECK(world.ask("ExecuteChangeSet", execution, "call-3") == Json::object());
  CHECK(world.ask("ExecuteChangeSet", execution, "call-3") == Json::object());
  CHECK(status() == "CREATE_COMPLETE");
  CHECK(world.stacks.networks().subnets.size() == 1);
  CHECK(world.ask("CreateChangeSet", input)
            .at("message")
            .get<std::string>()
            .starts_with("Stack [new] already exists and cannot be created again"));
}

TEST_CASE("stacks: one that changes nothing fails in the words that clients look for") {
  UpdatedWorld world;
  const Json told = world.change_set(Json::object());
  CHECK(told.at("Status") == "FAILED");
  CHECK(told.at("ExecutionStatus") == "UNAVAILABLE");
  CHECK(told.at("StatusReason") ==
        "The submitted information didn't contain changes. Submit different information to create "
        "a change set.");
  CHECK(world.execute().at("code") == "InvalidChangeSetStatus");
  CHECK(world.update(Json::object()).at("message") == "No updates are to be performed.");
  const Json tags{{"Tags", Json::array({{{"Key", "team"}, {"Value", "v"}}})}};
  CHECK(world.update(tags).contains("StackId"));
  CHECK(world.update(Json::object()).at("message") ==
        "No updates are to be performed.");  // Tags stay.
}

TEST_CASE("stacks: an update keeps what may stay, and replaces or deletes the rest") {
  UpdatedWorld world;
  const auto before = world.ids();
  const Json moved{{"Parameters", parameter("Block", "10.0.9.0/24")}};
  CHECK(world.change_set(moved).at("Changes")[0].at("ResourceChange").at("Replacement") == "True");
  CHECK(world.update(moved).contains("StackId"));
  auto after = world.ids();
  CHECK(after.at("One") != before.at("One"));
  CHECK(after.at("Vpc") == before.at("Vpc"));
  CHECK(vpc::subnet_of(world.stacks.networks(), before.at("One")) == nullptr);
  CHECK(world.execute().at("code") == "ChangeSetNotFound");  // One of the stack before.
  Json less = *parse_json(group_template);
  less["Resources"].erase("Group");
  const Json previous = Json::array({{{"ParameterKey", "Block"}, {"UsePreviousValue", true}}});
  CHECK(world.update({{"TemplateBody", to_text(less)}, {"Parameters", previous}})
            .contains("StackId"));
  after.erase("Group");
  CHECK(world.ids() == after);
  CHECK(world.stacks.networks().groups.size() == 1);  // The VPC's own.
}

TEST_CASE("stacks: an update that would take what is in use fails when it is made, and names it") {
  UpdatedWorld world;
  const auto ids = world.ids();
  world.submit("j", ids.at("One"));
  const Json moved{{"Parameters", parameter("Block", "10.0.9.0/24")}};
  const std::string refusal = "Resource One (" + ids.at("One") +
                              ") cannot be replaced or deleted while training job j is in its " +
                              ids.at("One");
  const Json told = world.change_set(moved);
  CHECK(told.at("Status") == "FAILED");
  CHECK(told.at("StatusReason") == refusal);
  CHECK(world.update(moved).at("message") == refusal);
  CHECK(world.ids() == ids);
  CHECK(world.update({{"Parameters", parameter("Port", "80")}}).contains("StackId"));
  CHECK(world.port() == 80);
  REQUIRE(world.store.finish("j", {.change = {store::Status::stopped, "Stopped", "", world.now}}));
  world.create("more", R"({"Resources": {"S": {"Type": "AWS::EC2::Subnet", "Properties": {
      "VpcId": ")" + ids.at("Vpc") +
                           R"(", "CidrBlock": "10.0.2.0/24"}}}})");
  Json other = *parse_json(group_template);
  other["Resources"]["Vpc"]["Properties"]["CidrBlock"] = "10.0.0.0/17";
  CHECK(world.update({{"TemplateBody", to_text(other)}}).at("message") ==
        "Resource Vpc (" + ids.at("Vpc") +
            ") cannot be replaced or deleted while stack more is in its " + ids.at("Vpc"));
}

TEST_CASE("stacks: resources in use since a change set was made stop its execution") {
  UpdatedWorld world;
  REQUIRE(world.change_set({{"Parameters", parameter("Block", "10.0.9.0/24")}}).at("Status") ==
          "CREATE_COMPLETE");
  world.submit("j", world.ids().at("One"));
  CHECK(world.execute().at("code") == "InvalidChangeSetStatus");
  CHECK(world.status() == "CREATE_COMPLETE");
}

TEST_CASE("stacks: updates and change sets that are refused") {
  UpdatedWorld world;
  Json typed = *parse_json(group_template);
  typed["Resources"]["One"] = {{"Type", "AWS::EC2::RouteTable"},
                               {"Properties", {{"VpcId", {{"Ref", "Vpc"}}}}}};
  const struct {
    const char* operation;
    Json input;
    const char* message;
  } cases[] = {
      {"UpdateStack", {{"StackName", "no"}}, "Stack [no] does not exist"},
      {"UpdateStack", {{"StackName", "net"}}, "Either Template URL or Template Body must"},
      {"UpdateStack",
       {{"StackName", "net"}, {"TemplateBody", to_text(typed)}},
       "Update of resource type is not permitted. The new template modifies resource type of the "
       "following resources: [One]"},
      {"CreateChangeSet", {{"StackName", "no"}, {"ChangeSetName", "c"}}, "Stack [no] does not"},
      {"CreateChangeSet",
       {{"StackName", "net"}, {"ChangeSetName", "c"}, {"ChangeSetType", "IMPORT"}},
       "ChangeSetType: muster cannot import"},
      {"DescribeChangeSet", {{"ChangeSetName", "c"}}, "StackName must be specified if"},
      {"DescribeChangeSet",
       {{"ChangeSetName", "c"}, {"StackName", "net"}},
       "ChangeSet [c] does not exist"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.message);
    const std::string message = world.ask(c.operation, c.input).value("message", "");
    CHECK_MESSAGE(message.starts_with(c.message), message);
  }
  CHECK(world.ask("DeleteChangeSet", {{"ChangeSetName", "c"}, {"StackName", "net"}}).empty());
}

TEST_CASE("stacks: values of NoEcho parameters are not kept for an update") {
  StackWorld world;
  world.create("net");
  const Json previous = Json::array({{{"ParameterKey", "Word"}, {"UsePreviousValue", true}}});
  CHECK(world
            .ask("UpdateStack",
                 {{"StackName", "net"}, {"UsePreviousTemplate", true}, {"Parameters", previous}})
            .at("message") ==
        "Invalid input for parameter key Word. muster does not keep values of NoEcho parameters: "
        "specify the value again instead of usePreviousValue");
}

/// Takes out of the store what stacks of an older muster lack.
void make_older(StackWorld& world) {
  store::StackRow row = world.store.stacks()->at(0);
  Json made = *parse_json(row.made);
  for (Json& each : made["Resources"]) {
    each.erase("Digest");
    each.erase("Fixed");
  }
  row.made = to_text(made);
  REQUIRE(*world.store.update_stack(row));
  REQUIRE(world.stacks.start());
}

TEST_CASE("stacks: one created before muster had updates can be updated") {
  UpdatedWorld world;
  const auto before = world.ids();
  make_older(world);
  CHECK(world.update(Json::object()).at("message") == "No updates are to be performed.");
  CHECK(world.update({{"Parameters", parameter("Port", "80")}}).contains("StackId"));
  CHECK(world.ids() == before);
  CHECK(world.port() == 80);
  StackWorld secret;
  secret.create("net");
  make_older(secret);
  CHECK(secret.ask("UpdateStack", {{"StackName", "net"}, {"TemplateBody", net_template}})
            .at("message") ==
        "Stack [net] cannot be updated: it was created by an older version of muster, and the "
        "values of its "
        "NoEcho parameters are not kept");
}

TEST_CASE("stacks: one that is left out is not updated, and holds up no deletion") {
  UpdatedWorld world;
  world.create("own", R"({"Resources": {"S": {"Type": "AWS::EC2::Subnet", "Properties": {
      "VpcId": "vpc-config", "CidrBlock": "10.9.2.0/24"}}}})");
  Stacks without(world.store, {api::Realm{}, [] { return UnixMillis(0); }, {}});
  CHECK(without.start()->at(0).starts_with("stack own is left out: "));
  const auto ask = [&](const char* operation, const char* name) {
    return StackWorld::told(without.operate({"cloudformation",
                                             operation,
                                             {{"StackName", name}, {"UsePreviousTemplate", true}},
                                             "AK",
                                             ""}));
  };
  CHECK(ask("UpdateStack", "own").at("message") ==
        "Stack [own] cannot be updated: it is left out, because its networks conflict with the "
        "config");
  CHECK(ask("DeleteStack", "net").empty());
  CHECK(ask("DeleteStack", "own").empty());
  CHECK(without.networks().empty());
}

TEST_CASE("stacks: one may be updated into the networks of a younger one") {
  UpdatedWorld world;
  world.create("young", R"({"Resources": {
      "V": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.5.0.0/16"}}},
      "Outputs": {"V": {"Value": {"Ref": "V"}}}})");
  const std::string inside = R"({"Resources": {"S": {"Type": "AWS::EC2::Subnet", "Properties": {
      "VpcId": ")" + world.output("young", 0) +
                             R"(", "CidrBlock": "10.5.2.0/24"}}}})";
  CHECK(world.update({{"TemplateBody", inside}}).contains("StackId"));
  world.create("own", R"({"Resources": {"S": {"Type": "AWS::EC2::Subnet", "Properties": {
      "VpcId": "vpc-config", "CidrBlock": "10.9.2.0/24"}}}})");
  Stacks without(world.store, {api::Realm{}, [] { return UnixMillis(0); }, {}});
  const Result<std::vector<std::string>> notes = without.start();
  REQUIRE(notes->size() == 1);
  CHECK(notes->at(0).starts_with("stack own is left out: "));
  CHECK(without.networks().subnets.size() == 1);
}

}  // namespace
}  // namespace muster::server
