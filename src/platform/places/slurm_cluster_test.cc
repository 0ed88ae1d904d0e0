#include "platform/places/slurm_cluster.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::places {
namespace {

TEST_CASE("slurm cluster: a config's settings, and those of an instance type over them") {
  const Result<SlurmCluster> cluster = slurm_cluster_from(Json::parse(R"({
    "partition": "cpu", "account": "ml", "exclusive": true, "sm": "/opt/muster/sm",
    "address": "10.0.0.1",
    "instance_types": {"ml.p4d.24xlarge": {"partition": "gpu", "constraint": "a100",
                                            "hosts": "container", "spares": 2}}})"));
  REQUIRE(cluster);
  CHECK(cluster->site.partition == "cpu");
  CHECK(cluster->site.options == Args{"--exclusive"});
  CHECK(cluster->node_program == "/opt/muster/sm");
  CHECK(cluster->addresses == std::vector<std::string>{"10.0.0.1"});
  const slurm::Site& gpu = cluster->sites.at("ml.p4d.24xlarge");
  CHECK(gpu.partition == "gpu");
  CHECK(cluster->site.hosts == slurm::Hosts::light);
  CHECK(gpu.hosts == slurm::Hosts::container);
  CHECK(gpu.account == "ml");
  CHECK(gpu.spares == 2);
  CHECK(cluster->site.spares == 0);
  CHECK(gpu.options == Args{"--exclusive", "--constraint=a100"});
}

TEST_CASE("slurm cluster: a preflight's form and thresholds become variables of the hosts") {
  const Result<SlurmCluster> cluster = slurm_cluster_from(Json::parse(R"({
    "preflight": "full", "preflight_clock_seconds": 0.5, "preflight_disk_gib": "20",
    "instance_types": {"ml.c5.large": {"preflight": "off"}}})"));
  REQUIRE(cluster);
  CHECK(cluster->site.preflight == Env{{"MUSTER_PREFLIGHT", "full"},
                                       {"MUSTER_PREFLIGHT_CLOCK_SECONDS", "0.5"},
                                       {"MUSTER_PREFLIGHT_DISK_GIB", "20"}});
  CHECK(cluster->sites.at("ml.c5.large").preflight.at("MUSTER_PREFLIGHT") == "off");
}

TEST_CASE("slurm cluster: an unknown setting is refused by name") {
  struct {
    const char* json;
    const char* what;
  } const cases[] = {
      {R"([])", "expected an object"},
      {R"({"wrap": "rm -rf /"})", "option --wrap"},
      {R"({"partition": "a b"})", "partition 'a b'"},
      {R"({"partition": 7})", "partition: expected a string"},
      {R"({"hosts": "docker"})", "hosts: expected light, container, apptainer or"},
      {R"({"folder": "cache"})", "folder: expected an absolute path"},
      {R"({"sm": "sm"})", "sm: expected an absolute path"},
      {R"({"shared": "home"})", "shared: expected an absolute path"},
      {R"({"shared": "/home/"})", "without a trailing '/'"},
      {R"({"spares": 17})", "spares: expected a number from 0 to 16"},
      {R"({"preflight": "loud"})", "preflight: expected off, light or full, got 'loud'"},
      {R"({"preflight_mood": 1})", "preflight_mood: unknown threshold"},
      {R"({"preflight_bandwidth_ratio": 7})",
       "MUSTER_PREFLIGHT_BANDWIDTH_RATIO is \"7\"; expected a number from 0 to 1"},
      {R"({"spares": "many"})", "spares: expected a number from 0 to 16"},
      {R"({"instance_types": []})", "instance_types: expected an object"},
      {R"({"instance_types": {"a": {"uid": "0"}}})", "instance_types.a.uid: option --uid"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.json);
    const Result<SlurmCluster> cluster = slurm_cluster_from(Json::parse(c.json));
    REQUIRE(!cluster);
    CHECK(cluster.error().code == Errc::invalid_input);
    CHECK(cluster.error().text.find(c.what) != std::string::npos);
  }
}

}  // namespace
}  // namespace muster::places
