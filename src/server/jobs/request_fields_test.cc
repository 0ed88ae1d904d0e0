// What aws/api/field_table.h says of CreateTrainingJob's members, held against what is done with
// them.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "aws/api/field_table.h"
#include "aws/api/rules.h"
#include "base/text.h"
#include "server/jobs/job_spec.h"

namespace muster::jobs {
namespace {

Json base() {
  return Json::parse(R"({
    "TrainingJobName": "demo", "RoleArn": "arn:aws:iam::000000000000:role/r",
    "AlgorithmSpecification": {"TrainingImage": "host", "TrainingInputMode": "File"},
    "InputDataConfig": [{"ChannelName": "train", "DataSource": {"S3DataSource": {
        "S3DataType": "S3Prefix", "S3Uri": "s3://b/train"}}}],
    "OutputDataConfig": {"S3OutputPath": "s3://b/"},
    "ResourceConfig": {"InstanceType": "ml.c5.xlarge", "InstanceCount": 2},
    "StoppingCondition": {"MaxRuntimeInSeconds": 600}
  })");
}

/// A value for each path of the table that says something, unlike the base's.
const std::map<std::string, const char*> values = {
    {"TrainingJobName", R"("other")"},
    {"HyperParameters", R"({"lr": "1"})"},
    {"AlgorithmSpecification.TrainingImage", R"("mine")"},
    {"AlgorithmSpecification.AlgorithmName", R"("xgboost")"},
    {"AlgorithmSpecification.TrainingInputMode", R"("Pipe")"},
    {"AlgorithmSpecification.MetricDefinitions", R"([{"Name": "loss", "Regex": "x"}])"},
    {"AlgorithmSpecification.EnableSageMakerMetricsTimeSeries", "true"},
    {"AlgorithmSpecification.ContainerEntrypoint", R"(["run"])"},
    {"AlgorithmSpecification.ContainerArguments", R"(["now"])"},
    {"AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAccessMode", R"("Vpc")"},
    {"AlgorithmSpecification.TrainingImageConfig.TrainingRepositoryAuthConfig",
     R"({"TrainingRepositoryCredentialsProviderArn":
         "arn:aws:lambda:us-east-1:000000000000:function:team"})"},
    {"RoleArn", R"("arn:aws:iam::000000000000:role/other")"},
    {"InputDataConfig.ChannelName", R"("other")"},
    {"InputDataConfig.DataSource.S3DataSource.S3Uri", R"("s3://b/other")"},
    {"InputDataConfig.DataSource.S3DataSource.S3DataDistributionType", R"("ShardedByS3Key")"},
    {"InputDataConfig.DataSource.S3DataSource.InstanceGroupNames", R"(["none"])"},
    {"InputDataConfig.DataSource.S3DataSource.S3DataType", R"("ManifestFile")"},
    {"InputDataConfig.DataSource.S3DataSource.AttributeNames", R"(["a"])"},
    {"InputDataConfig.DataSource.S3DataSource.ModelAccessConfig", R"({"AcceptEula": true})"},
    {"InputDataConfig.DataSource.S3DataSource.HubAccessConfig", R"({"HubContentArn": "a"})"},
    {"InputDataConfig.DataSource.FileSystemDataSource", R"({"FileSystemId": "fs"})"},
    {"InputDataConfig.DataSource.DatasetSource", R"({"DatasetArn": "a"})"},
    {"InputDataConfig.ContentType", R"("text/csv")"},
    {"InputDataConfig.RecordWrapperType", R"("RecordIO")"},
    {"InputDataConfig.CompressionType", R"("Gzip")"},
    {"InputDataConfig.InputMode", R"("Pipe")"},
    {"InputDataConfig.ShuffleConfig", R"({"Seed": 1})"},
    {"OutputDataConfig.KmsKeyId", R"("k")"},
    {"OutputDataConfig.S3OutputPath", R"("s3://b/other")"},
    {"OutputDataConfig.CompressionType", R"("NONE")"},
    {"ResourceConfig.InstanceType", R"("ml.p3.2xlarge")"},
    {"ResourceConfig.InstanceCount", "3"},
    {"ResourceConfig.InstanceGroups",
     R"([{"InstanceGroupName": "g", "InstanceType": "t", "InstanceCount": 1}])"},
    {"ResourceConfig.VolumeSizeInGB", "7"},
    {"ResourceConfig.VolumeKmsKeyId", R"("k")"},
    {"ResourceConfig.KeepAlivePeriodInSeconds", "60"},
    {"ResourceConfig.TrainingPlanArn", R"("a")"},
    {"ResourceConfig.InstancePlacementConfig", R"({"EnableMultipleJobs": true})"},
    {"ResourceConfig.InstancePreferences", R"([{"InstanceType": "t"}])"},
    {"ResourceConfig.SelectedInstanceType", R"("t")"},
    {"ResourceConfig.SelectedInstanceCount", "5"},
    {"VpcConfig", R"({"Subnets": ["s"], "SecurityGroupIds": ["g"]})"},
    {"StoppingCondition.MaxRuntimeInSeconds", "60"},
    {"StoppingCondition.MaxWaitTimeInSeconds", "7000"},
    {"StoppingCondition.MaxPendingTimeInSeconds", "7200"},
    {"EnableNetworkIsolation", "true"},
    {"EnableInterContainerTrafficEncryption", "true"},
    {"EnableManagedSpotTraining", "true"},
    {"CheckpointConfig", R"({"S3Uri": "s3://b/c", "LocalPath": "/c"})"},
    {"DebugHookConfig", R"({"S3OutputPath": "s3://b/d"})"},
    {"DebugRuleConfigurations", R"([{"RuleConfigurationName": "r"}])"},
    {"TensorBoardOutputConfig", R"({"S3OutputPath": "s3://b/t"})"},
    {"ExperimentConfig", R"({"ExperimentName": "e"})"},
    {"ProfilerConfig", R"({"S3OutputPath": "s3://b/p"})"},
    {"ProfilerRuleConfigurations", R"([{"RuleConfigurationName": "r"}])"},
    {"Environment", R"({"A": "b"})"},
    {"RetryStrategy", R"({"MaximumRetryAttempts": 1})"},
    {"RemoteDebugConfig.EnableRemoteDebug", "true"},
    {"InfraCheckConfig.EnableInfraCheck", "true"},
    {"SessionChainingConfig", R"({"EnableSessionTagChaining": true})"},
    {"ServerlessJobConfig", R"({"JobType": "FineTuning"})"},
    {"MlflowConfig", R"({"MlflowResourceArn": "a"})"},
    {"ModelPackageConfig", R"({"ModelPackageGroupArn": "a"})"},
};

Json with(const std::string& path, const char* value) {
  Json request = base();
  std::string pointer = "/" + path;
  std::replace(pointer.begin(), pointer.end(), '.', '/');
  constexpr std::string_view channels = "/InputDataConfig";
  if (pointer.starts_with(channels)) pointer.insert(channels.size(), "/0");
  // A channel has one source.
  const std::size_t source = path.find("DataSource.");
  if (source != std::string::npos && path.find("S3DataSource") == std::string::npos)
    request["InputDataConfig"][0].erase("DataSource");
  if (path.ends_with("AlgorithmName")) request["AlgorithmSpecification"].erase("TrainingImage");
  // Spot and its time go together.
  if (path.ends_with("MaxWaitTimeInSeconds")) request["EnableManagedSpotTraining"] = true;
  if (path == "EnableManagedSpotTraining")
    request["StoppingCondition"]["MaxWaitTimeInSeconds"] = 7000;
  request[Json::json_pointer(pointer)] = Json::parse(value);
  return request;
}

/// What a request comes to: everything that can be seen of it, but what is named as without effect.
struct Seen {
  bool refused = false;
  std::string spec;
  std::string named;
};

Seen seen_of(const Json& input) {
  const auto read = api::job_request(input);
  const JobConfig config = *job_config_from(Json::object());
  if (!api::check_rules("sagemaker", "CreateTrainingJob", input) || !read ||
      !check_request(*read, config))
    return {.refused = true, .spec = {}, .named = {}};
  std::string spec = to_text(job::to_json(read->spec)) + read->image;
  if (read->isolated) spec += "isolated";
  for (const std::string& id : read->subnets) spec += id;
  for (const std::string& id : read->security_groups) spec += id;
  for (const auto& metric : read->metrics) spec += metric.name + metric.expression;
  return {.refused = false, .spec = std::move(spec), .named = read->without_effect};
}

void check_path(const std::string& path, api::Treatment treatment) {
  CAPTURE(path);
  const auto value = values.find(path);
  REQUIRE_MESSAGE(value != values.end(), "want a value for it above");
  const Seen seen = seen_of(with(path, value->second));
  const bool named = seen.named.find(path + " (") != std::string::npos;
  // Spot comes with its time to wait, which alone is heeded.
  const Json without = path == "EnableManagedSpotTraining"
                           ? with("StoppingCondition.MaxWaitTimeInSeconds", "7000")
                           : base();
  const bool changed = seen.refused || seen.spec != seen_of(without).spec;
  CHECK(changed == (treatment == api::Treatment::heeded || treatment == api::Treatment::refused));
  CHECK(named == (treatment == api::Treatment::without_effect));
  if (treatment == api::Treatment::refused) CHECK(seen.refused);
}

TEST_CASE("request fields: each member of CreateTrainingJob fares as the table says") {
  REQUIRE(!seen_of(base()).refused);
  for (const api::FieldRow& row : api::create_training_job_rows())
    for (const std::string& path : split_words(row.paths))
      if (path != "Tags") check_path(path, row.treatment);  // The store's; a request has none left.
}

}  // namespace
}  // namespace muster::jobs
