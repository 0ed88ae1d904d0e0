#include "platform/places/tool_image.h"

#include <doctest/doctest.h>

namespace muster::places {
namespace {

TEST_CASE("tool image: names are whole, in the words of the program that opens it") {
  struct {
    const char* tool;
    const char* name;
    const char* want;  ///< Empty: refused.
  } const cases[] = {
      {"apptainer", "/shared/box.sif", "/shared/box.sif"},
      {"apptainer", "oras://ghcr.io/team/box:v1", "oras://ghcr.io/team/box:v1"},
      {"apptainer", "python:3.12", "docker://docker.io/library/python:3.12"},
      {"apptainer", "ghcr.io/team/box", "docker://ghcr.io/team/box:latest"},
      {"enroot", "python:3.12", "docker://library/python:3.12"},
      {"enroot", "nvcr.io/nvidia/pytorch:25.06-py3", "docker://nvcr.io#nvidia/pytorch:25.06-py3"},
      {"enroot", "docker://nvcr.io#nvidia/pytorch:25.06-py3",
       "docker://nvcr.io#nvidia/pytorch:25.06-py3"},
      {"enroot", "oras://ghcr.io/team/box:v1", ""},
      {"apptainer", "instance://mine", ""},
      {"apptainer", "oci:/images/box", ""},
      {"apptainer", "/shared/my box.sif", ""},
      {"apptainer", "--writable", ""},
      {"podman", "/shared/box.sif", ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.tool);
    CAPTURE(c.name);
    const Result<job::Image> image = image_for_tool(c.tool, c.name);
    CHECK((image ? image->name : "") == c.want);
    if (!image) CHECK(image.error().code == Errc::invalid_input);
  }
}

TEST_CASE(
    "tool image: a server's job has it if the hosts of its type do, without a policy or private "
    "login") {
  SlurmCluster cluster;
  cluster.sites["ml.p4d.24xlarge"].hosts = slurm::Hosts::apptainer;
  job::ImageWish wish{.name = "docker.io/team/box:v1"};
  CHECK(!image_on_nodes(std::nullopt, "ml.p4d.24xlarge", wish)->has_value());
  CHECK(!image_on_nodes(cluster, "ml.m5.large", wish)->has_value());
  CHECK((*image_on_nodes(cluster, "ml.p4d.24xlarge", wish))->name ==
        "docker://docker.io/team/box:v1");
  wish.policy = "/etc/muster/policy.json";
  CHECK(!image_on_nodes(cluster, "ml.p4d.24xlarge", wish));
  wish.policy.clear();
  wish.private_to_login = true;
  CHECK(!image_on_nodes(cluster, "ml.p4d.24xlarge", wish));
}

}  // namespace
}  // namespace muster::places
