#include "platform/crowded.h"

#include <doctest/doctest.h>

namespace muster::platform {
namespace {

TEST_CASE("crowded: ranks that are more than processors yield, unless the job says otherwise") {
  struct {
    const char* name;
    int hosts;
    std::map<std::string, std::string> hyperparameters;
    Env environment;
    int processors;
    const char* want;  ///< The variable's value; empty: not set.
  } const cases[] = {
      {"no MPI", 8, {}, {}, 1, ""},
      {"MPI off", 8, {{"sagemaker_mpi_enabled", "false"}}, {}, 1, ""},
      {"enough processors", 2, {{"sagemaker_mpi_enabled", "true"}}, {}, 2, ""},
      {"hosts alone", 3, {{"sagemaker_mpi_enabled", "true"}}, {}, 2, "1"},
      {"ranks on hosts",
       2,
       {{"sagemaker_mpi_enabled", "true"}, {"sagemaker_mpi_num_of_processes_per_host", "2"}},
       {},
       3,
       "1"},
      {"what is no number",
       2,
       {{"sagemaker_mpi_enabled", "true"}, {"sagemaker_mpi_num_of_processes_per_host", "x"}},
       {},
       2,
       ""},
      {"the job's own",
       3,
       {{"sagemaker_mpi_enabled", "true"}},
       {{"OMPI_MCA_mpi_yield_when_idle", "0"}},
       2,
       "0"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    job::Spec spec;
    spec.instance_count = c.hosts;
    spec.hyperparameters = c.hyperparameters;
    spec.environment = c.environment;
    yield_if_crowded(spec, c.processors);
    const auto found = spec.environment.find("OMPI_MCA_mpi_yield_when_idle");
    CHECK((found == spec.environment.end() ? "" : found->second) == c.want);
  }
}

}  // namespace
}  // namespace muster::platform
