#include <doctest/doctest.h>

#include "base/text.h"
#include "job/launch/operators.h"
#include "job/training/training.h"

namespace muster::launch {
namespace {

TEST_CASE("script operator: the distribution from a job's hyperparameters") {
  constexpr const char* servers = "sagemaker_parameter_server_enabled";
  constexpr const char* mirrored = "sagemaker_multi_worker_mirrored_strategy_enabled";
  struct {
    const char* name;
    Args hosts;
    Args on;  ///< Hyperparameters that are true.
    const char* framework;
    const char* want;
  } const cases[] = {
      {"nothing", {"algo-1", "algo-2"}, {}, "tensorflow", ""},
      {"TensorFlow's servers",
       {"algo-1", "algo-2", "algo-3"},
       {servers},
       "tensorflow",
       "tf run-distributed-training --config-only --chief --num-workers=2 "
       "--num-parameter-servers=3 --"},
      {"MXNet's servers", {"algo-1", "algo-2"}, {servers}, "mxnet", "mxnet run --"},
      {"servers of nobody", {"algo-1", "algo-2"}, {servers}, "", ""},
      {"servers on one host", {"algo-1"}, {servers}, "tensorflow", ""},
      {"mirrored", {"algo-1", "algo-2"}, {mirrored}, "tensorflow", "tf multi-worker --"},
      {"mirrored, without TensorFlow", {"algo-1", "algo-2"}, {mirrored}, "mxnet", ""},
      {"mirrored on one host", {"algo-1"}, {mirrored}, "tensorflow", ""},
      {"servers come before mirrored",
       {"algo-1", "algo-2"},
       {mirrored, servers},
       "mxnet",
       "mxnet run --"},
      {"MPI comes first",
       {"algo-1", "algo-2"},
       {servers, "sagemaker_mpi_enabled"},
       "tensorflow",
       ""},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    job::Training training;
    training.hosts = c.hosts;
    training.distribution_hosts = c.hosts;
    training.instance_group = "all";
    training.distribution_instance_groups = job::PyValue::of_list({"all"});
    for (const std::string& name : c.on)
      training.framework_parameters.set(name, job::PyValue::of_bool(true));
    CHECK(join(script_operator(training, c.framework), " ") == c.want);
  }
}

TEST_CASE("script operator: a distribution that leaves out hosts has none") {
  job::Training training;
  training.hosts = {"algo-1", "algo-2", "algo-3"};
  training.distribution_hosts = {"algo-1", "algo-2"};
  training.framework_parameters.set("sagemaker_parameter_server_enabled",
                                    job::PyValue::of_bool(true));
  CHECK_FALSE(wants_operator(training));
  CHECK(script_operator(training, "mxnet").empty());
}

}  // namespace
}  // namespace muster::launch
