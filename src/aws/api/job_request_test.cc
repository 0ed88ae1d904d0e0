#include "aws/api/job_request.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "aws/api/without_effect.h"

namespace muster::api {
namespace {

Json input() {
  return Json::parse(R"({
    "TrainingJobName": "demo",
    "AlgorithmSpecification": {"TrainingImage": "mine:1", "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "loss", "Regex": "loss=([0-9]+) "}]},
    "InputDataConfig": [{"ChannelName": "train", "DataSource": {"S3DataSource": {
        "S3DataType": "S3Prefix", "S3Uri": "s3://b/train"}}}],
    "OutputDataConfig": {"S3OutputPath": "s3://b/"},
    "ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": 11, "VolumeSizeInGB": 30}
  })");
}

std::string refusal_of(const char* patch) {
  Json asked = input();
  asked.merge_patch(Json::parse(patch));
  const Result<JobRequest, aws::Refusal> request = job_request(asked);
  return request ? "" : request.error().code + ": " + request.error().message;
}

TEST_CASE("job request: a request is parsed once") {
  const Result<JobRequest, aws::Refusal> request = job_request(input());
  REQUIRE(request);
  CHECK(request->spec.name == "demo");
  CHECK(request->spec.input.at(0).s3.url == "s3://b/train");
  CHECK(request->image == "mine:1");
  REQUIRE(request->metrics.size() == 1);
  CHECK(request->metrics[0].name == "loss");
  CHECK(request->metrics[0].expression == "loss=([0-9]+) ");
}

TEST_CASE("job request: hosts are in the order of their numbers, over instance groups too") {
  const std::vector<std::string> hosts = job_request(input())->hosts();
  REQUIRE(hosts.size() == 11);
  CHECK(hosts[1] == "algo-2");
  CHECK(hosts[10] == "algo-11");
  Json groups = input();
  groups["ResourceConfig"] = Json::parse(R"({"InstanceGroups": [
      {"InstanceGroupName": "a", "InstanceType": "ml.a", "InstanceCount": 2},
      {"InstanceGroupName": "b", "InstanceType": "ml.b", "InstanceCount": 1}]})");
  CHECK(job_request(groups)->hosts() == std::vector<std::string>{"algo-1", "algo-2", "algo-3"});
}

TEST_CASE("job request: unsupported jobs are refused in one line") {
  struct {
    const char* patch;
    const char* want;
  } const cases[] = {
      {R"({"AlgorithmSpecification": {"TrainingInputMode": "Pipe"}})",
       "TrainingInputMode Pipe is not supported"},
      {R"({"AlgorithmSpecification": {"TrainingImageConfig": {
            "TrainingRepositoryAccessMode": "Platform", "TrainingRepositoryAuthConfig": {
            "TrainingRepositoryCredentialsProviderArn": "arn:aws:lambda:a:0:function:b"}}}})",
       "TrainingRepositoryAuthConfig requires TrainingRepositoryAccessMode Vpc"},
      {R"({"ResourceConfig": null})", "ResourceConfig: expected InstanceType"},
      {R"({"ResourceConfig": {"InstanceType": null}})", "ResourceConfig: expected InstanceType"},
      {R"({"ResourceConfig": {"InstanceCount": 0}})", "ResourceConfig: expected InstanceType"},
      {R"({"ResourceConfig": {"InstanceCount": 1000}})", "ResourceConfig.InstanceCount"},
      {R"({"ResourceConfig": {"InstanceGroups": [{"InstanceCount": 1}]}})",
       "ResourceConfig: expected"},
      {R"({"InputDataConfig": [{"ChannelName": "a"}]})", "InputDataConfig[0].DataSource: this"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "InputMode": "Pipe", "DataSource":
          {"S3DataSource": {"S3Uri": "s3://b/x"}}}]})",
       "InputDataConfig[0].InputMode Pipe is not supported"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "DataSource": {"S3DataSource":
          {"S3Uri": "s3://b/x", "S3DataType": "AugmentedManifestFile"}}}]})",
       "AugmentedManifestFile requires Pipe mode"},
      {R"({"CheckpointConfig": {"S3Uri": "s3://b/c", "LocalPath": "/etc"}})",
       "CheckpointConfig.LocalPath"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.patch);
    const std::string got = refusal_of(c.patch);
    CHECK(got.starts_with("ValidationException: "));
    CHECK(got.find(c.want) != std::string::npos);
  }
}

TEST_CASE("job request: a stored one is read back, and damage is an error") {
  const Result<JobRequest> kept = job_request_from(to_text(input()));
  REQUIRE(kept);
  CHECK(kept->spec.instance_count == 11);
  CHECK(job_request_from("{").error().code == Errc::invalid_input);
  CHECK(job_request_from("{}").error().code == Errc::invalid_input);
}

TEST_CASE("job request: members without effect are named once, with what holds instead") {
  struct {
    const char* patch;
    const char* want;
  } const cases[] = {
      {"{}", ""},
      {R"({"EnableManagedSpotTraining": false, "OutputDataConfig": {"KmsKeyId": ""},
           "VpcConfig": null, "DebugHookConfig": {"S3OutputPath": "s3://b/d"}})",
       ""},
      {R"({"OutputDataConfig": {"KmsKeyId": "k"}, "RetryStrategy": {"MaximumRetryAttempts": 3}})",
       "accepted without effect: OutputDataConfig.KmsKeyId (objects are not encrypted)"},
      {R"({"AlgorithmSpecification": {"TrainingInputMode": "FastFile"},
           "ResourceConfig": {"KeepAlivePeriodInSeconds": 60}})",
       "accepted without effect: FastFile (as File: all data is copied before the job starts), "
       "ResourceConfig.KeepAlivePeriodInSeconds (hosts are removed when their job ends)"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "InputMode": "FastFile"}]})",
       "accepted without effect: FastFile (as File: all data is copied before the job starts)"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.patch);
    CHECK(without_effect(Json::parse(c.patch)) == c.want);
  }
}

}  // namespace
}  // namespace muster::api
