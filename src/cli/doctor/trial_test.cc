#include "cli/doctor/trial.h"

#include <doctest/doctest.h>

namespace muster::cli {
namespace {

using namespace std::chrono_literals;

TEST_CASE("trial: a job's failure is reported in one line, with its explanation") {
  platform::JobReport well;
  well.end.status = platform::JobEnd::Status::completed;
  platform::JobReport failed;
  failed.end.status = platform::JobEnd::Status::failed;
  failed.end.reason = "algo-1 could not be started: runc: did not respond within a minute";
  platform::JobReport left = well;
  left.trouble = "the job's folder could not be removed";
  struct {
    const char* name;
    Result<platform::JobReport> report;
    bool too_long;
    bool good;
    const char* found;
    const char* advice;
  } const cases[] = {
      {"it ran", well, false, true, "completed in 0.4 s", ""},
      {"it failed", failed, false, false,
       "algo-1 could not be started: runc: did not respond within a minute",
       "sm explain runc-failed"},
      {"it could not be asked for", fail(Errc::denied, "/x/jobs: Permission denied"), false, false,
       "/x/jobs: Permission denied", "sm explain"},
      {"it was killed", failed, true, false, "did not finish within 0.4 s",
       "sm fit fails in the same way"},
      {"it left something", left, false, false, "the job's folder could not be removed",
       "sm fit fails in the same way"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const Finding got = finding_of_trial(c.report, 420ms, c.too_long);
    CHECK(got.good == c.good);
    CHECK(got.needed);
    CHECK(got.found == c.found);
    CHECK(got.advice.starts_with(c.advice));
    CHECK(got.advice.empty() == c.good);
  }
}

}  // namespace
}  // namespace muster::cli
