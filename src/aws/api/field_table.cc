#include "aws/api/field_table.h"

namespace muster::api {
namespace {

constexpr Treatment heeded = Treatment::heeded;
constexpr Treatment echoed = Treatment::echoed;
constexpr Treatment without_effect = Treatment::without_effect;
constexpr Treatment refused = Treatment::refused;

constexpr std::string_view one_page = "one response contains all items";
constexpr const char* own_registry = "the server's account; others are rejected";
constexpr std::string_view any_name = "every name exists, with the same properties";
constexpr std::string_view group_filters =
    "group-id, group-name, description, vpc-id, owner-id, tag:…, tag-key; others are rejected";
constexpr std::string_view subnet_filters =
    "subnet-id, vpc-id, cidr-block, availability-zone, state, owner-id, tag:…, tag-key; others are "
    "rejected";
constexpr std::string_view vpc_filters =
    "vpc-id, cidr, state, is-default, owner-id, tag:…, tag-key; others are rejected";
constexpr std::string_view same_rights =
    "a temporary key has the rights of the key that created it";
constexpr std::string_view secrets_again = "rejected for NoEcho parameters";
constexpr std::string_view allowed = "every action is allowed";

struct OperationRow {
  std::string_view operation;
  FieldRow row;
};

constexpr OperationRow rows[] = {
    {"AddTags", {"ResourceArn Tags", heeded}},
    {"DeleteTags", {"ResourceArn TagKeys", heeded}},
    {"DeleteTrainingJob", {"TrainingJobName", heeded}},
    {"DescribeTrainingJob", {"TrainingJobName", heeded}},
    {"ListTags", {"ResourceArn NextToken", heeded}},
    {"ListTags", {"MaxResults", without_effect, one_page}},
    {"ListTrainingJobs",
     {"NextToken MaxResults CreationTimeAfter CreationTimeBefore LastModifiedTimeAfter "
      "LastModifiedTimeBefore NameContains StatusEquals SortBy SortOrder",
      heeded}},
    {"ListTrainingJobs",
     {"WarmPoolStatusEquals TrainingPlanArnEquals", heeded, "no job has this property"}},
    {"Search", {"Resource", heeded, "TrainingJob; other resources return no results"}},
    {"Search",
     {"SearchExpression.Filters SearchExpression.SubExpressions SearchExpression.Operator SortBy "
      "SortOrder NextToken MaxResults",
      heeded}},
    {"Search", {"SearchExpression.NestedFilters", without_effect, "use Filters with dotted names"}},
    {"Search",
     {"CrossAccountFilterOption VisibilityConditions", without_effect,
      "there is only one account"}},
    {"StopTrainingJob", {"TrainingJobName", heeded}},
    {"UpdateTrainingJob", {"TrainingJobName", heeded}},
    {"UpdateTrainingJob",
     {"ProfilerConfig ProfilerRuleConfigurations ResourceConfig RemoteDebugConfig", echoed}},

    {"DescribeLogGroups",
     {"logGroupNamePrefix logGroupNamePattern", heeded,
      "the only log group is /aws/sagemaker/TrainingJobs"}},
    {"DescribeLogGroups",
     {"accountIdentifiers nextToken limit includeLinkedAccounts logGroupClass logGroupIdentifiers",
      without_effect, "there is only one log group"}},
    {"DescribeLogStreams",
     {"logGroupName logGroupIdentifier logStreamNamePrefix orderBy descending nextToken limit",
      heeded, "one response contains all streams of a job"}},
    {"FilterLogEvents",
     {"logGroupName logGroupIdentifier logStreamNames logStreamNamePrefix startTime endTime "
      "filterPattern nextToken limit",
      heeded}},
    {"FilterLogEvents",
     {"startFromHead", without_effect, "events are always returned oldest first"}},
    {"FilterLogEvents", {"interleaved", without_effect, "events are always sorted by time"}},
    {"FilterLogEvents", {"unmask", without_effect, "nothing is masked"}},
    {"GetLogEvents",
     {"logGroupName logGroupIdentifier logStreamName startTime endTime nextToken limit "
      "startFromHead",
      heeded}},
    {"GetLogEvents", {"unmask", without_effect, "nothing is masked"}},

    {"GetMetricData",
     {"MetricDataQueries.Id MetricDataQueries.MetricStat.Metric "
      "MetricDataQueries.MetricStat.Period MetricDataQueries.Label StartTime EndTime ScanBy",
      heeded}},
    {"GetMetricData",
     {"MetricDataQueries.MetricStat.Stat", heeded,
      "Average, Sum, Minimum, Maximum, SampleCount; others are rejected"}},
    {"GetMetricData", {"MetricDataQueries.Expression", refused}},
    {"GetMetricData",
     {"MetricDataQueries.MetricStat.Unit MetricDataQueries.ReturnData MetricDataQueries.Period "
      "MetricDataQueries.AccountId NextToken MaxDatapoints LabelOptions",
      without_effect}},
    {"GetMetricStatistics",
     {"Namespace MetricName Dimensions StartTime EndTime Period Statistics", heeded}},
    {"GetMetricStatistics",
     {"ExtendedStatistics", without_effect, "percentiles are not supported"}},
    {"GetMetricStatistics", {"Unit", without_effect, "metrics have no unit"}},
    {"ListMetrics",
     {"Namespace MetricName Dimensions", heeded, "requires the dimension TrainingJobName"}},
    {"ListMetrics", {"NextToken", heeded}},
    {"ListMetrics", {"RecentlyActive IncludeLinkedAccounts OwningAccount", without_effect}},

    {"AssumeRole", {"RoleArn", heeded, "any role of the server's account"}},
    {"AssumeRole", {"RoleSessionName", heeded, "shown by GetCallerIdentity"}},
    {"AssumeRole", {"DurationSeconds", heeded}},
    {"AssumeRole", {"SourceIdentity", echoed}},
    {"AssumeRole", {"PolicyArns Policy SerialNumber TokenCode", refused, same_rights}},
    {"AssumeRole",
     {"Tags TransitiveTagKeys ExternalId ProvidedContexts MinimumSessionTokenSize", without_effect,
      same_rights}},
    {"GetSessionToken", {"DurationSeconds", heeded, "at most 43200"}},
    {"GetSessionToken", {"SerialNumber TokenCode", refused, same_rights}},
    {"GetSessionToken", {"MinimumSessionTokenSize", without_effect}},
    {"GetRole", {"RoleName", heeded, any_name}},
    {"SimulatePrincipalPolicy", {"ActionNames ResourceArns", heeded, allowed}},
    {"SimulatePrincipalPolicy",
     {"PolicySourceArn PolicyInputList PermissionsBoundaryPolicyInputList PolicyExclusionList "
      "ResourcePolicy ResourceOwner CallerArn ContextEntries ResourceHandlingOption MaxItems "
      "Marker",
      without_effect, allowed}},
    {"DescribeSecurityGroups", {"GroupIds GroupNames NextToken MaxResults", heeded}},
    {"DescribeSecurityGroups", {"Filters", heeded, group_filters}},
    {"DescribeSecurityGroups", {"DryRun", without_effect}},
    {"DescribeSubnets", {"SubnetIds NextToken MaxResults", heeded}},
    {"DescribeSubnets", {"Filters", heeded, subnet_filters}},
    {"DescribeSubnets", {"DryRun", without_effect}},
    {"DescribeVpcs", {"VpcIds NextToken MaxResults", heeded}},
    {"DescribeVpcs", {"Filters", heeded, vpc_filters}},
    {"DescribeVpcs", {"DryRun", without_effect}},
    {"CreateStack",
     {"StackName TemplateBody Parameters.ParameterKey Parameters.ParameterValue ClientRequestToken",
      heeded}},
    {"CreateStack", {"Tags", heeded, "apply to the stack and its resources"}},
    {"CreateStack", {"Capabilities RoleARN TimeoutInMinutes NotificationARNs", echoed}},
    {"CreateStack",
     {"OnFailure DisableRollback RollbackConfiguration RetainExceptOnCreate", without_effect,
      "if a stack can't be created completely, nothing is created"}},
    {"CreateStack",
     {"Parameters.ResolvedValue ResourceTypes StackPolicyBody StackPolicyURL DeploymentConfig "
      "DisableValidation",
      without_effect}},
    {"CreateStack", {"TemplateURL", refused, "use TemplateBody"}},
    {"CreateStack", {"Parameters.UsePreviousValue", refused, "a new stack has no previous values"}},
    {"CreateStack", {"EnableTerminationProtection", refused, "rejected only if true"}},
    {"CreateChangeSet",
     {"StackName ChangeSetName ChangeSetType TemplateBody UsePreviousTemplate "
      "Parameters.ParameterKey Parameters.ParameterValue ClientToken",
      heeded}},
    {"CreateChangeSet", {"Parameters.UsePreviousValue", heeded, secrets_again}},
    {"CreateChangeSet", {"Tags", heeded, "apply to the stack and its resources"}},
    {"CreateChangeSet", {"Description Capabilities RoleARN NotificationARNs", echoed}},
    {"CreateChangeSet",
     {"OnStackFailure RollbackConfiguration", without_effect,
      "a stack is created completely or not at all"}},
    {"CreateChangeSet",
     {"Parameters.ResolvedValue ResourceTypes ResourcesToImport IncludeNestedStacks "
      "ImportExistingResources DeploymentMode DeploymentConfig DisableValidation",
      without_effect}},
    {"CreateChangeSet", {"TemplateURL", refused, "use TemplateBody"}},
    {"DescribeChangeSet", {"ChangeSetName StackName", heeded}},
    {"DescribeChangeSet", {"IncludePropertyValues", without_effect}},
    {"DescribeChangeSet", {"NextToken", without_effect, one_page}},
    {"ExecuteChangeSet", {"ChangeSetName StackName ClientRequestToken", heeded}},
    {"ExecuteChangeSet",
     {"DisableRollback RetainExceptOnCreate", without_effect,
      "a stack is changed completely or not at all"}},
    {"DeleteChangeSet", {"ChangeSetName StackName", heeded}},
    {"UpdateStack",
     {"StackName TemplateBody UsePreviousTemplate Parameters.ParameterKey "
      "Parameters.ParameterValue ClientRequestToken",
      heeded}},
    {"UpdateStack", {"Parameters.UsePreviousValue", heeded, secrets_again}},
    {"UpdateStack", {"Tags", heeded, "apply to the stack and its resources"}},
    {"UpdateStack", {"Capabilities RoleARN NotificationARNs", echoed}},
    {"UpdateStack",
     {"DisableRollback RollbackConfiguration RetainExceptOnCreate", without_effect,
      "a stack is changed completely or not at all"}},
    {"UpdateStack",
     {"Parameters.ResolvedValue ResourceTypes StackPolicyBody StackPolicyURL "
      "StackPolicyDuringUpdateBody StackPolicyDuringUpdateURL DeploymentConfig DisableValidation",
      without_effect}},
    {"UpdateStack", {"TemplateURL", refused, "use TemplateBody"}},
    {"GetTemplateSummary", {"StackName TemplateBody", heeded}},
    {"GetTemplateSummary", {"TemplateURL", refused, "use TemplateBody"}},
    {"GetTemplateSummary", {"StackSetName", refused, "there are no stack sets"}},
    {"GetTemplateSummary", {"CallAs TemplateSummaryConfig", without_effect}},
    {"ListStackResources", {"StackName", heeded}},
    {"ListStackResources", {"NextToken", without_effect, one_page}},
    {"ValidateTemplate", {"TemplateBody", heeded}},
    {"ValidateTemplate", {"TemplateURL", refused, "use TemplateBody"}},
    {"DeleteStack", {"StackName", heeded, "name or ARN"}},
    {"DeleteStack", {"RetainResources", refused, "rejected unless empty"}},
    {"DeleteStack", {"RoleARN ClientRequestToken DeletionMode DeploymentConfig", without_effect}},
    {"DescribeStackEvents", {"StackName", heeded}},
    {"DescribeStackEvents", {"NextToken", without_effect, one_page}},
    {"DescribeStackResources", {"StackName LogicalResourceId PhysicalResourceId", heeded}},
    {"DescribeStacks", {"StackName", heeded}},
    {"DescribeStacks", {"NextToken", without_effect, one_page}},
    {"GetTemplate", {"StackName", heeded}},
    {"GetTemplate",
     {"ChangeSetName TemplateStage", without_effect, "there is only one version of the template"}},
    {"ListStacks", {"StackStatusFilter", heeded}},
    {"ListStacks", {"NextToken", without_effect, one_page}},
    {"BatchDeleteImage", {"repositoryName imageIds", heeded}},
    {"BatchDeleteImage", {"registryId", heeded, own_registry}},
    {"BatchGetImage", {"repositoryName imageIds", heeded}},
    {"BatchGetImage", {"registryId", heeded, own_registry}},
    {"BatchGetImage",
     {"acceptedMediaTypes", without_effect, "manifests are returned as they were pushed"}},
    {"CreateRepository", {"repositoryName", heeded, "at most 200 characters"}},
    {"CreateRepository", {"registryId", heeded, own_registry}},
    {"CreateRepository",
     {"imageTagMutability", heeded, "MUTABLE or IMMUTABLE; others are rejected"}},
    {"CreateRepository",
     {"tags imageTagMutabilityExclusionFilters imageScanningConfiguration encryptionConfiguration",
      without_effect}},
    {"DeleteRepository", {"repositoryName force", heeded}},
    {"DeleteRepository", {"registryId", heeded, own_registry}},
    {"DescribeImages", {"repositoryName imageIds nextToken maxResults filter.tagStatus", heeded}},
    {"DescribeImages", {"registryId", heeded, own_registry}},
    {"DescribeImages", {"filter.imageStatus", without_effect, "every image is active"}},
    {"DescribeRepositories", {"repositoryNames nextToken maxResults", heeded}},
    {"DescribeRepositories", {"registryId", heeded, own_registry}},
    {"GetAuthorizationToken",
     {"registryIds", without_effect, "the token is always for this server"}},
    {"GetLifecyclePolicy", {"repositoryName", heeded, "no repository has a lifecycle policy"}},
    {"GetLifecyclePolicy", {"registryId", heeded, own_registry}},
    {"ListImages", {"repositoryName nextToken maxResults filter.tagStatus", heeded}},
    {"ListImages", {"registryId", heeded, own_registry}},
    {"ListImages", {"filter.imageStatus", without_effect, "every image is active"}},
    {"ListTagsForResource", {"resourceArn", heeded, "no repository has tags"}},
};

}  // namespace

std::vector<FieldRow> field_rows(std::string_view operation) {
  if (operation == "CreateTrainingJob") {
    const std::span<const FieldRow> all = create_training_job_rows();
    return {all.begin(), all.end()};
  }
  std::vector<FieldRow> found;
  for (const OperationRow& each : rows)
    if (each.operation == operation) found.push_back(each.row);
  return found;
}

}  // namespace muster::api
