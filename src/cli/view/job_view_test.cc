#include "cli/view/job_view.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/process/local_time.h"
#include "cli/exit_code_of.h"

namespace muster::cli {
namespace {

UnixMillis ms(std::int64_t count) {
  return UnixMillis(count);
}

Json json(const char* text) {
  const Result<Json> parsed = parse_json(text);
  REQUIRE(parsed);
  return *parsed;
}

TEST_CASE("jobs: the table of jobs is aligned, whatever a server says") {
  use_utc();
  CHECK(jobs_table(Json::array(), ms(0), false) == "no jobs\n");
  CHECK(jobs_table(Json(), ms(0), true) == "no jobs\n");
  const Json jobs = json(R"([
    {"TrainingJobName": "a", "TrainingJobStatus": "InProgress", "SecondaryStatus": "Training",
     "CreationTime": 1000.5},
    {"TrainingJobName": "longer\u001b[1m", "TrainingJobStatus": "Completed",
     "SecondaryStatus": "Completed", "CreationTime": 0, "TrainingEndTime": 7500},
    {"TrainingJobName": "never", "TrainingJobStatus": "Failed", "SecondaryStatus": "Failed",
     "CreationTime": 0, "LastModifiedTime": 65.9},
    {"TrainingJobName": 7, "CreationTime": 1e300}, 5])");
  CHECK(jobs_table(jobs, ms(1010'000), false) ==
        "NAME           STATUS                 CREATED                     TOOK\n"
        "a              InProgress (Training)  1970-01-01 00:16:40 +00:00  9s\n"
        "longer\\x1b[1m  Completed              1970-01-01 00:00:00 +00:00  2h05m\n"
        "never          Failed                 1970-01-01 00:00:00 +00:00  1m05s\n"
        "                                      -                           -\n"
        "                                      -                           -\n");
  const std::string coloured = jobs_table(jobs, ms(0), true);
  CHECK(coloured.find("\x1b[31mFailed") != std::string::npos);
}

TEST_CASE("jobs: a queue is listed as docs/users/queue.md shows it") {
  use_utc();
  const Json jobs = json(R"([
    {"TrainingJobName": "train-9", "TrainingJobStatus": "InProgress", "SecondaryStatus": "Pending",
     "CreationTime": 1769860810, "MusterQueuePlace": 2, "MusterQueueLength": 2},
    {"TrainingJobName": "train-8", "TrainingJobStatus": "InProgress", "SecondaryStatus": "Pending",
     "CreationTime": 1769860807, "MusterQueuePlace": 1, "MusterQueueLength": 2,
     "MusterPriority": 5},
    {"TrainingJobName": "train-7", "TrainingJobStatus": "InProgress", "SecondaryStatus": "Training",
     "CreationTime": 1769860500}])");
  CHECK(
      jobs_table(jobs, ms(1'769'860'812'000), false) ==
      "NAME     STATUS                                          CREATED                     TOOK\n"
      "train-9  InProgress (Pending: place 2 of 2)              2026-01-31 12:00:10 +00:00  2s\n"
      "train-8  InProgress (Pending: place 1 of 2, priority 5)  2026-01-31 12:00:07 +00:00  5s\n"
      "train-7  InProgress (Training)                           2026-01-31 11:55:00 +00:00  "
      "5m12s\n");
}

TEST_CASE("jobs: next to a server's jobs this machine's are marked, and their places are paths") {
  use_utc();
  const Json jobs = json(R"([
    {"TrainingJobName": "here", "TrainingJobStatus": "Completed", "SecondaryStatus": "Completed",
     "CreationTime": 0, "TrainingEndTime": 5, "MusterPlace": "local"},
    {"TrainingJobName": "there", "TrainingJobStatus": "Completed", "SecondaryStatus": "Completed",
     "CreationTime": 0, "TrainingEndTime": 5}])");
  CHECK(jobs_table(jobs, ms(0), false) ==
        "NAME   STATUS     CREATED                     TOOK  WHERE\n"
        "here   Completed  1970-01-01 00:00:00 +00:00  5s    local\n"
        "there  Completed  1970-01-01 00:00:00 +00:00  5s    server\n");
  const Json own = json(R"({
    "TrainingJobName": "here", "TrainingJobStatus": "Failed", "MusterPlace": "local",
    "OutputDataConfig": {"S3OutputPath": "file:///out"}, "MusterResults": true,
    "MusterExitCode": 1})");
  CHECK(results_of(own) == "/out");
  const std::string text = job_text(own, false);
  for (const char* line : {"Where      this machine\n", "Output     /out\n",
                           "Log        /out/log\n", "Exit code  1\n"})
    CHECK(text.find(line) != std::string::npos);
  CHECK(end_object(own).find(R"("output":"/out")") != std::string::npos);
  CHECK(local_job_text(own) ==
        "here is a job of sm fit on this machine, not of a server: its results are in /out; sm "
        "delete deletes it, with its log");
  Json nothing = own;
  nothing["MusterResults"] = false;
  CHECK(job_text(nothing, false).find("/out") == std::string::npos);
  CHECK(local_job_text(nothing).find(": it has no results; sm delete") != std::string::npos);
  nothing["TrainingJobStatus"] = "InProgress";
  CHECK(local_job_text(nothing).find(": it has not ended yet; sm logs") != std::string::npos);
  CHECK(results_of(json(R"({"OutputDataConfig": {"S3OutputPath": "s3://b"},
                            "MusterResults": true})")) == "");
}

TEST_CASE("jobs: a description is text for people, with what there is") {
  const Json job = json(R"({
    "MusterStewards": {"algo-1": 4711, "algo-2": 4712},
    "TrainingJobName": "j", "TrainingJobStatus": "Stopped", "SecondaryStatus": "MaxRuntimeExceeded",
    "AlgorithmSpecification": {"TrainingImage": "host"}, "FailureReason": "too\nlong",
    "ResourceConfig": {"InstanceGroups": [{"InstanceType": "a", "InstanceCount": 2},
                                          {"InstanceType": "b", "InstanceCount": 1}]},
    "CreationTime": 0, "TrainingTimeInSeconds": 61, "HyperParameters": {"epochs": "2"},
    "InputDataConfig": [{"ChannelName": "train",
                         "DataSource": {"S3DataSource": {"S3Uri": "s3://b/k"}}}, 7],
    "FinalMetricDataList": [{"MetricName": "loss", "Value": 0.5}],
    "SecondaryStatusTransitions":
        [{"Status": "Training", "StartTime": 1, "StatusMessage": "m"}]})");
  use_utc();
  CHECK(job_text(job, false) ==
        "Name           j\n"
        "Status         Stopped (MaxRuntimeExceeded)\n"
        "Reason         too\n"
        "               long\n"
        "Image          host\n"
        "Hosts          2 x a, 1 x b\n"
        "Stewards       algo-1 4711, algo-2 4712\n"
        "Created        1970-01-01 00:00:00 +00:00\n"
        "Training time  1m01s\n"
        "Inputs:\n"
        "  train  s3://b/k\n"
        "         \n"
        "Hyperparameters:\n"
        "  epochs  2\n"
        "Metrics:\n"
        "  loss  0.5\n"
        "Statuses:\n"
        "  1970-01-01 00:00:01 +00:00  Training  m\n");
  CHECK(hosts_of_job(job) == 3);
  CHECK(exit_code_of_job(job) == exit_timed_out);
  CHECK(end_text(job, false) == "Stopped: too\n    long\n");
  CHECK(end_object(job) ==
        R"({"exit_code":4,"job":"j","metrics":{"loss":0.5},"output":null,"reason":"too\nlong",)"
        R"("secondary_status":"MaxRuntimeExceeded","status":"Stopped","training_seconds":183,)"
        R"("type":"end"})"
        "\n");
  CHECK(job_text(json("{}"), true).find("Hosts") != std::string::npos);
}

