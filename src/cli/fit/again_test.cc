#include "cli/fit/again.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::cli {
namespace {

command::Given fit(const Args& args) {
  return command::given_in(command::page_of("fit"), args);
}

Json old(const Args& line) {
  return {{"TrainingJobName", "run-1"}, {"MusterLine", kept_line(fit(line))}};
}

Args again(const Args& line, const Args& typed, bool resume = false) {
  const Result<Args> args = line_again(old(line), {"run-2", fit(typed), resume});
  REQUIRE_MESSAGE(args, (args ? "" : args.error().text));
  return *args;
}

TEST_CASE("again: the record keeps a job's flags, but no value of a variable") {
  CHECK(kept_line(fit({"/f/train.py", "--env", "TOKEN=secret", "-H", "2", "--name", "run-1",
                       "--output", "/out", "--overwrite", "--json", "--raw", "--timeline",
                       "--detach", "--env-file", "/f/vars", "--", "--lr", "1"})) ==
        Args{"--env=TOKEN", "--hosts=2", "--detach", "--env-file=/f/vars", "/f/train.py", "--",
             "--lr", "1"});
}

TEST_CASE("again: the next job has the flags of the earlier one, but for those typed") {
  CHECK(again({"/t.py", "-p", "epochs=1", "-p", "lr=2", "-H", "2"}, {"-p", "epochs=5"}) ==
        Args{"--hyperparameter=lr=2", "--hosts=2", "--name=run-2", "--hyperparameter=epochs=5",
             "/t.py"});
  CHECK(again({"/t.py", "--env", "A=1", "--", "x"}, {"--env", "A=2", "--env", "B=3"}) ==
        Args{"--name=run-2", "--env=A=2", "--env=B=3", "/t.py", "--", "x"});
}

TEST_CASE("again: checkpoints go to a new place, or on in the old one") {
  CHECK(again({"/t.py", "--checkpoints", "/ck"}, {}) ==
        Args{"--checkpoints=/ck-run-2", "--name=run-2", "/t.py"});
  CHECK(again({"/t.py", "--checkpoints", "/ck"}, {}, true) ==
        Args{"--checkpoints=/ck", "--name=run-2", "/t.py"});
}

TEST_CASE("again: what is missing is refused by name") {
  const auto refusal = [](const Json& job, bool resume) {
    const Result<Args> args = line_again(job, {"run-2", fit({"--env", "B=1"}), resume});
    return args ? std::string() : args.error().text;
  };
  CHECK(refusal(old({"/t.py", "--env", "A=1", "--env", "B=2", "--env", "C=3"}), false) ==
        "the record of run-1 does not contain the values of environment variables; pass them "
        "again: --env A=… --env C=…");
  CHECK(refusal(old({"/t.py"}), true) ==
        "--resume: run-1 ran without --checkpoints, so it has no checkpoints");
  CHECK(refusal({{"TrainingJobName", "run-1"}}, false) ==
        "run-1: cannot be run again, because the older version of muster that ran this job did not "
        "record the command line; use sm fit");
}

TEST_CASE("again: a new place is the old one's with another name, or next to it") {
  struct {
    const char* place;
    const char* want;
  } const cases[] = {
      {"/ck", "/ck-new"},
      {"/ck/", "/ck-new"},
      {"/jobs/old/ck", "/jobs/new/ck"},
      {"s3://b/old/checkpoints", "s3://b/new/checkpoints"},
      {"s3://old/ck", "s3://old/ck-new"},
      {"s3://b", "s3://b/new"},
      {"s3://b/", "s3://b/new"},
      {"s3://b/older/ck/", "s3://b/older/ck-new"},
  };
  for (const auto& c : cases) CHECK(new_place(c.place, "old", "new") == c.want);
}

TEST_CASE("again: the time that was appended to a name is no part of the next") {
  CHECK(stem_of_job("train-2026-01-31-12-00-00-1a2b") == "train");
  CHECK(stem_of_job("sdk-2026-01-31-12-00-00-123") == "sdk");
  CHECK(stem_of_job("run-7") == "run-7");
  CHECK(stem_of_job("-2026-01-31-12-00-00-1a2b") == "-2026-01-31-12-00-00-1a2b");
}

}  // namespace
}  // namespace muster::cli
