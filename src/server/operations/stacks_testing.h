#pragma once

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "base/fd.h"
#include "server/operations/ec2.h"
#include "server/operations/stack_operations.h"

namespace muster::server {

inline constexpr const char* net_template = R"({"Description": "d",
  "Parameters": {"Word": {"Type": "String", "NoEcho": true, "Default": "hush"}},
  "Resources": {
    "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.0.0.0/16",
      "Tags": [{"Key": "Name", "Value": "lab"}]}},
    "One": {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"},
      "CidrBlock": "10.0.0.0/24"}},
    "Two": {"Type": "AWS::EC2::Subnet", "Properties": {"VpcId": {"Ref": "Vpc"},
      "CidrBlock": "10.0.1.0/24"}}},
  "Outputs": {"One": {"Value": {"Ref": "One"}}, "Vpc": {"Value": {"Ref": "Vpc"}}}})";

/// Stacks on a separate store, next to a VPC of the config.
struct StackWorld {
  std::string folder = *make_private_folder("/tmp", "muster-stacks-");
  store::Store store = *store::Store::open(folder + "/store.db");
  UnixMillis now{1'000'000};
  vpc::Networks of_config{.vpcs = {{"vpc-config", "10.9.0.0/16"}}, .subnets = {}, .groups = {}};
  Stacks stacks{store, {api::Realm{}, [this] { return now; }, of_config}};

  StackWorld() { REQUIRE(stacks.start()); }
  ~StackWorld() { std::filesystem::remove_all(folder); }

  /// An answer, or {"code", "message"}.
  static Json told(const api::Answer& answer) {
    if (answer) return *answer;
    return {{"code", answer.error().code}, {"message", answer.error().message}};
  }
  Json ask(const std::string& operation, const Json& input, const std::string& invocation = "") {
    return told(stacks.operate({"cloudformation", operation, input, "AK", invocation}));
  }
  Json create(const std::string& name, const std::string& body = net_template) {
    return ask("CreateStack", {{"StackName", name}, {"TemplateBody", body}});
  }
  Json ec2(const std::string& operation, const Json& input) {
    return told(describe_networks({"ec2", operation, input, "AK"}, api::Realm{}, stacks.networks(),
                                  stacks.tags()));
  }
  std::string output(const std::string& stack, std::size_t number) {
    const Json answer = ask("DescribeStacks", {{"StackName", stack}});
    return answer.at("Stacks")[0].at("Outputs")[number].at("OutputValue");
  }
};

}  // namespace muster::server