TEST_CASE("jobs: a description shows which processors are next to hosts' GPUs") {
  Json job = json(R"({"TrainingJobName": "j", "TrainingJobStatus": "Completed",
                      "MusterExitCode": 0})");
  job["MusterNuma"] = {{"algo-1", "CPUs 8-15 and memory of node 1, next to the GPUs"},
                       {"algo-2",
                        "not next to the GPUs: the host's share is 16 CPUs, but node 1 of its GPUs "
                        "has 8 CPUs for it"}};
  const std::string text = job_text(job, false);
  CHECK(
      text.find("NUMA       algo-1: CPUs 8-15 and memory of node 1, next to the GPUs\n"
                "           algo-2: not next to the GPUs: the host's share is 16 CPUs, but node 1 "
                "of its GPUs has 8 CPUs for it\n") != std::string::npos);
}

TEST_CASE("jobs: a job on a Slurm cluster says where it is there") {
  use_utc();
  Json job = json(R"({
    "TrainingJobName": "t", "TrainingJobStatus": "InProgress", "SecondaryStatus": "Pending",
    "CreationTime": 0, "MusterPlace": "local",
    "MusterSlurm": {"JobId": "17", "Name": "muster-t-0123456789abcdef", "Nodes": "",
                    "Reason": "Resources\u001b[2J", "EarlierJobIds": ["15", "16", 3]}})");
  CHECK(jobs_table(Json::array({job}), ms(5000), false) ==
        "NAME  STATUS                CREATED                     TOOK  WHERE\n"
        "t     InProgress (Pending)  1970-01-01 00:00:00 +00:00  5s    slurm 17 "
        "(Resources\\x1b[2J)\n"
        "t (muster-t-0123456789abcdef): squeue -j 17, scancel 17; earlier attempts: 15, 16\n");
  const std::string waits = job_text(job, false);
  CHECK(waits.find("Where      a Slurm cluster\n") != std::string::npos);
  CHECK(waits.find("Slurm job  17  muster-t-0123456789abcdef\n"
                   "           squeue -j 17, scancel 17; earlier attempts: 15, 16\n"
                   "Waits for  Resources\\x1b[2J\n") != std::string::npos);
  job["TrainingJobStatus"] = "Completed";
  job["MusterSlurm"]["Nodes"] = "node[1-2]";
  const std::string ended = job_text(job, false);
  CHECK(ended.find("Nodes      node[1-2]\n") != std::string::npos);
  CHECK(ended.find("scancel") == std::string::npos);
  CHECK(ended.find("Waits for") == std::string::npos);
  job.erase("MusterPlace");  // As a server lists it.
  const Json there = json(R"({"TrainingJobName": "u", "TrainingJobStatus": "Completed"})");
  CHECK(jobs_table(Json::array({job, there}), ms(0), false) ==
        "NAME  STATUS               CREATED                     TOOK  WHERE\n"
        "t     Completed (Pending)  1970-01-01 00:00:00 +00:00  -     slurm 17 on node[1-2]\n"
        "u     Completed            -                           -     server\n");
}

