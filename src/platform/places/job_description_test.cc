#include "platform/places/job_description.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::places {
namespace {

job::Spec spec() {
  job::Spec spec;
  spec.name = "demo";
  spec.instance_count = 2;
  spec.hyperparameters = {{"epochs", "2"}};
  spec.environment = {{"TOKEN", "secret"}};
  spec.input.push_back({.name = "train", .folder = "/data/train"});
  spec.output_folder = "/out";
  return spec;
}

std::string text(const Json& json, const char* name) {
  return json.value(name, std::string());
}

TEST_CASE("job description: a job that begins, in the words of DescribeTrainingJob") {
  const Json job = description_of(spec(), UnixMillis(1500));
  CHECK(text(job, "TrainingJobName") == "demo");
  CHECK(text(job, "TrainingJobStatus") == "InProgress");
  CHECK(text(job, "MusterPlace") == "local");
  CHECK(text(job, "MusterNetwork") == "none");
  CHECK(job["CreationTime"] == 1.5);
  CHECK(job["ResourceConfig"]["InstanceCount"] == 2);
  CHECK(job["HyperParameters"]["epochs"] == "2");
  CHECK(job["OutputDataConfig"]["S3OutputPath"] == "file:///out");
  CHECK(job["InputDataConfig"][0]["DataSource"]["S3DataSource"]["S3Uri"] == "file:///data/train");
  CHECK(job.dump().find("secret") == std::string::npos);
  CHECK(!has_ended(job));
}

TEST_CASE("job description: each status has its last message") {
  Json job = description_of(spec(), UnixMillis(0));
  add_status(job, {"Starting", "one", UnixMillis(1000)});
  add_status(job, {"Starting", "two", UnixMillis(2000)});
  add_status(job, {"Downloading", "data", UnixMillis(3000)});
  add_status(job, {"Training", "on", UnixMillis(4000)});
  add_status(job, {"Stopping", "ends", UnixMillis(5000)});
  const Json& changes = job["SecondaryStatusTransitions"];
  REQUIRE(changes.size() == 4);
  CHECK(text(changes[0], "StatusMessage") == "two");
  CHECK(changes[0]["EndTime"] == 3.0);
  CHECK(text(job, "SecondaryStatus") == "Stopping");
  CHECK(text(job, "TrainingJobStatus") == "Stopping");
  CHECK(job["TrainingStartTime"] == 3.0);
}

TEST_CASE("job description: a hang is a mark, and a message next to the status's own") {
  Json job = description_of(spec(), UnixMillis(1000));
  add_status(job, {"Downloading", "reads", UnixMillis(1500)});
  add_status(job, {"Training", "hangs", UnixMillis(1700), true});  // Not the present status.
  add_status(job, {"Training", "trains", UnixMillis(2000)});
  for (int time : {5000, 8000}) {
    add_status(job, {"Training", "hangs", UnixMillis(time), true});
    add_standstill(job, platform::Standstill{UnixMillis(2500), UnixMillis(time), "hangs"});
    const Json& changes = job["SecondaryStatusTransitions"];
    REQUIRE(changes.size() == 3);
    CHECK(changes[1]["StatusMessage"] == "trains");
    CHECK(changes[1]["EndTime"] == time / 1000);
    CHECK(changes[2]["StatusMessage"] == "hangs");
    CHECK(changes[2]["StartTime"] == time / 1000);
  }
  add_status(job, {"Training", "still trains", UnixMillis(9000)});
  CHECK(job["SecondaryStatusTransitions"][1]["StatusMessage"] == "still trains");
  CHECK(job["MusterHang"] == Json{{"since", 2.5}, {"noticed", 8.0}, {"verdict", "hangs"}});
  CHECK(summary_of(job)["MusterHang"] == job["MusterHang"]);
  add_standstill(job, platform::Standstill{UnixMillis(2500), UnixMillis(8000), ""});
  CHECK(!job.contains("MusterHang"));
  CHECK(summary_of(job)["MusterSilentSince"] == 2.5);
  add_loss(job, UnixMillis(9000));
  CHECK(!job.contains("MusterSilentSince"));
}

TEST_CASE("job description: hosts next to their GPUs are told by their logs") {
  Json job = description_of(spec(), UnixMillis(1500));
  add_log(job, "algo-1", {"info", "NUMA: CPUs 0-7 and memory of node 0, next to the GPUs"});
  add_log(job, "algo-2", {"info", "anything else"});
  CHECK(job["MusterNuma"] == Json{{"algo-1", "CPUs 0-7 and memory of node 0, next to the GPUs"}});
}

TEST_CASE("job description: an end has its exit code, its headline and its cause") {
  Json job = description_of(spec(), UnixMillis(0));
  platform::JobReport report;
  report.end.status = platform::JobEnd::Status::failed;
  report.end.reason = "rank 2 on algo-2: exit code 1: ValueError: bad batch";
  report.end.verdict.outcome = job::Outcome::exited(1);
  report.end.verdict.last_lines = "Traceback\nValueError: bad batch\n";
  report.end.training_time = std::chrono::seconds(7);
  report.end.last = {"Failed", "Training job failed", UnixMillis(9000)};
  report.results.written = true;
  add_end(job, report, 1);
  CHECK(has_ended(job));
  CHECK(text(job, "TrainingJobStatus") == "Failed");
  CHECK(text(job, "FailureReason") ==
        "AlgorithmError: rank 2 on algo-2: exit code 1: ValueError: bad batch\n"
        "Traceback\nValueError: bad batch");
  CHECK(job["BillableTimeInSeconds"] == 7);
  CHECK(job["MusterExitCode"] == 1);
  CHECK(job["MusterResults"] == true);
  CHECK(job["TrainingEndTime"] == 9.0);
  const Json summary = summary_of(job);
  CHECK(text(summary, "MusterPlace") == "local");
  CHECK(!summary.contains("FailureReason"));
}

TEST_CASE("job description: a job out of time has stopped, and a lost one has failed") {
  Json late = description_of(spec(), UnixMillis(0));
  platform::JobReport report;
  report.end.status = platform::JobEnd::Status::timed_out;
  report.end.last = {"MaxRuntimeExceeded", "too long", UnixMillis(1)};
  add_end(late, report, 4);
  CHECK(text(late, "TrainingJobStatus") == "Stopped");
  CHECK(text(late, "SecondaryStatus") == "MaxRuntimeExceeded");
  CHECK(!late.contains("FailureReason"));

  Json lost = description_of(spec(), UnixMillis(0));
  add_loss(lost, UnixMillis(2000));
  CHECK(has_ended(lost));
  CHECK(text(lost, "FailureReason").starts_with("lost: "));
  CHECK(lost["TrainingEndTime"] == 2.0);
}

}  // namespace
}  // namespace muster::places
