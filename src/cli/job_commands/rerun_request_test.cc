#include "cli/job_commands/rerun_request.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::cli {
namespace {

Json old_job() {
  return *parse_json(R"({
    "TrainingJobName": "old", "TrainingJobArn": "arn:old", "TrainingJobStatus": "Failed",
    "RoleArn": "arn:role", "MusterCause": {},
    "AlgorithmSpecification": {"TrainingImage": "host", "TrainingInputMode": "File"},
    "HyperParameters": {"sagemaker_program": "\"t.py\"", "sagemaker_job_name": "\"old\"",
      "sagemaker_submit_directory": "\"s3://b/old/source/sourcedir.tar.gz\"",
      "epochs": "1", "lr": "0.1"},
    "Environment": {"A": "1"},
    "InputDataConfig": [
      {"ChannelName": "train", "DataSource": {"S3DataSource":
        {"S3DataType": "S3Prefix", "S3Uri": "s3://b/data/"}}},
      {"ChannelName": "list", "DataSource": {"S3DataSource":
        {"S3DataType": "ManifestFile", "S3Uri": "s3://b/list.json"}}},
      {"ChannelName": "disk", "DataSource": {"FileSystemDataSource": {}}}],
    "CheckpointConfig": {"S3Uri": "s3://b/old/checkpoints", "LocalPath": "/ck"},
    "OutputDataConfig": {"S3OutputPath": "s3://b/"},
    "ResourceConfig": {"InstanceType": "local", "InstanceCount": 2},
    "StoppingCondition": {"MaxRuntimeInSeconds": 60}, "VpcConfig": null})");
}

TEST_CASE("rerun: a request is the earlier one under another name") {
  const Json tags =
      *parse_json(R"([{"Key": "team", "Value": "v"}, {"Key": "aws:x", "Value": "y"}])");
  NextJob next{"new", {{{"epochs", "5"}, {"text", "a b"}}}, {{"B", "2"}}};
  const Result<Json> request = request_again(old_job(), tags, next);
  REQUIRE(request);
  Json want = old_job();
  for (const char* name : {"TrainingJobArn", "TrainingJobStatus", "MusterCause", "VpcConfig"})
    want.erase(name);
  want["TrainingJobName"] = "new";
  want["HyperParameters"]["epochs"] = "5";
  want["HyperParameters"]["text"] = "\"a b\"";
  want["HyperParameters"]["sagemaker_job_name"] = "\"new\"";
  want["Environment"]["B"] = "2";
  want["CheckpointConfig"]["S3Uri"] = "s3://b/new/checkpoints";
  want["Tags"] = *parse_json(R"([{"Key": "team", "Value": "v"}])");
  CHECK(*request == want);
}

TEST_CASE("rerun: checkpoints stay where they are for a job that resumes") {
  NextJob next{.name = "new", .resume = true};
  CHECK((*request_again(old_job(), Json::array(), next))["CheckpointConfig"]["S3Uri"] ==
        "s3://b/old/checkpoints");
  Json none = old_job();
  none.erase("CheckpointConfig");
  CHECK(request_again(none, Json::array(), next).error().text ==
        "--resume: old has no CheckpointConfig, so it has no checkpoints");
}

TEST_CASE("rerun: an image's own program gets its hyperparameters as they are") {
  Json old = old_job();
  old["HyperParameters"] = {{"a", "1"}};
  const NextJob next{"new", {{{"b", "x y"}}}};
  CHECK((*request_again(old, Json::array(), next))["HyperParameters"] ==
        Json{{"a", "1"}, {"b", "x y"}});
}

TEST_CASE("rerun: the objects of a request are its code, its inputs and what it resumes from") {
  const std::vector<NamedObjects> want = {{"code", "s3://b/old/source/sourcedir.tar.gz"},
                                          {"input train", "s3://b/data/", true},
                                          {"input list", "s3://b/list.json"}};
  CHECK(objects_of(old_job(), false) == want);
  CHECK(objects_of(old_job(), true).back() ==
        NamedObjects{"checkpoints", "s3://b/old/checkpoints", true});
}

}  // namespace
}  // namespace muster::cli
