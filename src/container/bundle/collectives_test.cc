#include "container/bundle/collectives.h"

#include <doctest/doctest.h>

#include <set>
#include <string>

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

TEST_CASE("collectives: hosts on one network have different ports for NCCL's diagnosis") {
  job::HostSpec spec;
  spec.devices.gpus = {"nvidia.com/gpu=0"};
  CHECK(!with(spec).contains("NCCL_RAS_ADDR"));
  spec.spec.network = job::Network::host;
  std::set<std::string> all;
  for (const char* folder : {"/var/lib/muster/jobs/a", "/var/lib/muster/jobs/b"})
    for (int number = 1; number <= 250; ++number) {
      spec.job_folder = folder;
      spec.host = "algo-" + std::to_string(number);
      const std::string address = with(spec).at("NCCL_RAS_ADDR");
      REQUIRE(address.starts_with("localhost:"));
      const int port = std::stoi(address.substr(10));
      CHECK(port >= 15000);
      CHECK(port < 20000);
      all.insert(address);
    }
  CHECK(all.size() >= 250);
  CHECK(with(spec, {{"NCCL_RAS_ADDR", "localhost:7"}}).at("NCCL_RAS_ADDR") == "localhost:7");
  spec.devices.gpus.clear();
  CHECK(!with(spec).contains("NCCL_RAS_ADDR"));
}

TEST_CASE("collectives: hosts with GPUs record what NCCL did, under torch's old and new names") {
  job::HostSpec spec;
  CHECK(!records_flights(spec));
  CHECK(!with(spec).contains("TORCH_FR_BUFFER_SIZE"));
  spec.devices.gpus = {"nvidia.com/gpu=0"};
  const Env env = with(spec);
  CHECK(records_flights(spec));
  for (const char* name : {"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"})
    CHECK(env.at(name) == "2000");
  for (const char* name : {"TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE"})
    CHECK(env.at(name) == "/opt/ml/output/data/nccl/rank_");
  CHECK(env.at("TORCH_NCCL_DUMP_ON_TIMEOUT") == "1");
}

TEST_CASE("collectives: either name of the job's or the image's leaves both to them") {
  job::HostSpec spec;
  spec.devices.gpus = {"nvidia.com/gpu=0"};
  for (const char* name : {"TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE"}) {
    spec.spec.environment = {{name, "0"}};
    const Env env = with(spec);
    CHECK(!env.contains("TORCH_FR_BUFFER_SIZE"));
    CHECK(!env.contains("TORCH_NCCL_TRACE_BUFFER_SIZE"));
    CHECK(env.contains("TORCH_FR_DUMP_TEMP_FILE"));
    CHECK(records_flights(spec));
  }
  spec.spec.environment.clear();
  spec.spec.image.emplace();
  spec.spec.image->environment = {{"TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "/x"}};
  CHECK(!records_flights(spec));
  CHECK(!with(spec, spec.spec.image->environment).contains("TORCH_FR_DUMP_TEMP_FILE"));
}

}  // namespace
}  // namespace muster::container
