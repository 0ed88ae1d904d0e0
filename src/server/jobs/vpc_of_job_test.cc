#include "server/jobs/vpc_of_job.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::jobs {
namespace {

vpc::Networks networks() {
  return {
      .vpcs = {{"vpc-1", "10.0.0.0/16"}},
      .subnets = {{"subnet-1", "vpc-1", "10.0.1.0/28", "a"}},
      .groups = {{"sg-all", "", "", "vpc-1", {{"-1", -1, -1, "", "sg-all"}}, {vpc::any_egress()}},
                 {"sg-none", "", "", "vpc-1", {}, {}}}};
}

api::JobRequest asking(const char* subnet, const char* group, int hosts = 2) {
  api::JobRequest request;
  request.spec.name = "a";
  request.spec.instance_count = hosts;
  request.subnets = {subnet};
  request.security_groups = {group};
  return request;
}

JobConfig config(std::optional<bool> any_vpc = std::nullopt) {
  JobConfig config;
  config.any_vpc = any_vpc;
  return config;
}

TEST_CASE("VPC of a job: ids become a place") {
  const auto place = vpc_of(asking("subnet-1", "sg-all"), config(), networks());
  REQUIRE(place);
  REQUIRE(*place);
  CHECK((*place)->subnets == std::vector<std::string>{"10.0.1.0/28"});
  CHECK(!*vpc_of({}, config(), networks()));  // A job that names none.
}

TEST_CASE("VPC of a job: ids that there are not, by what the config says") {
  const struct {
    const char* name;
    vpc::Networks networks;
    std::optional<bool> any;
    bool taken;
  } cases[] = {
      {"no networks", {}, std::nullopt, true},
      {"networks, and none of these ids", networks(), std::nullopt, false},
      {"no networks, known ids wanted", {}, false, false},
      {"networks, any ids taken", networks(), true, true},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const auto place = vpc_of(asking("subnet-7", "sg-all"), config(c.any), c.networks);
    CHECK(place.has_value() == c.taken);
    if (place) CHECK(!*place);
    if (!place)
      CHECK(place.error().message.find("this server has no subnet-7") != std::string::npos);
  }
}

TEST_CASE("VPC of a job: if it has no effect, the log says so") {
  CHECK(no_vpc_note(asking("subnet-7", "sg-all"), networks())
            .find("VpcConfig has no effect: this server has no subnet-7; ") == 0);
}

TEST_CASE("VPC of a job: a job that cannot run is refused by name") {
  const auto forbidden = vpc_of(asking("subnet-1", "sg-none"), config(), networks());
  REQUIRE(!forbidden);
  CHECK(forbidden.error().code == "ValidationException");
  CHECK(forbidden.error().message ==
        "VpcConfig: sg-none forbids tcp 9730 between its hosts, which the roll call of the job's "
        "hosts requires: no ingress rule allows it");
  const auto small = vpc_of(asking("subnet-1", "sg-all", 12), config(), networks());
  REQUIRE(!small);
  CHECK(small.error().message ==
        "VpcConfig: the subnets have addresses for 11 hosts, but the job has 12");
  CHECK(vpc_of(asking("subnet-1", "sg-none", 1), config(), networks()).has_value());
  vpc::Networks two = networks();
  two.vpcs.push_back({"vpc-2", "10.1.0.0/16"});
  two.groups.push_back({"sg-2", "", "", "vpc-2", {}, {}});
  const auto split = vpc_of(asking("subnet-1", "sg-2"), config(), two);
  REQUIRE(!split);
  CHECK(split.error().message ==
        "VpcConfig: sg-2 is in vpc-2, but subnet-1 is in vpc-1; all subnets and groups must be in "
        "the same VPC");
}

/// Ports that a job needs, "9730-9730".
std::vector<std::string> needs_of_hosts(const job::Spec& spec) {
  std::vector<std::string> needs;
  for (const vpc::Need& need : needs_between_hosts(spec))
    needs.push_back(std::to_string(need.from_port) + "-" + std::to_string(need.to_port));
  return needs;
}

TEST_CASE("VPC of a job: the ports that launchers need between hosts") {
  using Texts = std::vector<std::string>;
  job::Spec spec;
  CHECK(needs_of_hosts(spec).empty());
  spec.instance_count = 2;
  CHECK(needs_of_hosts(spec) == Texts{"9730-9730"});
  spec.hyperparameters = {{"sagemaker_mpi_enabled", "false"}};
  CHECK(needs_of_hosts(spec) == Texts{"9730-9730"});
  spec.hyperparameters = {{"sagemaker_mpi_enabled", "true"}};
  CHECK(needs_of_hosts(spec) == Texts{"9730-9730", "32768-60999"});
  spec.hyperparameters["sagemaker_mpi_custom_mpi_options"] =
      R"("-mca btl_tcp_port_min_v4 5000 -mca btl_tcp_port_range_v4 100")";
  CHECK(needs_of_hosts(spec) == Texts{"9730-9730"});
  spec.hyperparameters["sagemaker_mpi_custom_mpi_options"] = "\"-verbose\"";
  CHECK(needs_of_hosts(spec) == Texts{"9730-9730", "32768-60999"});
  spec.hyperparameters = {{"sagemaker_torch_distributed_enabled", "true"}};
  CHECK(needs_of_hosts(spec) == Texts{"9730-9730", "7777-7777", "32768-60999"});
  spec.hyperparameters.clear();
  spec.environment = {{"MUSTER_ROLLCALL_PORT", "1234"}};
  CHECK(needs_of_hosts(spec) == Texts{"1234-1234"});
  spec.encrypted = true;  // On one machine it changes nothing.
  CHECK(needs_of_hosts(spec) == Texts{"1234-1234"});
  spec.environment["MUSTER_ROLLCALL_PORT"] = "70000";
  CHECK(needs_of_hosts(spec) == Texts{"9730-9730"});
  spec.entrypoint = {"/opt/own"};
  CHECK(needs_of_hosts(spec).empty());
  // SDK 3's drivers start what muster's launchers would.
  spec.arguments = {"-c", "/opt/ml/input/data/sm_drivers/sm_train.sh"};
  spec.input = {{.name = "sm_drivers", .s3 = {.url = "s3://b/j/input/sm_drivers"}}};
  CHECK(needs_of_hosts(spec) == Texts{"9730-9730"});
}

}  // namespace
}  // namespace muster::jobs
