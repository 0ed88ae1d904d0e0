#include "host/env/job_files.h"

#include <doctest/doctest.h>

#include "base/fd.h"
#include "base/files/remove_tree.h"

namespace muster::env {
namespace {

TEST_CASE("job files: a missing one is named with its path and what it should hold") {
  const std::string base = *make_private_folder("/tmp", "muster-job-files-test-");
  const std::string config = base + "/input/config/";
  const struct {
    const char* name;
    const char* text;
    const char* wants;
  } files[] = {
      {"resourceconfig.json", R"({"current_host": "a", "hosts": ["a"]})",
       "expected a JSON object with the job's hosts"},
      {"hyperparameters.json", "{}", "expected a JSON object, {} for none"},
      {"inputdataconfig.json", "{}", "expected the job's channels, {} for none"},
  };
  REQUIRE(make_folders(config));
  const Env env = {{"SAGEMAKER_BASE_DIR", base}};
  for (const auto& file : files) {
    const Result<job::Training> training = read_training(env);
    REQUIRE(!training);
    CHECK(training.error().code == Errc::not_found);
    CHECK(training.error().text ==
          "cannot open " + config + file.name + ": No such file or directory; " + file.wants +
              " (to use a folder other than /opt/ml, set SAGEMAKER_BASE_DIR)");
    REQUIRE(write_file(config + file.name, file.text));
  }
  CHECK(read_training(env));
  CHECK(remove_tree(base));
}

}  // namespace
}  // namespace muster::env
