#include "server/jobs/remote_function.h"

#include <doctest/doctest.h>

namespace muster::jobs {
namespace {

constexpr const char* driver =
    "/opt/ml/input/data/sagemaker_remote_function_bootstrap/job_driver.sh";

/// As SDK 2 asks for it by @remote(use_mpirun=True).
job::Spec remote() {
  job::Spec spec;
  spec.name = "f-1";
  spec.entrypoint = {"/bin/bash", driver};
  spec.arguments = {"--s3_base_uri", "s3://b/f-1", "--distribution", "mpirun"};
  spec.input = {{.name = "sm_rf_user_ws", .s3 = {.url = "s3://b/f-1/sm_rf_user_ws"}},
                {.name = "sagemaker_remote_function_bootstrap",
                 .s3 = {.url = "s3://b/f-1/sagemaker_remote_function_bootstrap"}}};
  return spec;
}

TEST_CASE("remote function: it is known by the SDK's script, which says where it lies") {
  CHECK(function_url(remote()) == "s3://b/f-1");
  CHECK(mpirun_script_url(remote()) ==
        "s3://b/f-1/sagemaker_remote_function_bootstrap/job_driver.sh");
  struct {
    const char* name;
    Args entrypoint;
    Args arguments;
    const char* function;
  } const others[] = {
      {"alone", {"/bin/bash", driver}, {"--s3_base_uri", "s3://b/f"}, "s3://b/f"},
      {"torchrun",
       {"/bin/bash", driver},
       {"--distribution", "torchrun", "--s3_base_uri", "s3://b/f"},
       "s3://b/f"},
      {"nothing said", {"/bin/bash", driver}, {}, ""},
      {"cut off", {"/bin/bash", driver}, {"--distribution", "mpirun", "--s3_base_uri"}, ""},
      {"a program of the user's",
       {"/bin/bash", "run.sh"},
       {"--s3_base_uri", "s3://b/f", "--distribution", "mpirun"},
       ""},
      {"train", {}, {}, ""},
  };
  for (const auto& c : others) {
    CAPTURE(c.name);
    job::Spec spec = remote();
    spec.entrypoint = c.entrypoint;
    spec.arguments = c.arguments;
    CHECK(function_url(spec) == c.function);
    CHECK(mpirun_script_url(spec).empty());
  }
  job::Spec elsewhere = remote();
  elsewhere.input.clear();
  CHECK(mpirun_script_url(elsewhere).empty());
}

TEST_CASE("remote function: sm mpirun starts the module that the SDK's script starts") {
  for (const std::string module :
       {"sagemaker.remote_function.invoke_function", "sagemaker.core.remote_function.invoke"}) {
    CAPTURE(module);
    job::Spec spec = remote();
    REQUIRE(take_over_mpirun(
        spec, "mpirun --host $SM_HOSTS_LIST \\\n python -m mpi4py -m " + module + " \"$@\"\n"));
    CHECK(spec.entrypoint == Args{"/bin/bash"});
    REQUIRE(spec.arguments.size() == 7);
    CHECK(spec.arguments[0] == "-c");
    CHECK(spec.arguments[1].ends_with(
        "\nexec sm mpirun --process_per_hosts \"$SM_NPROC_PER_NODE\" python -m mpi4py -m " +
        module + " \"$@\"\n"));
    CHECK(Args(spec.arguments.begin() + 2, spec.arguments.end()) ==
          Args{"job_driver.sh", "--s3_base_uri", "s3://b/f-1", "--distribution", "mpirun"});
  }
}

TEST_CASE("remote function: a script that names no module is left unchanged") {
  for (const char* script : {"", "mpirun python train.py", "python -m mpi4py -m ",
                             "python -m mpi4py -m $MODULE", "python -m mpi4py -m \"x\""}) {
    CAPTURE(script);
    job::Spec spec = remote();
    CHECK_FALSE(take_over_mpirun(spec, script));
    CHECK(spec == remote());
  }
}

}  // namespace
}  // namespace muster::jobs
