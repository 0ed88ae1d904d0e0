#pragma once

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/fd.h"
#include "server/jobs/priority.h"
#include "server/operations/job_search.h"
#include "server/operations/operations.h"
#include "server/test_journals.h"

// Tests only: operations on a store of their own, with jobs that are only counted.

namespace muster::server {

inline UnixMillis at(std::int64_t ms) {
  return UnixMillis(ms);
}

struct FakeJobs final : jobs::Jobs {
  std::string calls;
  std::string why;
  Result<void, aws::Refusal> checked;
  std::optional<platform::Standstill> found;
  std::string why_waiting(const std::string&) const override { return why; }
  std::optional<platform::Standstill> standstill(const std::string&) const override {
    return found;
  }
  Json slurm;
  Json in_slurm(const std::string&) const override { return slurm; }
  Result<void, aws::Refusal> check(const api::JobRequest&) const override { return checked; }
  Result<void, aws::Refusal> pin(api::JobRequest& request) const override {
    for (job::InputChannel& channel : request.spec.input)
      if (channel.s3.manifest) channel.s3.etag = "tag-of-" + channel.name;
    return {};
  }
  bool is_full = false;
  Result<void, aws::Refusal> check_room(const std::string& key) const override {
    if (is_full) return aws::Refusal{"ResourceLimitExceeded", key + " has many"};
    return {};
  }
  std::optional<jobs::QueuePlace> placed;
  void submitted(const std::string& name, api::JobRequest, jobs::Turn turn) override {
    calls += "submitted " + name + "; ";
    turns.push_back(std::move(turn));
  }
  std::vector<jobs::Turn> turns;
  Result<std::optional<int>, aws::Refusal> priority(const store::Tags& tags,
                                                    const std::string& key) const override {
    jobs::JobConfig config;
    config.priority_max = {{"LOW", 2}};
    return jobs::priority_asked_for(tags, key, config);
  }
  void set_priority(const std::string& name, int priority) override {
    calls += name + " has priority " + std::to_string(priority) + "; ";
  }
  std::optional<jobs::QueuePlace> place(const std::string&) const override { return placed; }
  void stop(const std::string& name) override { calls += "stop " + name + "; "; }
  void kill(const std::string& name) override { calls += "kill " + name + "; "; }
  void deleted(const std::string& name) override { calls += "deleted " + name + "; "; }
};

struct World {
  std::string folder = *make_private_folder("/tmp", "muster-operations-");
  store::Store store = *store::Store::open(folder + "/store.db");
  FakeJobs jobs;
  server::TestJournals journals{folder};
  cloudwatch::Logs logs{store, api::Realm{}, journals.files};
  cloudwatch::Metrics metrics{journals.loop, store, journals.files};
  UnixMillis now = at(1'000'000);
  Stacks stacks{store, {api::Realm{}, [this] { return now; }}};
  Operations operations{store, jobs, logs, metrics, stacks, {api::Realm{}, [this] { return now; }}};
  ~World() { std::filesystem::remove_all(folder); }

  /// An answer, or {"code", "message"}.
  Json ask(const std::string& operation, const Json& input, const std::string& invocation = "") {
    const api::Answer answer =
        operation == "Search"
            ? search(input)
            : operations.operate({"sagemaker", operation, input, "AK", invocation});
    if (!answer) return {{"code", answer.error().code}, {"message", answer.error().message}};
    return *answer;
  }
  api::Answer search(const Json& input) {
    JobSearch search(store, jobs, input);
    std::optional<api::Answer> answer;
    while (!answer) {
      const std::uint64_t before = store.effort();
      answer = search.step();
      step_effort_max = std::max(step_effort_max, store.effort() - before);
    }
    return *answer;
  }
  std::uint64_t step_effort_max = 0;  ///< The largest of a search's steps.
  std::string code(const std::string& operation, const Json& input) {
    return ask(operation, input).value("code", "none");
  }
};

inline Json job_input(const std::string& name) {
  Json input = Json::parse(R"({"RoleArn": "arn:aws:iam::000000000000:role/r",
    "AlgorithmSpecification": {"TrainingImage": "host", "TrainingInputMode": "File"},
    "OutputDataConfig": {"S3OutputPath": "s3://b/out/"},
    "ResourceConfig": {"InstanceType": "local", "InstanceCount": 2, "VolumeSizeInGB": 1},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60}, "SomethingNew": {"Deep": [1]},
    "Tags": [{"Key": "team", "Value": "x"}]})");
  input["TrainingJobName"] = name;
  return input;
}

}  // namespace muster::server
