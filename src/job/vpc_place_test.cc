#include "job/vpc_place.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::job {
namespace {

VpcPlace two_subnets() {
  return {.cidr = "10.0.0.0/16",
          .subnets = {"10.0.1.0/24", "10.0.2.0/29"},
          .in = {{"tcp", 9730, 9730, ""}, {"50", -1, -1, "10.0.0.0/16"}},
          .out = {{"-1", -1, -1, "0.0.0.0/0"}}};
}

TEST_CASE("VPC place: hosts get addresses of each subnet in its turn, behind those AWS keeps") {
  const Result<std::vector<PlacedAddress>> addresses = addresses_of(two_subnets(), 8);
  REQUIRE(addresses);
  std::vector<std::string> got;
  for (const PlacedAddress& each : *addresses) got.push_back(each.address);
  // A /29 has three: .4, .5 and .6.
  CHECK(got == std::vector<std::string>{"10.0.1.4", "10.0.2.4", "10.0.1.5", "10.0.2.5", "10.0.1.6",
                                        "10.0.2.6", "10.0.1.7", "10.0.1.8"});
  CHECK((*addresses)[0] == PlacedAddress{"10.0.1.4", *block_from("10.0.1.0/24"), "10.0.1.1"});
  CHECK((*addresses)[1] == PlacedAddress{"10.0.2.4", *block_from("10.0.2.0/29"), "10.0.2.1"});
}

TEST_CASE("VPC place: subnets that are too small are reported with their size") {
  VpcPlace small = two_subnets();
  small.subnets = {"10.0.2.0/29"};
  CHECK(addresses_of(small, 3).has_value());
  CHECK(addresses_of(small, 4).error().text ==
        "the subnets have addresses for 3 hosts, but the job has 4");
}

TEST_CASE("VPC place: written and read it is the same") {
  const Result<VpcPlace> again = vpc_place_from(to_json(two_subnets()));
  REQUIRE(again);
  CHECK(*again == two_subnets());
}

TEST_CASE("VPC place: errors name the invalid field") {
  const struct {
    const char* pointer;
    Json value;
    const char* want;
  } cases[] = {
      {"/Other", 1, "Muster.Vpc.Other: expected no such field"},
      {"/Cidr", "10.0.0.0", "Muster.Vpc.Cidr: \"10.0.0.0\" is not a network"},
      {"/Subnets", Json::array(), "Muster.Vpc.Subnets: expected at least one subnet"},
      {"/Subnets/0", "10.1.0.0/24", "Muster.Vpc.Subnets: expected CIDR blocks within 10.0.0.0/16"},
      {"/Subnets/0", "10.0.0.0/30", "Muster.Vpc.Subnets: expected a CIDR block from /8 to /29"},
      {"/In/0/Protocol", "tcp dport 1; accept", "Muster.Vpc.In.Protocol: expected tcp"},
      {"/In/0/FromPort", 70000, "Muster.Vpc.In.FromPort: expected a number from -1 to 65535"},
      {"/Out/0/Cidr", "@hosts accept", "Muster.Vpc.Out.Cidr: \"@hosts accept\" is not a network"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want);
    Json json = to_json(two_subnets());
    json[Json::json_pointer(c.pointer)] = c.value;
    const Result<VpcPlace> place = vpc_place_from(json);
    REQUIRE(!place);
    CHECK(place.error().code == Errc::invalid_input);
    CHECK(place.error().text.find(c.want) == 0);
  }
}

}  // namespace
}  // namespace muster::job
