#include "server/jobs/sdk_drivers.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::jobs {
namespace {

job::Spec driven() {
  job::Spec spec;
  spec.name = "v3";
  spec.instance_count = 2;
  spec.entrypoint = {"/bin/bash"};
  spec.arguments = {"-c", "chmod +x x && x"};
  spec.hyperparameters = {{"epochs", "2"}};
  return spec;
}

TEST_CASE("SDK drivers: they are found by what the container runs and the channel they lie in") {
  job::Spec spec = driven();
  spec.arguments = {"-c", "chmod +x x; /opt/ml/input/data/sm_drivers/sm_train.sh"};
  spec.input = {{.name = "code", .s3 = {.url = "s3://b/j/input/code"}},
                {.name = "sm_drivers", .s3 = {.url = "s3://b/j/input/sm_drivers"}}};
  CHECK(drivers_url(spec) == "s3://b/j/input/sm_drivers");
  job::Spec elsewhere = spec;
  elsewhere.input.pop_back();
  CHECK(drivers_url(elsewhere).empty());
  spec.arguments = {"-c", "python train.py"};
  CHECK(drivers_url(spec).empty());
  CHECK(drivers_url({}).empty());
}

TEST_CASE("SDK drivers: files that nest without end are left to the drivers") {
  job::Spec spec = driven();
  CHECK_FALSE(take_over(
      spec, "{\"entry_script\": " + std::string(30000, '[') + std::string(30000, ']') + "}", "{}"));
  CHECK_FALSE(take_over(spec, "", "{}"));
  for (const char* distributed : {"", "[]", "null"})
    CHECK_FALSE(take_over(spec, R"({"entry_script": "train.py"})", distributed));
  CHECK(spec == driven());
}

TEST_CASE("SDK drivers: muster's launchers take their place") {
  constexpr const char* source = R"({"entry_script": "train.py", "command": null})";
  struct {
    const char* name;
    const char* source;
    const char* distributed;
    std::map<std::string, std::string> want;  ///< Hyperparameters that come with it; empty: no.
  } const cases[] = {
      {"a script", source, "{}", {{"sagemaker_program", "\"train.py\""}}},
      {"MPI",
       source,
       R"({"process_count_per_node": 2, "mpi_additional_options": ["-x", 7, "A=b c"]})",
       {{"sagemaker_mpi_enabled", "true"},
        {"sagemaker_mpi_num_of_processes_per_host", "2"},
        {"sagemaker_mpi_custom_mpi_options", "\"-x 'A=b c'\""}}},
      {"MPI with nothing said",
       source,
       R"({"process_count_per_node": null, "mpi_additional_options": null})",
       {{"sagemaker_mpi_enabled", "true"}}},
      {"torchrun",
       source,
       R"({"process_count_per_node": 2, "smp": null})",
       {{"sagemaker_torch_distributed_enabled", "true"}}},
      {"model parallelism", source, R"({"process_count_per_node": 2, "smp": {"a": 1}})", {}},
      {"a class of the user's", source, R"({"mine": 1})", {}},
      {"a command", R"({"entry_script": "t.py", "command": "python t.py"})", "{}", {}},
      {"no script", R"({"entry_script": null})", "{}", {}},
      {"no JSON", "{", "{}", {}},
      {"no object", "[]", "{}", {}},
      {"no distribution's JSON", source, "x", {}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    job::Spec spec = driven();
    const bool taken = take_over(spec, c.source, c.distributed);
    CHECK(taken == !c.want.empty());
    if (!taken) CHECK(spec == driven());
    if (taken) CHECK(spec.entrypoint.empty());
    for (const auto& [name, value] : c.want) CHECK(spec.hyperparameters[name] == value);
  }
}

}  // namespace
}  // namespace muster::jobs
