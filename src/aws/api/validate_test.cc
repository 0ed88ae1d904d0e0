#include "aws/api/validate.h"

#include <doctest/doctest.h>
#include <re2/re2.h>

#include <nlohmann/json.hpp>

#include "aws/api/model.h"

namespace muster::api {

namespace {

Json json(std::string_view text) {
  Result<Json> parsed = parse_json(text);
  REQUIRE_MESSAGE(parsed, text);
  return *std::move(parsed);
}

/// What each operation at least takes, and a little more of CreateTrainingJob. Those that are not
/// listed take nothing.
Json fine_input(std::string_view operation) {
  static const Json all = json(R"json({
    "CreateTrainingJob": {
      "TrainingJobName": "digits-2026-11-21",
      "AlgorithmSpecification": {"TrainingImage": "host", "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "loss", "Regex": "loss=([0-9.]+)"}],
        "ContainerEntrypoint": ["/bin/bash"], "ContainerArguments": ["-c", "true"]},
      "RoleArn": "arn:aws:iam::000000000000:role/train",
      "HyperParameters": {"epochs": "3"},
      "InputDataConfig": [{"ChannelName": "train", "DataSource": {"S3DataSource": {
        "S3DataType": "S3Prefix", "S3Uri": "s3://data/train",
        "S3DataDistributionType": "FullyReplicated"}}}],
      "OutputDataConfig": {"S3OutputPath": "s3://data/out"},
      "ResourceConfig": {"InstanceType": "ml.local", "InstanceCount": 2, "VolumeSizeInGB": 30},
      "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
      "Environment": {"LEVEL": "info"},
      "Tags": [{"Key": "team", "Value": "vision"}]},
    "DescribeTrainingJob": {"TrainingJobName": "digits"},
    "StopTrainingJob": {"TrainingJobName": "digits"},
    "DeleteTrainingJob": {"TrainingJobName": "digits"},
    "UpdateTrainingJob": {"TrainingJobName": "digits"},
    "AddTags": {"ResourceArn": "arn:aws:sagemaker:eu-west-1:000000000000:training-job/digits",
      "Tags": [{"Key": "team", "Value": ""}]},
    "ListTags": {"ResourceArn": "arn:aws:sagemaker:eu-west-1:000000000000:training-job/digits"},
    "DeleteTags": {"ResourceArn": "arn:aws:sagemaker:eu-west-1:000000000000:training-job/digits",
      "TagKeys": ["team"]},
    "Search": {"Resource": "TrainingJob"},
    "DescribeLogStreams": {"logGroupName": "/aws/sagemaker/TrainingJobs"},
    "GetLogEvents": {"logGroupName": "/aws/sagemaker/TrainingJobs", "logStreamName": "d/algo-1-1"},
    "FilterLogEvents": {"logGroupName": "/aws/sagemaker/TrainingJobs"},
    "GetMetricStatistics": {"Namespace": "/aws/sagemaker/TrainingJobs", "MetricName": "loss",
      "StartTime": 1000.5, "EndTime": 2000, "Period": 60, "Statistics": ["Average"]},
    "GetMetricData": {"StartTime": 1000, "EndTime": 2000, "MetricDataQueries": [{"Id": "a",
      "Expression": "SUM(METRICS())"}]},
    "GetRole": {"RoleName": "train"},
    "SimulatePrincipalPolicy": {"PolicySourceArn": "arn:aws:iam::000000000000:role/train",
      "ActionNames": ["s3:PutObject"]},
    "AssumeRole": {"RoleArn": "arn:aws:iam::000000000000:role/train", "RoleSessionName": "night"},
    "DescribeSubnets": {"SubnetIds": ["subnet-1"]},
    "CreateStack": {"StackName": "net", "TemplateBody": "{}"}, "UpdateStack": {"StackName": "net"},
    "CreateChangeSet": {"StackName": "net", "ChangeSetName": "one"},
    "DescribeChangeSet": {"ChangeSetName": "one"}, "ExecuteChangeSet": {"ChangeSetName": "one"},
    "DeleteChangeSet": {"ChangeSetName": "one"}, "ListStackResources": {"StackName": "net"},
    "DeleteStack": {"StackName": "net"}, "DescribeStackEvents": {"StackName": "net"},
    "DescribeStackResources": {"StackName": "net"}, "GetTemplate": {"StackName": "net"},
    "BatchDeleteImage": {"repositoryName": "digits", "imageIds": [{"imageTag": "latest"}]},
    "BatchGetImage": {"repositoryName": "digits", "imageIds": [{"imageTag": "latest"}]},
    "CreateRepository": {"repositoryName": "digits"},
    "DeleteRepository": {"repositoryName": "digits"},
    "DescribeImages": {"repositoryName": "digits"},
    "GetLifecyclePolicy": {"repositoryName": "digits"}, "ListImages": {"repositoryName": "digits"},
    "ListTagsForResource": {"resourceArn": "arn:aws:ecr:eu-west-1:000000000000:repository/digits"}
  })json");
  return all.value(operation, Json::object());
}

/// {"~": ["x", 300]} is x 300 times, {"~list": [..., 3]} a list of three, {"~keys": 2} a map of
/// two.
Json grown(const Json& value) {
  if (value.is_object() && value.contains("~")) {
    std::string text;
    for (int i = value["~"][1].get<int>(); i > 0; --i) text += value["~"][0].get<std::string>();
    return text;
  }
  Json all = value;
  if (value.is_object() && value.contains("~list")) {
    all = Json::array();
    for (int i = value["~list"][1].get<int>(); i > 0; --i) all.push_back(value["~list"][0]);
  } else if (value.is_object() && value.contains("~keys")) {
    all = Json::object();
    for (int i = value["~keys"].get<int>(); i > 0; --i) all["k" + std::to_string(i)] = "v";
  } else if (value.is_structured()) {
    for (Json& each : all) each = grown(each);
  }
  return all;
}

/// A null takes a member away.
void patch(Json& into, const Json& change) {
  into.merge_patch(grown(change));
}

struct Bad {
  std::string_view change;   ///< To the operation's fine input.
  std::string_view message;  ///< Part of what is answered.
};

void check_refused(std::string_view service, std::string_view operation, std::string_view code,
                   const Bad& bad) {
  CAPTURE(bad.change);
  Json input = fine_input(operation);
  patch(input, json(bad.change));
  const Result<void, aws::Refusal> checked = validate(service, operation, input);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().code == code);
  CHECK(checked.error().status == 400);
  CAPTURE(checked.error().message);
  CHECK(checked.error().message.find(bad.message) != std::string::npos);
}

}  // namespace

