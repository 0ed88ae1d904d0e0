#include "job/vpc/vpc_config.h"

#include <doctest/doctest.h>

namespace muster::vpc {
namespace {

const Need roll_call{9730, 9730, "the roll call"};
const Need ranks{32768, 60999, "mpirun"};

/// One VPC with two subnets, and a group with these rules; another with others.
Networks networks(std::vector<Rule> ingress, std::vector<Rule> egress = {any_egress()}) {
  return {.vpcs = {{"vpc-1", "10.0.0.0/16"}, {"vpc-2", "10.0.0.0/16"}},
          .subnets = {{"subnet-1", "vpc-1", "10.0.1.0/24", "a"},
                      {"subnet-2", "vpc-1", "10.0.2.0/24", "b"},
                      {"subnet-9", "vpc-2", "10.0.1.0/24", "a"}},
          .groups = {{"sg-1", "", "", "vpc-1", std::move(ingress), std::move(egress)},
                     {"sg-2", "", "", "vpc-1", {{"tcp", 9730, 9730, "", "sg-1"}}, {}},
                     {"sg-9", "", "", "vpc-2", {}, {}}}};
}

const VpcConfig both{{"subnet-1", "subnet-2"}, {"sg-1"}};

TEST_CASE("place: subnets and rules, those for the own groups as for the own hosts") {
  const Result<job::VpcPlace> place = place_of(networks({{"tcp", 22, 22, "192.0.2.0/24", ""},
                                                         {"-1", -1, -1, "", "sg-1"},
                                                         {"udp", -1, -1, "", "sg-2"}}),
                                               both);
  REQUIRE(place);
  CHECK(place->cidr == "10.0.0.0/16");
  CHECK(place->subnets == std::vector<std::string>{"10.0.1.0/24", "10.0.2.0/24"});
  // Hosts of sg-2 are other jobs'.
  CHECK(place->in ==
        std::vector<job::Passage>{{"tcp", 22, 22, "192.0.2.0/24"}, {"-1", -1, -1, ""}});
  CHECK(place->out == std::vector<job::Passage>{{"-1", -1, -1, "0.0.0.0/0"}});
}

TEST_CASE("place: the rules of several groups hold together, each once") {
  const Result<job::VpcPlace> place = place_of(networks({{"tcp", 9730, 9730, "", "sg-1"}}),
                                               {{"subnet-1", "subnet-1"}, {"sg-1", "sg-2"}});
  REQUIRE(place);
  CHECK(place->subnets.size() == 1);
  CHECK(place->in == std::vector<job::Passage>{{"tcp", 9730, 9730, ""}});
}

TEST_CASE("place: ids that there are not, and of another VPC") {
  CHECK(unknown_ids(networks({}), {{"subnet-1", "s-2"}, {"sg-3"}}) ==
        std::vector<std::string>{"s-2", "sg-3"});
  const Error unknown = place_of(networks({}), {{"s-2"}, {"sg-1"}}).error();
  CHECK(unknown.code == Errc::not_found);
  CHECK(unknown.text == "unknown subnets or security groups: s-2");
  CHECK(place_of(networks({}), {{"subnet-1", "subnet-9"}, {"sg-1"}}).error().text ==
        "subnet-9 is in vpc-2, but subnet-1 is in vpc-1; all subnets and groups must be in the "
        "same VPC");
  const Error other = place_of(networks({}), {{"subnet-1"}, {"sg-9"}}).error();
  CHECK(other.code == Errc::invalid_input);
  CHECK(
      other.text ==
      "sg-9 is in vpc-2, but subnet-1 is in vpc-1; all subnets and groups must be in the same VPC");
}

TEST_CASE("forbidden: traffic that launchers need and the rules lack is named") {
  const std::vector<Rule> all = {{"-1", -1, -1, "", "sg-1"}};
  const struct {
    const char* name;
    std::vector<Rule> ingress;
    std::vector<Rule> egress;
    std::vector<Need> needs;
    const char* want;
  } cases[] = {
      {"a group to itself", all, {any_egress()}, {roll_call, ranks}, ""},
      {"a group to itself, both ways", all, all, {roll_call, ranks}, ""},
      {"all tcp", {{"tcp", 0, 65535, "", "sg-1"}}, {any_egress()}, {roll_call, ranks}, ""},
      {"tcp without ports", {{"tcp", -1, -1, "10.0.0.0/16", ""}}, all, {roll_call, ranks}, ""},
      {"a job of one host needs nothing", {}, {}, {}, ""},
      {"no rule",
       {},
       {any_egress()},
       {roll_call},
       "sg-1 forbids tcp 9730 between its hosts, which the roll call requires: no ingress rule "
       "allows "
       "it"},
      {"nothing out",
       all,
       {},
       {roll_call},
       "sg-1 forbids tcp 9730 between its hosts, which the roll call requires: no egress rule "
       "allows "
       "it"},
      {"out to others alone",
       all,
       {{"-1", -1, -1, "192.0.2.0/24", ""}},
       {roll_call},
       "sg-1 forbids tcp 9730 between its hosts, which the roll call requires: no egress rule "
       "allows "
       "it"},
      {"udp alone",
       {{"udp", 0, 65535, "", "sg-1"}},
       all,
       {roll_call},
       "sg-1 forbids tcp 9730 between its hosts, which the roll call requires: no ingress rule "
       "allows "
       "it"},
      {"another group",
       {{"-1", -1, -1, "", "sg-2"}},
       all,
       {roll_call},
       "sg-1 forbids tcp 9730 between its hosts, which the roll call requires: no ingress rule "
       "allows "
       "it"},
      {"one subnet of two",
       {{"-1", -1, -1, "10.0.1.0/24", ""}},
       all,
       {roll_call},
       "sg-1 forbids tcp 9730 between its hosts, which the roll call requires: no ingress rule "
       "allows "
       "it"},
      {"each subnet by a rule",
       {{"-1", -1, -1, "10.0.1.0/24", ""}, {"-1", -1, -1, "10.0.2.0/24", ""}},
       all,
       {roll_call},
       ""},
      {"the roll call alone",
       {{"tcp", 9730, 9730, "", "sg-1"}},
       all,
       {roll_call, ranks},
       "sg-1 forbids tcp 32768-60999 between its hosts, which mpirun requires: no ingress rule "
       "allows "
       "it"},
      {"a hole",
       {{"tcp", 40001, 65535, "", "sg-1"}, {"tcp", 1024, 39999, "", "sg-1"}},
       all,
       {ranks},
       "sg-1 forbids tcp 40000 between its hosts, which mpirun requires: no ingress rule allows "
       "it"},
      {"too few",
       {{"tcp", 1024, 40000, "", "sg-1"}, {"tcp", 1, 100, "", "sg-1"}},
       all,
       {ranks},
       "sg-1 forbids tcp 40001-60999 between its hosts, which mpirun requires: no ingress rule "
       "allows "
       "it"},
      {"pieces that touch",
       {{"tcp", 32768, 40000, "", "sg-1"}, {"tcp", 40001, 60999, "", "sg-1"}},
       all,
       {ranks},
       ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    CHECK(what_is_forbidden(networks(c.ingress, c.egress), both, c.needs) == c.want);
  }
}

TEST_CASE("forbidden: of several groups all are named") {
  CHECK(what_is_forbidden(networks({}), {{"subnet-1"}, {"sg-1", "sg-2"}}, {ranks}) ==
        "sg-1, sg-2 forbid tcp 32768-60999 between their hosts, which mpirun requires: no ingress "
        "rule allows it");
}

}  // namespace
}  // namespace muster::vpc
