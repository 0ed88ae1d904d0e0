#include "cli/fit/launch_choice.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::cli {
namespace {

LaunchWords words(const std::vector<const char*>& flags, const char* processes = "",
                  const char* options = "") {
  LaunchWords words{processes, options, {}};
  for (const char* flag : flags) words.launchers[flag] = true;
  return words;
}

Json json_of(const LaunchWords& given, int hosts) {
  const Result<LaunchChoice> choice = launch_choice(given, hosts);
  REQUIRE(choice);
  return Json(parameters_of(*choice));
}

TEST_CASE("launch choice: each flag sends what asks for its launcher") {
  struct {
    LaunchWords given;
    int hosts;
    Json want;
  } const cases[] = {
      {words({}), 2, Json::object()},
      {words({}, "1"), 1, Json::object()},
      {words({}, "1"),
       2,
       {{"sagemaker_mpi_enabled", true}, {"sagemaker_mpi_num_of_processes_per_host", 1}}},
      {words({"--mpi"}),
       1,
       {{"sagemaker_mpi_enabled", true}, {"sagemaker_mpi_num_of_processes_per_host", 1}}},
      {words({}, "", "-x A"),
       1,
       {{"sagemaker_mpi_enabled", true},
        {"sagemaker_mpi_num_of_processes_per_host", 1},
        {"sagemaker_mpi_custom_mpi_options", "-x A"}}},
      {words({"--torchrun"}), 2, {{"sagemaker_torch_distributed_enabled", true}}},
      {words({"--torchrun"}, "4"),
       2,
       {{"sagemaker_torch_distributed_enabled", true},
        {"sagemaker_mpi_num_of_processes_per_host", 4}}},
      {words({"--tf"}), 2, {{"sagemaker_multi_worker_mirrored_strategy_enabled", true}}},
      {words({"--mxnet"}), 2, {{"sagemaker_parameter_server_enabled", true}}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.want.dump());
    CHECK(json_of(c.given, c.hosts) == c.want);
  }
  CHECK(launch_choice(words({"--mpi"}, "3"), 2)->ranks(2) == 6);
  CHECK(launch_choice(words({"--torchrun"}, "3"), 2)->ranks(2) == 1);
}

TEST_CASE("launch choice: incompatible flags are refused by name") {
  struct {
    LaunchWords given;
    const char* text;
  } const cases[] = {
      {words({"--mpi", "--torchrun"}),
       "--mpi and --torchrun cannot be combined: a job has only one launcher"},
      {words({"--torchrun"}, "", "-x A"), "--custom-mpi-options: --torchrun does not use mpirun"},
      {words({"--tf"}, "2"), "--processes-per-host: --tf sets the number of processes itself"},
      {words({"--mxnet"}, "2"),
       "--processes-per-host: --mxnet sets the number of processes itself"},
      {words({"--torchrun"}, "0"), "--processes-per-host: expected a whole number from 1"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.text);
    const Result<LaunchChoice> choice = launch_choice(c.given, 2);
    REQUIRE(!choice);
    CHECK(choice.error().code == Errc::invalid_input);
    CHECK(choice.error().text.find(c.text) == 0);
  }
}

TEST_CASE("launch choice: unconnected hosts are reported, others are not") {
  const auto note = [](const LaunchWords& given, int hosts, const Pairs& parameters = {},
                       const Pairs& environment = {}) {
    return apart_note("train.py", *launch_choice(given, hosts), hosts, parameters, environment);
  };
  for (const char* script : {"", "run.sh", "train", "py"})
    CHECK(apart_note(script, *launch_choice(words({}), 2), 2, {}, {}).empty());
  CHECK(note(words({}), 2)
            .find("2 hosts with 1 process each, which muster does not connect: add --mpi, "
                  "--torchrun or "
                  "--processes-per-host N") == 0);
  CHECK(note(words({}), 1).empty());
  for (const char* flag : {"--mpi", "--torchrun", "--tf", "--mxnet"})
    CHECK(note(words({flag}), 2).empty());
  CHECK(note(words({}, "1"), 2).empty());
  CHECK(note(words({}), 2, {{"sagemaker_parameter_server_enabled", "true"}}).empty());
  CHECK(note(words({}), 2, {}, {{"SAGEMAKER_TRAINING_MODULE", "a:b"}}).empty());
  CHECK(!note(words({}), 2, {{"epochs", "2"}}).empty());
}

}  // namespace
}  // namespace muster::cli