TEST_CASE("validate: clients' requests pass, in every operation of every service") {
  for (const Service* service : services())
    for (const Operation& operation : service->operations) {
      CAPTURE(operation.name);
      const auto checked = validate(service->name, operation.name, fine_input(operation.name));
      CHECK_MESSAGE(checked, (checked ? "" : checked.error().message));
    }
}

TEST_CASE("validate: every pattern of the model is valid for RE2") {
  int count = 0;
  for (const Service* service : services())
    for (const Pattern& pattern : service->patterns) {
      CAPTURE(pattern.text);
      const std::string text(pattern.re2);
      CHECK(re2::RE2(text, re2::RE2::Quiet).ok());
      ++count;
    }
  CHECK(count > 30);
}

TEST_CASE("validate: a training job's fields are held to the model's bounds, in AWS's words") {
  const Bad cases[] = {
      {R"({"TrainingJobName": null})",
       "1 validation error detected: Value null at 'trainingJobName' failed to satisfy "
       "constraint: Member must not be null"},
      {R"({"TrainingJobName": "under_score"})",
       "1 validation error detected: Value 'under_score' at 'trainingJobName' failed to satisfy "
       "constraint: Member must satisfy regular expression pattern: "
       "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"},
      {R"({"TrainingJobName": "-first"})", "Value '-first' at 'trainingJobName'"},
      {R"({"TrainingJobName": "last-"})", "Value 'last-' at 'trainingJobName'"},
      {R"({"TrainingJobName": "two words"})", "Member must satisfy regular expression pattern"},
      {R"({"TrainingJobName": "line\n"})", "Member must satisfy regular expression pattern"},
      {R"({"TrainingJobName": "é"})", "Value 'é' at 'trainingJobName'"},
      {R"({"TrainingJobName": {"~": ["a", 64]}})",
       "Member must have length less than or equal to 63"},
      {R"({"TrainingJobName": ""})", "at 'trainingJobName'"},
      {R"({"RoleArn": null})", "Value null at 'roleArn'"},
      {R"({"RoleArn": "short"})", "Member must have length greater than or equal to 20"},
      {R"({"RoleArn": "no-arn-of-a-role-at-all"})", "at 'roleArn' failed to satisfy"},
      {R"({"RoleArn": {"~": ["arn:aws:iam::000000000000:role/x", 70]}})",
       "Member must have length less than or equal to 2048"},
      {R"({"OutputDataConfig": null})", "Value null at 'outputDataConfig'"},
      {R"({"OutputDataConfig": {"S3OutputPath": null}})",
       "Value null at 'outputDataConfig.s3OutputPath'"},
      {R"({"OutputDataConfig": {"S3OutputPath": "file:///tmp/out"}})",
       "Value 'file:///tmp/out' at 'outputDataConfig.s3OutputPath' failed to satisfy constraint: "
       "Member must satisfy regular expression pattern: (https|s3)://([^/]+)/?(.*)"},
      {R"({"OutputDataConfig": {"S3OutputPath": {"~": ["s3://bucket/k", 100]}}})",
       "Member must have length less than or equal to 1024"},
      {R"({"OutputDataConfig": {"CompressionType": "ZIP"}})",
       "Value 'ZIP' at 'outputDataConfig.compressionType' failed to satisfy constraint: Member "
       "must satisfy enum value set: ["},
      {R"({"OutputDataConfig": {"KmsKeyId": "a key"}})", "at 'outputDataConfig.kmsKeyId'"},
      {R"({"HyperParameters": {"~keys": 101}})",
       "at 'hyperParameters' failed to satisfy constraint: Member must have length less than or "
       "equal to 100"},
      {R"({"HyperParameters": {"long": {"~": ["v", 2501]}}})",
       "at 'hyperParameters' failed to satisfy constraint: Map value must satisfy constraint: "
       "[Member must have length less than or equal to 2500, Member must have length greater than "
       "or equal to 0, Member must satisfy regular expression pattern: .*]"},
      {R"({"HyperParameters": {"lines": "a\nb"}})", "Map value must satisfy constraint"},
      {R"({"HyperParameters": null, "Environment": {"1X": "v"}})",
       "at 'environment' failed to satisfy constraint: Map keys must satisfy constraint: ["},
      {R"({"Environment": {"A-B": "v"}})", "Map keys must satisfy constraint"},
      {R"({"Environment": {"A": {"~": ["v", 513]}}})", "Map value must satisfy constraint"},
      {R"({"Environment": {"~keys": 101}})", "less than or equal to 100"},
      {R"({"AlgorithmSpecification": {"TrainingInputMode": null}})",
       "Value null at 'algorithmSpecification.trainingInputMode'"},
      {R"({"AlgorithmSpecification": {"TrainingInputMode": "Stream"}})",
       "Member must satisfy enum value set: [Pipe, File, FastFile]"},
      {R"({"AlgorithmSpecification": {"TrainingImage": {"~": ["i", 256]}}})",
       "at 'algorithmSpecification.trainingImage' failed to satisfy constraint: Member must have "
       "length less than or equal to 255"},
      {R"({"AlgorithmSpecification": {"ContainerEntrypoint": []}})",
       "Value '[]' at 'algorithmSpecification.containerEntrypoint' failed to satisfy constraint: "
       "Member must have length greater than or equal to 1"},
      {R"({"AlgorithmSpecification": {"ContainerEntrypoint": {"~list": ["x", 101]}}})",
       "Member must have length less than or equal to 100"},
      {R"({"AlgorithmSpecification": {"ContainerEntrypoint": ["a", null]}})",
       "Value null at 'algorithmSpecification.containerEntrypoint.2.member'"},
      {R"({"AlgorithmSpecification": {"ContainerArguments": []}})", "Value '[]' at"},
      {R"({"AlgorithmSpecification": {"MetricDefinitions": {"~list": [{"Name": "n", "Regex": "r"},
         41]}}})",
       "less than or equal to 40"},
      {R"({"AlgorithmSpecification": {"MetricDefinitions": [{"Name": "n"}]}})",
       "Value null at 'algorithmSpecification.metricDefinitions.1.member.regex'"},
      {R"({"AlgorithmSpecification": {"MetricDefinitions": [{"Name": "", "Regex": "r"}]}})",
       "at 'algorithmSpecification.metricDefinitions.1.member.name'"},
      {R"({"AlgorithmSpecification": {"TrainingImageConfig": {}}})",
       "Value null at 'algorithmSpecification.trainingImageConfig.trainingRepositoryAccessMode'"},
      {R"({"InputDataConfig": []})", "Value '[]' at 'inputDataConfig'"},
      {R"({"InputDataConfig": {"~list": [{"ChannelName": "a", "DataSource": {}}, 21]}})",
       "at 'inputDataConfig' failed to satisfy constraint: Member must have length less than or "
       "equal to 20"},
      {R"({"InputDataConfig": [{"DataSource": {}}]})",
       "Value null at 'inputDataConfig.1.member.channelName'"},
      {R"({"InputDataConfig": [{"ChannelName": "a"}]})",
       "Value null at 'inputDataConfig.1.member.dataSource'"},
      {R"({"InputDataConfig": [{"ChannelName": "a/b", "DataSource": {}}]})",
       "Value 'a/b' at 'inputDataConfig.1.member.channelName' failed to satisfy constraint: Member "
       "must satisfy regular expression pattern: [A-Za-z0-9\\.\\-_]+"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "DataSource": {"S3DataSource":
         {"S3DataType": "S3Prefix"}}}]})",
       "Value null at 'inputDataConfig.1.member.dataSource.s3DataSource.s3Uri'"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "DataSource": {"S3DataSource":
         {"S3DataType": "Folder", "S3Uri": "s3://b/k"}}}]})",
       "s3DataType' failed to satisfy constraint: Member must satisfy enum value set: ["},
      {R"({"InputDataConfig": [{"ChannelName": "a", "DataSource": {"S3DataSource":
         {"S3DataType": "S3Prefix", "S3Uri": "/data"}}}]})",
       "Value '/data' at 'inputDataConfig.1.member.dataSource.s3DataSource.s3Uri'"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "DataSource": {"S3DataSource":
         {"S3DataType": "S3Prefix", "S3Uri": "s3://b/k", "S3DataDistributionType": "Some"}}}]})",
       "s3DataDistributionType"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "DataSource": {"FileSystemDataSource":
         {"FileSystemId": "fs-1", "FileSystemAccessMode": "rw", "FileSystemType": "EFS",
          "DirectoryPath": "/"}}}]})",
       "fileSystemId"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "CompressionType": "Zstd",
         "DataSource": {}}]})",
       "Value 'Zstd' at 'inputDataConfig.1.member.compressionType'"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "RecordWrapperType": "X", "DataSource": {}}]})",
       "recordWrapperType"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "InputMode": "X", "DataSource": {}}]})",
       "inputMode"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "ContentType": {"~": ["t", 257]},
         "DataSource": {}}]})",
       "contentType"},
      {R"({"ResourceConfig": {"InstanceCount": -1}})",
       "Value '-1' at 'resourceConfig.instanceCount' failed to satisfy constraint: Member must "
       "have value greater than or equal to 0"},
      {R"({"ResourceConfig": {"VolumeSizeInGB": -1}})", "at 'resourceConfig.volumeSizeInGB'"},
      {R"({"ResourceConfig": {"KeepAlivePeriodInSeconds": 21601}})",
       "Value '21601' at 'resourceConfig.keepAlivePeriodInSeconds' failed to satisfy constraint: "
       "Member must have value less than or equal to 21600"},
      {R"({"ResourceConfig": {"InstanceGroups": {"~list": [{"InstanceType": "a", "InstanceCount":
         1, "InstanceGroupName": "g"}, 6]}}})",
       "at 'resourceConfig.instanceGroups' failed to satisfy constraint: Member must have length "
       "less than or equal to 5"},
      {R"({"ResourceConfig": {"VolumeKmsKeyId": {"~": ["k", 2049]}}})", "volumeKmsKeyId"},
      {R"({"StoppingCondition": {"MaxRuntimeInSeconds": 0}})",
       "Value '0' at 'stoppingCondition.maxRuntimeInSeconds' failed to satisfy constraint: Member "
       "must have value greater than or equal to 1"},
      {R"({"StoppingCondition": {"MaxWaitTimeInSeconds": 0}})", "maxWaitTimeInSeconds"},
      {R"({"StoppingCondition": {"MaxPendingTimeInSeconds": 1}})", "maxPendingTimeInSeconds"},
      {R"({"VpcConfig": {"Subnets": ["s"]}})", "Value null at 'vpcConfig.securityGroupIds'"},
      {R"({"VpcConfig": {"Subnets": ["s_1"], "SecurityGroupIds": ["sg-1"]}})",
       "Value '[s_1]' at 'vpcConfig.subnets' failed to satisfy constraint: Member must satisfy "
       "constraint: [Member must have length less than or equal to 32, Member must have length "
       "greater than or equal to 0, Member must satisfy regular expression pattern: "
       "[-0-9a-zA-Z]+]"},
      {R"({"VpcConfig": {"Subnets": {"~list": ["s", 17]}, "SecurityGroupIds": ["sg-1"]}})",
       "at 'vpcConfig.subnets' failed to satisfy constraint: Member must have length less than or "
       "equal to 16"},
      {R"({"VpcConfig": {"Subnets": [], "SecurityGroupIds": []}})",
       "2 validation errors detected: "},
      {R"({"CheckpointConfig": {}})", "Value null at 'checkpointConfig.s3Uri'"},
      {R"({"CheckpointConfig": {"S3Uri": "here"}})", "Value 'here' at 'checkpointConfig.s3Uri'"},
      {R"({"RetryStrategy": {"MaximumRetryAttempts": 31}})", "less than or equal to 30"},
      {R"({"RetryStrategy": {"MaximumRetryAttempts": 0}})", "greater than or equal to 1"},
      {R"({"RetryStrategy": {}})", "Value null at 'retryStrategy.maximumRetryAttempts'"},
      {R"({"Tags": {"~list": [{"Key": "k", "Value": "v"}, 51]}})", "less than or equal to 50"},
      {R"({"Tags": [{"Key": "k"}]})", "Value null at 'tags.1.member.value'"},
      {R"({"Tags": [{"Key": "", "Value": "v"}]})", "at 'tags.1.member.key'"},
      {R"({"Tags": [{"Key": "k!", "Value": "v"}]})", "Value 'k!' at 'tags.1.member.key'"},
      {R"({"Tags": [{"Key": {"~": ["k", 129]}, "Value": "v"}]})", "at 'tags.1.member.key'"},
      {R"({"Tags": [{"Key": "k", "Value": {"~": ["v", 257]}}]})", "at 'tags.1.member.value'"},
      {R"({"DebugHookConfig": {}})", "Value null at 'debugHookConfig.s3OutputPath'"},
      {R"({"TensorBoardOutputConfig": {}})",
       "Value null at 'tensorBoardOutputConfig.s3OutputPath'"},
      {R"({"ExperimentConfig": {"TrialName": "_"}})", "at 'experimentConfig.trialName'"},
      {R"({"DebugRuleConfigurations": [{"RuleConfigurationName": "r"}]})",
       "Value null at 'debugRuleConfigurations.1.member.ruleEvaluatorImage'"},
      {R"({"TrainingJobName": null, "RoleArn": null, "OutputDataConfig": null})",
       "3 validation errors detected: Value null at 'trainingJobName' failed to satisfy "
       "constraint: Member must not be null; Value null at "},
  };
  for (const Bad& bad : cases)
    check_refused("sagemaker", "CreateTrainingJob", "ValidationException", bad);
}

