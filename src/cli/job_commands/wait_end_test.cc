#include "cli/job_commands/wait_end.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "cli/exit_code_of.h"
#include "cli/view/job_view.h"

namespace muster::cli {
namespace {

TEST_CASE("wait: a wait ends with the code of the first job that did not complete") {
  const auto ended = [](const char* status, const char* secondary) {
    return Json{{"TrainingJobStatus", status}, {"SecondaryStatus", secondary}};
  };
  const Json good = ended("Completed", "Completed"), bad = ended("Failed", "Failed");
  const Json late = ended("Stopped", "MaxRuntimeExceeded"), runs;
  struct {
    std::vector<Json> jobs;
    std::optional<int> all, any;
  } const cases[] = {
      {{good}, exit_success, exit_success},
      {{good, late, bad}, exit_timed_out, exit_timed_out},
      {{bad, late}, exit_job_failed, exit_job_failed},
      {{runs, runs}, std::nullopt, std::nullopt},
      {{runs, good}, std::nullopt, exit_success},
      {{late, runs, good}, std::nullopt, exit_timed_out},
  };
  for (const auto& one : cases) {
    CAPTURE(one.jobs.size());
    CHECK(code_of_wait(one.jobs, false) == one.all);
    CHECK(code_of_wait(one.jobs, true) == one.any);
  }
}

}  // namespace
}  // namespace muster::cli
