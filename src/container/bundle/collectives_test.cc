#include "container/bundle/collectives.h"

#include <doctest/doctest.h>

namespace muster::container {
namespace {

Env with(const job::HostSpec& spec, Env env = {}) {
  set_collectives(spec, "eth0", env);
  return env;
}

TEST_CASE("collectives: only muster's own networks have an interface that is known to be right") {
  const Env own{{"GLOO_SOCKET_IFNAME", "eth0"}, {"NCCL_SOCKET_IFNAME", "=eth0"}};
  job::HostSpec spec;
  CHECK(with(spec) == own);
  CHECK(with(spec, {{"NCCL_SOCKET_IFNAME", "ib"}}).at("NCCL_SOCKET_IFNAME") == "ib");
  spec.spec.network = job::Network::host;
  CHECK(with(spec).empty());
  spec.spec.network = job::Network::nat;
  spec.in_step = true;
  CHECK(with(spec).empty());
  spec.in_step = false;
  spec.light = true;
  CHECK(with(spec).empty());
}

TEST_CASE("collectives: NCCL's warnings are printed, unless MPI's launcher asks for more") {
  job::HostSpec spec;
  spec.spec.network = job::Network::host;
  spec.devices.gpus = {"nvidia.com/gpu=0"};
  CHECK(with(spec).at("NCCL_DEBUG") == "WARN");
  CHECK(with(spec, {{"NCCL_DEBUG", "TRACE"}}).at("NCCL_DEBUG") == "TRACE");
  for (const char* says : {"true", "\"True\"", "1"}) {
    spec.spec.hyperparameters = {{"sagemaker_mpi_enabled", says}};
    CHECK(!with(spec).contains("NCCL_DEBUG"));
  }
  spec.spec.hyperparameters = {{"sagemaker_use_mpi", "true"}};
  CHECK(!with(spec).contains("NCCL_DEBUG"));
  spec.spec.hyperparameters = {{"sagemaker_mpi_enabled", "false"}};
  CHECK(with(spec).contains("NCCL_DEBUG"));
}

}  // namespace
}  // namespace muster::container