TEST_CASE("validate: constraints between CreateTrainingJob's members") {
  const Bad cases[] = {
      {R"({"AlgorithmSpecification": null})", "Value null at 'algorithmSpecification'"},
      {R"({"AlgorithmSpecification": {"TrainingImage": null}})",
       "Either TrainingImage or AlgorithmName"},
      {R"({"AlgorithmSpecification": {"AlgorithmName": "a"}})", "cannot both be given"},
      {R"({"ResourceConfig": null})", "Value null at 'resourceConfig'"},
      {R"({"ResourceConfig": {"InstanceType": null}})",
       "Value null at 'resourceConfig.instanceType'"},
      {R"({"ResourceConfig": {"InstanceCount": null}})",
       "Value null at 'resourceConfig.instanceCount'"},
      {R"({"ResourceConfig": {"InstanceGroups": [{"InstanceType": "a", "InstanceCount": 1,
         "InstanceGroupName": "g"}]}})",
       "InstanceGroups in ResourceConfig cannot be combined with InstanceType"},
      {R"({"ResourceConfig": {"InstanceType": null, "InstanceCount": null, "InstanceGroups":
         {"~list": [{"InstanceType": "a", "InstanceCount": 1, "InstanceGroupName": "g"}, 2]}}})",
       "two groups named g"},
      {R"({"InputDataConfig": {"~list": [{"ChannelName": "a", "DataSource": {"S3DataSource":
         {"S3DataType": "S3Prefix", "S3Uri": "s3://b"}}}, 2]}})",
       "Channel names must be unique; InputDataConfig has a twice."},
      {R"({"InputDataConfig": [{"ChannelName": "a", "DataSource": {}}]})",
       "Channel a: DataSource must have exactly one data source, not 0."},
      {R"({"InputDataConfig": [{"ChannelName": "a", "DataSource": {"S3DataSource":
         {"S3DataType": "AugmentedManifestFile", "S3Uri": "s3://b/k"}}}]})",
       "an AugmentedManifestFile requires AttributeNames"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "DataSource": {"S3DataSource":
         {"S3DataType": "S3Prefix", "S3Uri": "s3://b/k", "AttributeNames": ["a"]}}}]})",
       "AttributeNames requires the S3DataType AugmentedManifestFile"},
      {R"({"InputDataConfig": [{"ChannelName": "a", "DataSource": {"S3DataSource":
         {"S3DataType": "S3Prefix", "S3Uri": "s3://b/k", "InstanceGroupNames": ["g"]}}}]})",
       "ResourceConfig has no instance group named g"},
      {R"({"EnableManagedSpotTraining": true})",
       "Invalid MaxWaitTimeInSeconds. It must be present"},
      {R"({"EnableManagedSpotTraining": true, "StoppingCondition": {"MaxWaitTimeInSeconds": 60}})",
       "greater than or equal to MaxRuntimeInSeconds"},
      {R"({"StoppingCondition": {"MaxWaitTimeInSeconds": 7200}})",
       "only when EnableManagedSpotTraining"},
      {R"({"Tags": {"~list": [{"Key": "k", "Value": "v"}, 2]}})", "Duplicate tag keys"},
      {R"({"Tags": [{"Key": "aws:k", "Value": "v"}]})", "aws: prefixed tag key names"},
  };
  for (const Bad& bad : cases)
    check_refused("sagemaker", "CreateTrainingJob", "ValidationException", bad);
}