TEST_CASE("jobs: a job that hangs or is silent says so in the list and its description") {
  use_utc();
  Json job{{"TrainingJobName", "j"},
           {"TrainingJobStatus", "InProgress"},
           {"SecondaryStatus", "Training"},
           {"MusterSilentSince", 100}};
  const UnixMillis now(820'000);
  const auto row = [&job, &now] { return jobs_table(Json::array({job}), now, false); };
  CHECK(row().find("InProgress (Training: silent for 12 min)") != std::string::npos);
  CHECK(job_text(job, false).find("Last line  1970-01-01 00:01:40 +00:00") != std::string::npos);
  job["MusterSilentSince"] = -7000;
  CHECK(row().find("silent for 2 h 10 min") != std::string::npos);
  job["MusterHang"] = {{"since", 100}, {"noticed", 200}, {"verdict", "the job hangs\x1b[2J"}};
  CHECK(row().find("InProgress (Training: hangs)") != std::string::npos);
  CHECK(job_text(job, false)
            .find("Hang       the job hangs\\x1b[2J\n"
                  "           since 1970-01-01 00:01:40 +00:00; sm stacks j shows") !=
        std::string::npos);
  CHECK(job_text(job, true).find("\x1b[31mInProgress") != std::string::npos);
  job["TrainingJobStatus"] = "Completed";
  CHECK(row().find("hangs") == std::string::npos);
  CHECK(row().find("silent") == std::string::npos);
  CHECK(job_text(job, false).find("Hang") == std::string::npos);
}

TEST_CASE("jobs: following a job returns its end as the exit code") {
  struct {
    const char* status;
    const char* secondary;
    bool ended;
    int code;
    const char* text;
  } const cases[] = {
      {"Completed", "Completed", true, exit_success, ""},
      {"Failed", "Failed", true, exit_job_failed, "Failed: on request\n"},
      {"Stopped", "Stopped", true, exit_job_failed, "Stopped: on request\n"},
      {"Stopped", "MaxRuntimeExceeded", true, exit_timed_out,
       "Stopped: exceeded its time limit (sm explain timeout)\n"},
      {"InProgress", "Training", false, exit_job_failed, ""},
  };
  for (const auto& one : cases) {
    CAPTURE(one.status);
    const Json job{{"TrainingJobStatus", one.status}, {"SecondaryStatus", one.secondary}};
    CHECK(has_ended(job) == one.ended);
    CHECK(exit_code_of_job(job) == one.code);
    if (std::string(one.status) != "Failed") CHECK(end_text(job, false) == one.text);
  }
}

TEST_CASE("jobs: the end of a job that was waited for is one line") {
  CHECK(ended_line({{"TrainingJobName", "a"}, {"TrainingJobStatus", "Completed"}}) ==
        "a: Completed\n");
  CHECK(ended_line({{"TrainingJobName", "a"},
                    {"TrainingJobStatus", "Failed"},
                    {"SecondaryStatus", "Failed"},
                    {"FailureReason", "exit code 1\x1b[2J\nTraceback"}}) ==
        "a: Failed: exit code 1\\x1b[2J\n");
  CHECK(ended_line({{"TrainingJobName", "a"},
                    {"TrainingJobStatus", "Stopped"},
                    {"SecondaryStatus", "MaxRuntimeExceeded"}}) ==
        "a: Stopped (MaxRuntimeExceeded)\n");
}

TEST_CASE("jobs: a job's results are in a separate folder below its output") {
  const auto of = [](const char* path) {
    return output_place({{"TrainingJobName", "j"}, {"OutputDataConfig", {{"S3OutputPath", path}}}});
  };
  CHECK(of("s3://b") == "s3://b/j/output/");
  CHECK(of("s3://b/some/where//") == "s3://b/some/where/j/output/");
  CHECK(output_place(json("{}")).empty());
  CHECK(!is_unpacked(json("{}")));
  CHECK(!is_unpacked(json(R"({"OutputDataConfig": {"CompressionType": "GZIP"}})")));
  CHECK(is_unpacked(json(R"({"OutputDataConfig": {"CompressionType": "NONE"}})")));
  CHECK(output_place(json(R"({"OutputDataConfig": {"S3OutputPath": "s3://b"}})")).empty());
}

TEST_CASE("jobs: MPI's processes are read from the hyperparameters") {
  const auto of = [](const char* text) { return processes_per_host_of(json(text)); };
  CHECK(of("{}") == 0);
  CHECK(of(R"({"HyperParameters": {"sagemaker_mpi_enabled": "true",
               "sagemaker_mpi_num_of_processes_per_host": "2"}})") == 2);
  CHECK(of(R"({"HyperParameters": {"sagemaker_mpi_enabled": "true"}})") == 1);
  CHECK(of(R"({"HyperParameters": {"sagemaker_mpi_enabled": "false",
               "sagemaker_mpi_num_of_processes_per_host": "2"}})") == 0);
}

}  // namespace
}  // namespace muster::cli
