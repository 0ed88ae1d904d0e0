#include "job/training/raw_hyperparameters.h"

#include <doctest/doctest.h>

namespace muster::job {
namespace {

TEST_CASE("raw hyperparameters: a value is true as Python reads it") {
  struct {
    const char* value;
    bool want;
  } const cases[] = {
      {"true", true},   {"\"true\"", true},  {"True", true},  {"1", true},     {"\"1\"", true},
      {"[0]", true},    {"\"false\"", true}, {"False", true},  // Text that isn't empty.
      {"false", false}, {"0", false},        {"null", false}, {"\"\"", false}, {"{}", false},
      {"", false},
  };
  for (const auto& c : cases) {
    CAPTURE(c.value);
    CHECK(is_true({{"x", c.value}}, "x") == c.want);
  }
  CHECK(!is_true({}, "x"));
}

TEST_CASE("raw hyperparameters: MPI's processes per host") {
  const char* enabled = "sagemaker_mpi_enabled";
  const char* processes = "sagemaker_mpi_num_of_processes_per_host";
  struct {
    RawHyperparameters raw;
    int want;
  } const cases[] = {
      {{}, 0},
      {{{processes, "2"}}, 0},
      {{{enabled, "false"}, {processes, "2"}}, 0},
      {{{enabled, "true"}}, 1},
      {{{enabled, "true"}, {processes, "2"}}, 2},
      {{{enabled, "True"}, {processes, "\"2\""}}, 2},
      {{{enabled, "true"}, {processes, "null"}}, 1},
      {{{enabled, "true"}, {processes, "x"}}, 1},
      {{{enabled, "true"}, {processes, "-3"}}, 1},
      {{{"sagemaker_use_mpi", "true"}, {"sagemaker_process_slots_per_host", "3"}}, 3},
      {{{"sagemaker_use_mpi", "true"}, {processes, "3"}}, 1},
  };
  for (const auto& c : cases) CHECK(mpi_processes_per_host(c.raw) == c.want);
}

}  // namespace
}  // namespace muster::job