TEST_CASE("validate: a value of another type is invalid") {
  const Bad cases[] = {
      {R"({"TrainingJobName": 7})", "NUMBER_VALUE can not be converted to a String"},
      {R"({"TrainingJobName": true})", "TRUE_VALUE can not be converted to a String"},
      {R"({"TrainingJobName": ["a"]})", "Start of list found where not expected"},
      {R"({"TrainingJobName": {"a": 1}})", "Start of structure or map found where not expected"},
      {R"({"ResourceConfig": {"InstanceCount": "2"}})",
       "STRING_VALUE can not be converted to an Integer (at resourceConfig.instanceCount)"},
      {R"({"ResourceConfig": {"InstanceCount": 1.5}})", "can not be converted to an Integer"},
      {R"({"ResourceConfig": {"InstanceCount": 4294967296}})", "to an Integer"},
      {R"({"ResourceConfig": {"InstanceCount": 1e300}})", "to an Integer"},
      {R"({"ResourceConfig": {"InstanceCount": false}})", "FALSE_VALUE can not be converted"},
      {R"({"ResourceConfig": "big"})", "Expected structure or null (at resourceConfig)"},
      {R"({"ResourceConfig": []})", "Expected structure or null"},
      {R"({"HyperParameters": []})", "Expected map or null"},
      {R"({"HyperParameters": {"epochs": 3}})", "NUMBER_VALUE can not be converted to a String"},
      {R"({"InputDataConfig": {}})", "Expected list or null"},
      {R"({"InputDataConfig": "s3://b/k"})", "Expected list or null"},
      {R"({"InputDataConfig": ["s3://b/k"]})", "Expected structure or null"},
      {R"({"EnableNetworkIsolation": "true"})", "STRING_VALUE can not be converted to a Boolean"},
      {R"({"EnableNetworkIsolation": 1})", "NUMBER_VALUE can not be converted to a Boolean"},
      {R"({"Tags": [[]]})", "Expected structure or null"},
      {R"({"AlgorithmSpecification": {"ContainerArguments": [1]}})", "to a String"},
  };
  for (const Bad& bad : cases)
    check_refused("sagemaker", "CreateTrainingJob", "SerializationException", bad);
}

TEST_CASE("validate: the other operations of sagemaker") {
  struct {
    std::string_view operation;
    Bad bad;
  } const cases[] = {
      {"DescribeTrainingJob", {R"({"TrainingJobName": null})", "Value null at 'trainingJobName'"}},
      {"DescribeTrainingJob", {R"({"TrainingJobName": "a.b"})", "Value 'a.b'"}},
      {"StopTrainingJob", {R"({"TrainingJobName": null})", "Value null at 'trainingJobName'"}},
      {"StopTrainingJob", {R"({"TrainingJobName": "../x"})", "Value '../x'"}},
      {"DeleteTrainingJob", {R"({"TrainingJobName": ""})", "at 'trainingJobName'"}},
      {"UpdateTrainingJob", {R"({"TrainingJobName": null})", "Value null at 'trainingJobName'"}},
      {"UpdateTrainingJob",
       {R"({"ResourceConfig": {}})", "Value null at 'resourceConfig.keepAlivePeriodInSeconds'"}},
      {"ListTrainingJobs", {R"({"MaxResults": 101})", "Value '101' at 'maxResults'"}},
      {"ListTrainingJobs", {R"({"MaxResults": 0})", "greater than or equal to 1"}},
      {"ListTrainingJobs", {R"({"SortBy": "Age"})", "[Name, CreationTime, Status]"}},
      {"ListTrainingJobs", {R"({"SortOrder": "Up"})", "[Ascending, Descending]"}},
      {"ListTrainingJobs", {R"({"StatusEquals": "Done"})", "Value 'Done' at 'statusEquals'"}},
      {"ListTrainingJobs", {R"({"NameContains": "a b"})", "Value 'a b' at 'nameContains'"}},
      {"ListTrainingJobs", {R"({"NameContains": {"~": ["a", 64]}})", "less than or equal to 63"}},
      {"ListTrainingJobs", {R"({"NextToken": {"~": ["a", 8193]}})", "at 'nextToken'"}},
      {"AddTags", {R"({"Tags": null})", "Value null at 'tags'"}},
      {"AddTags", {R"({"ResourceArn": "digits"})", "Value 'digits' at 'resourceArn'"}},
      {"AddTags", {R"({"Tags": [{"Key": "aws:x", "Value": ""}]})", "aws: prefixed"}},
      {"ListTags", {R"({"MaxResults": 10})", "greater than or equal to 50"}},
      {"ListTags", {R"({"ResourceArn": null})", "Value null at 'resourceArn'"}},
      {"DeleteTags", {R"({"TagKeys": []})", "Value '[]' at 'tagKeys'"}},
      {"DeleteTags", {R"({"TagKeys": ["a", "!"]})", "Value '[a, !]' at 'tagKeys'"}},
      {"Search", {R"({"Resource": "Dataset"})", "Value 'Dataset' at 'resource'"}},
      {"Search",
       {R"({"SearchExpression": {"SubExpressions": [{"Filters": [{}]}]}})",
        "Value null at 'searchExpression.subExpressions.1.member.filters.1.member.name'"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.operation);
    check_refused("sagemaker", c.operation, "ValidationException", c.bad);
  }
  const Result<void, aws::Refusal> checked =
      validate("sagemaker", "ListTrainingJobs", {{"CreationTimeAfter", "yesterday"}});
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message ==
        "STRING_VALUE can not be converted to milliseconds since epoch (at creationTimeAfter)");
}

TEST_CASE("validate: the other services, each with its own code") {
  struct {
    std::string_view service;
    std::string_view operation;
    std::string_view code;
    Bad bad;
  } const cases[] = {
      {"logs",
       "DescribeLogStreams",
       "InvalidParameterException",
       {R"({"logGroupName": "a*"})",
        "Value 'a*' at 'logGroupName' failed to satisfy constraint: Member must satisfy regular "
        "expression pattern: [\\.\\-_/#A-Za-z0-9]+"}},
      {"logs",
       "DescribeLogStreams",
       "InvalidParameterException",
       {R"({"limit": 51})", "Value '51' at 'limit'"}},
      {"logs",
       "DescribeLogStreams",
       "InvalidParameterException",
       {R"({"logGroupName": null})", "Exactly one of logGroupName"}},
      {"logs",
       "DescribeLogStreams",
       "InvalidParameterException",
       {R"({"orderBy": "LastEventTime", "logStreamNamePrefix": "a"})",
        "Cannot order by LastEventTime with a logStreamNamePrefix."}},
      {"logs",
       "DescribeLogStreams",
       "InvalidParameterException",
       {R"({"orderBy": "Time"})", "[LogStreamName, LastEventTime]"}},
      {"logs",
       "GetLogEvents",
       "InvalidParameterException",
       {R"({"logStreamName": null})", "Value null at 'logStreamName'"}},
      {"logs",
       "GetLogEvents",
       "InvalidParameterException",
       {R"({"startTime": -1})", "greater than or equal to 0"}},
      {"logs",
       "GetLogEvents",
       "InvalidParameterException",
       {R"({"limit": 10001})", "less than or equal to 10000"}},
      {"logs",
       "GetLogEvents",
       "SerializationException",
       {R"({"startTime": 1.5})", "NUMBER_VALUE can not be converted to a Long"}},
      {"logs",
       "GetLogEvents",
       "SerializationException",
       {R"({"startTime": 18446744073709551615})", "to a Long"}},
      {"logs",
       "FilterLogEvents",
       "InvalidParameterException",
       {R"({"filterPattern": {"~": ["x", 1025]}})", "less than or equal to 1024"}},
      {"logs",
       "FilterLogEvents",
       "InvalidParameterException",
       {R"({"logStreamNames": ["a"], "logStreamNamePrefix": "a"})", "cannot be combined"}},
      {"logs",
       "DescribeLogGroups",
       "InvalidParameterException",
       {R"({"logGroupNamePrefix": "a b"})", "at 'logGroupNamePrefix'"}},
      {"monitoring",
       "GetMetricStatistics",
       "ValidationError",
       {R"({"Period": 0})", "Value '0' at 'period'"}},
      {"monitoring", "GetMetricStatistics", "InvalidParameterValue", {R"({"Period": 61})", "60"}},
      {"monitoring",
       "GetMetricStatistics",
       "InvalidParameterCombination",
       {R"({"StartTime": 3000})", "The parameter StartTime must be less than"}},
      {"monitoring",
       "GetMetricStatistics",
       "InvalidParameterCombination",
       {R"({"Statistics": null})", "Statistics and ExtendedStatistics"}},
      {"monitoring",
       "GetMetricStatistics",
       "InvalidParameterCombination",
       {R"({"EndTime": 1000000})", "exceeds the limit of 1,440"}},
      {"monitoring",
       "GetMetricStatistics",
       "ValidationError",
       {R"({"Statistics": ["Mean"]})", "Value '[Mean]' at 'statistics'"}},
      {"monitoring",
       "GetMetricStatistics",
       "ValidationError",
       {R"({"Namespace": ":x"})", "at 'namespace'"}},
      {"monitoring",
       "GetMetricStatistics",
       "SerializationException",
       {R"({"StartTime": "2026-01-01"})", "milliseconds since epoch"}},
      {"monitoring",
       "GetMetricData",
       "ValidationError",
       {R"({"MetricDataQueries": [{"Id": "a"}]})", "either MetricStat or Expression"}},
      {"monitoring",
       "GetMetricData",
       "ValidationError",
       {R"({"MetricDataQueries": null})", "Value null at 'metricDataQueries'"}},
      {"iam",
       "GetRole",
       "ValidationError",
       {R"({"RoleName": "a/b"})",
        "1 validation error detected: Value 'a/b' at 'roleName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [\\w+=,.@-]+"}},
      {"iam", "GetRole", "ValidationError", {R"({"RoleName": null})", "Value null at 'roleName'"}},
      {"iam",
       "SimulatePrincipalPolicy",
       "ValidationError",
       {R"({"ActionNames": ["ab"]})", "Value '[ab]' at 'actionNames'"}},
      {"iam",
       "SimulatePrincipalPolicy",
       "ValidationError",
       {R"({"MaxItems": 1001})", "less than or equal to 1000"}},
      {"ec2",
       "DescribeSubnets",
       "InvalidParameterValue",
       {R"({"MaxResults": 4})", "greater than or equal to 5"}},
      {"ecr",
       "DescribeImages",
       "InvalidParameterException",
       {R"({"repositoryName": "Upper"})", "Value 'Upper' at 'repositoryName'"}},
      {"ecr",
       "DescribeImages",
       "InvalidParameterException",
       {R"({"registryId": "1"})", "at 'registryId'"}},
  };
  for (const auto& c : cases) {
    CAPTURE(c.service);
    CAPTURE(c.operation);
    check_refused(c.service, c.operation, c.code, c.bad);
  }
}

TEST_CASE("validate: values at a bound, and members that the model does not know, pass") {
  const std::string_view changes[] = {
      R"({"TrainingJobName": {"~": ["a", 63]}})",
      R"({"TrainingJobName": "a"})",
      R"({"ResourceConfig": {"InstanceType": "my.own.type"}})",
      R"({"ResourceConfig": {"InstanceCount": 2.0}})",
      R"({"Environment": {"~keys": 99}})",
      R"({"HyperParameters": {"k": ""}})",
      R"({"HyperParameters": {"k": {"~": ["日", 2500]}}})",
      R"({"Environment": {"K": "a\nb"}})",
      R"({"NewMember": {"Any": [1, null, {}]}})",
      R"({"ResourceConfig": {"NewMember": 7}})",
      R"({"Tags": []})",
      R"({"InputDataConfig": null})",
      R"({"StoppingCondition": null})",
      R"({"EnableManagedSpotTraining": true, "StoppingCondition": {"MaxWaitTimeInSeconds": 3600}})",
      R"({"ResourceConfig": {"InstanceType": null, "InstanceCount": null, "InstanceGroups":
         [{"InstanceType": "a", "InstanceCount": 1, "InstanceGroupName": "g"}]},
         "InputDataConfig": [{"ChannelName": "a", "DataSource": {"S3DataSource":
         {"S3DataType": "S3Prefix", "S3Uri": "s3://b", "InstanceGroupNames": ["g"]}}}]})",
  };
  for (const std::string_view change : changes) {
    CAPTURE(change);
    Json input = fine_input("CreateTrainingJob");
    patch(input, json(change));
    const auto checked = validate("sagemaker", "CreateTrainingJob", input);
    CHECK_MESSAGE(checked, (checked ? "" : checked.error().message));
  }
  CHECK(validate("lambda", "Invoke", Json::object()));
}

TEST_CASE("validate: an answer stays small, whatever was sent") {
  Json input = fine_input("CreateTrainingJob");
  input["TrainingJobName"] = std::string(1'000'000, '_');
  input["Tags"] = Json::array();
  for (int i = 0; i < 10'000; ++i) input["Tags"].push_back({{"Key", std::string(5000, '!')}});
  const auto checked = validate("sagemaker", "CreateTrainingJob", input);
  REQUIRE_FALSE(checked);
  CHECK(checked.error().message.size() < 40'000);
  CHECK(checked.error().message.starts_with("30003 validation errors detected: "));
}

}  // namespace muster::api
