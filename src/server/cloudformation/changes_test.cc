#include "server/cloudformation/changes.h"

#include <doctest/doctest.h>

namespace muster::cloudformation {
namespace {

TEST_CASE("stacks: changes are listed by logical name") {
  const Stack before{.description = "",
                     .parameters = {},
                     .resources = {{"Same", "T", "1", {}, "d", "f"},
                                   {"Changed", "T", "2", {}, "d", "f"},
                                   {"Tagged", "T", "3", {}, "d", "f"},
                                   {"Replaced", "T", "4", {}, "d", "f"},
                                   {"Gone", "T", "5", {}, "d", "f"}},
                     .outputs = {},
                     .networks = {}};
  Stack after = before;
  after.resources[1].digest = "e";
  after.resources[2].tags = {{"k", "v"}};
  after.resources[3] = {"Replaced", "T", "6", {}, "e", "g"};
  after.resources[4] = {"New", "T", "7", {}, "d", "f"};
  using Action = Change::Action;
  const std::vector<Change> want = {
      {Action::modify, "Changed", "T", "2", false, true, false},
      {Action::modify, "Tagged", "T", "3", false, false, true},
      {Action::modify, "Replaced", "T", "4", true, true, false},
      {Action::add, "New", "T"},
      {Action::remove, "Gone", "T", "5"},
  };
  CHECK(changes_between(before, after) == want);
  CHECK(changes_between(before, before).empty());
}

TEST_CASE("stacks: resources that depend on a missing one are left out") {
  const vpc::Networks networks{
      .vpcs = {{"vpc-1", "10.0.0.0/16"}},
      .subnets = {{"subnet-1", "vpc-1", "10.0.0.0/24", "a"},
                  {"subnet-2", "vpc-2", "10.1.0.0/24", "a"}},
      .groups = {{.id = "sg-1",
                  .name = "",
                  .description = "",
                  .vpc = "vpc-1",
                  .ingress = {{.protocol = "-1", .group = "sg-2"}, {.protocol = "-1"}},
                  .egress = {}},
                 {.id = "sg-2",
                  .name = "",
                  .description = "",
                  .vpc = "vpc-2",
                  .ingress = {},
                  .egress = {}}}};
  const vpc::Networks left = without_dangling(networks);
  CHECK(ids_of(left) == std::set<std::string>{"sg-1", "subnet-1", "vpc-1"});
  CHECK(left.groups[0].ingress.size() == 1);
  CHECK(without(networks, {"vpc-1", "sg-1", "subnet-1"}).vpcs.empty());
  CHECK(only(networks, {"vpc-1"}).subnets.empty());
}

}  // namespace
}  // namespace muster::cloudformation
