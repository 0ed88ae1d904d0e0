#include "platform/failure_reason.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace muster::platform {
namespace {

using job::Outcome;
using Taken = JobEnd::Taken;

JobReport report_of(const Outcome& outcome) {
  JobReport report;
  report.end.status = JobEnd::Status::failed;
  report.end.verdict.outcome = outcome;
  report.end.reason = "rank 3 on algo-2: exit code 3";
  return report;
}

std::ptrdiff_t characters_in(const std::string& text) {
  return std::count_if(text.begin(), text.end(),
                       [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; });
}

TEST_CASE("failure reason: it begins with who caused the failure") {
  struct {
    const char* name;
    Outcome outcome;
    const char* trouble;
    Taken taken;
    const char* failure_file;
    const char* want;
  } const cases[] = {
      {"the program's", Outcome::exited(3), "", Taken::no, "",
       "AlgorithmError: rank 3 on algo-2: exit code 3\nlast words"},
      {"a crash", Outcome::signaled(11), "", Taken::no, "",
       "AlgorithmError: rank 3 on algo-2: exit code 3\nlast words"},
      {"the program's, in its own words", Outcome::exited(3), "", Taken::no, "no labels",
       "AlgorithmError: no labels"},
      {"the place of the results", Outcome::exited(0), "access denied", Taken::no, "no labels",
       "ClientError: rank 3 on algo-2: exit code 3"},
      {"a host", Outcome::lost("no heartbeat"), "", Taken::no, "no labels",
       "ClientError: rank 3 on algo-2: exit code 3"},
      {"what could not start", Outcome::failed("not found"), "", Taken::no, "",
       "ClientError: rank 3 on algo-2: exit code 3"},
      {"a GPU", Outcome::exited(1), "", Taken::card_broken, "",
       "InternalServerError: rank 3 on algo-2: exit code 3"},
      {"a GPU's memory", Outcome::exited(1), "", Taken::card_memory, "no labels",
       "InternalServerError: rank 3 on algo-2: exit code 3"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name);
    JobReport report = report_of(c.outcome);
    report.end.verdict.last_lines = "last words";
    report.trouble = c.trouble;
    report.end.taken = c.taken;
    report.end.failure_file = c.failure_file;
    CHECK(failure_reason(report) == c.want);
    for (const auto status : {JobEnd::Status::completed, JobEnd::Status::stopped,
                              JobEnd::Status::timed_out, JobEnd::Status::waited_out}) {
      report.end.status = status;
      CHECK(failure_reason(report).empty());
    }
  }
}

TEST_CASE("failure reason: 1,024 characters hold the headline and the end of the last words") {
  JobReport report = report_of(Outcome::exited(1));
  for (int line = 1; line <= 15; ++line)
    report.end.verdict.last_lines +=
        "log line " + std::to_string(line) + std::string(90, 'x') + "\n";
  report.end.verdict.last_lines += "channel validation is empty\n";
  const std::string reason = failure_reason(report);
  CHECK(reason.size() <= 1024);
  CHECK(reason.size() > 900);
  CHECK(reason.starts_with("AlgorithmError: rank 3 on algo-2: exit code 3\nlog line"));
  CHECK(reason.ends_with("channel validation is empty"));

  report.end.failure_file.clear();
  for (int i = 0; i < 2000; ++i) report.end.failure_file += "\u00e4";  // Two bytes each.
  CHECK(characters_in(failure_reason(report)) == 1024);
  CHECK(failure_reason(report).starts_with("AlgorithmError: \u00e4"));
}

}  // namespace
}  // namespace muster::platform
