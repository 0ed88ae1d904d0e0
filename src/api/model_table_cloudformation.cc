// Written by tools/service_model.py from botocore's published service model.
#include "api/model_table.h"

// clang-format off
namespace muster::api {

namespace {

constexpr Operation operations[] = {
    {"CreateStack", 0, 37}, {"DeleteStack", 40, no_shape}, {"DescribeStackEvents", 44, 46},
    {"DescribeStackResources", 62, 63}, {"DescribeStacks", 72, 73}, {"GetTemplate", 93, 96},
    {"ListStacks", 98, 100},
};

constexpr Shape shapes[] = {
    {Kind::structure, 0, 20}, {Kind::string}, {Kind::string, 0, 0, 1},
    {Kind::string, 0, 0, 1, 5120}, {Kind::list, 20, 1}, {Kind::structure, 21, 4}, {Kind::string},
    {Kind::string}, {Kind::boolean}, {Kind::boolean}, {Kind::structure, 25, 2},
    {Kind::list, 27, 1, no_min, 5}, {Kind::structure, 28, 2}, {Kind::string}, {Kind::string},
    {Kind::integer, 0, 0, 0, 180}, {Kind::integer, 0, 0, 1}, {Kind::list, 30, 1, no_min, 5},
    {Kind::string}, {Kind::list, 31, 1}, {Kind::string, 0, 3}, {Kind::list, 32, 1},
    {Kind::string, 0, 0, 1, 256}, {Kind::string, 0, 0, 20, 2048}, {Kind::string, 3, 3},
    {Kind::string, 0, 0, 1, 16384}, {Kind::string, 0, 0, 1, 5120}, {Kind::list, 33, 1, no_min, 50},
    {Kind::structure, 34, 2}, {Kind::string, 0, 0, 1, 128}, {Kind::string, 0, 0, 1, 256},
    {Kind::string, 0, 0, 1, 128, 0}, {Kind::boolean}, {Kind::boolean}, {Kind::structure, 36, 2},
    {Kind::string, 6, 2}, {Kind::boolean}, {Kind::structure, 38, 2}, {Kind::string}, {Kind::string},
    {Kind::structure, 40, 6}, {Kind::list, 46, 1}, {Kind::string}, {Kind::string, 8, 2},
    {Kind::structure, 47, 2}, {Kind::string, 0, 0, 1, 1024}, {Kind::structure, 49, 2},
    {Kind::list, 51, 1}, {Kind::structure, 52, 19}, {Kind::string}, {Kind::string},
    {Kind::timestamp}, {Kind::string, 10, 28}, {Kind::string}, {Kind::string},
    {Kind::string, 0, 0, 1, 255}, {Kind::string, 38, 4}, {Kind::string, 0, 0, 1, 1024},
    {Kind::string, 42, 1}, {Kind::string, 0, 0, 36, 36, 1}, {Kind::string, 43, 2},
    {Kind::string, 45, 2}, {Kind::structure, 71, 3}, {Kind::structure, 74, 1}, {Kind::list, 75, 1},
    {Kind::structure, 76, 11}, {Kind::string, 0, 0, 1, 1024}, {Kind::structure, 87, 2},
    {Kind::string, 47, 6}, {Kind::structure, 89, 2}, {Kind::string}, {Kind::string},
    {Kind::structure, 91, 2}, {Kind::structure, 93, 2}, {Kind::list, 95, 1},
    {Kind::structure, 96, 28}, {Kind::string, 0, 0, 1, no_max, 2}, {Kind::timestamp},
    {Kind::timestamp}, {Kind::timestamp}, {Kind::string, 53, 23}, {Kind::string},
    {Kind::list, 124, 1}, {Kind::structure, 125, 4}, {Kind::string}, {Kind::string}, {Kind::string},
    {Kind::structure, 129, 2}, {Kind::string, 76, 4}, {Kind::list, 131, 1},
    {Kind::structure, 132, 2}, {Kind::string, 80, 6}, {Kind::string, 0, 0, 1, 128},
    {Kind::structure, 134, 3}, {Kind::string, 0, 0, 1, 1600, 3}, {Kind::string, 86, 2},
    {Kind::structure, 137, 2}, {Kind::list, 139, 1}, {Kind::structure, 140, 2},
    {Kind::list, 142, 1}, {Kind::structure, 143, 2}, {Kind::list, 145, 1},
    {Kind::structure, 146, 12}, {Kind::string}, {Kind::structure, 158, 2},
};

constexpr Member members[] = {
    {"StackName", 1, true}, {"TemplateBody", 2}, {"TemplateURL", 3}, {"Parameters", 4},
    {"DisableRollback", 9}, {"RollbackConfiguration", 10}, {"TimeoutInMinutes", 16},
    {"NotificationARNs", 17}, {"Capabilities", 19}, {"ResourceTypes", 21}, {"RoleARN", 23},
    {"OnFailure", 24}, {"StackPolicyBody", 25}, {"StackPolicyURL", 26}, {"Tags", 27},
    {"ClientRequestToken", 31}, {"EnableTerminationProtection", 32}, {"RetainExceptOnCreate", 33},
    {"DeploymentConfig", 34}, {"DisableValidation", 36}, {"member", 5}, {"ParameterKey", 6},
    {"ParameterValue", 7}, {"UsePreviousValue", 8}, {"ResolvedValue", 7}, {"RollbackTriggers", 11},
    {"MonitoringTimeInMinutes", 15}, {"member", 12}, {"Arn", 13, true}, {"Type", 14, true},
    {"member", 18}, {"member", 20}, {"member", 22}, {"member", 28}, {"Key", 29, true},
    {"Value", 30, true}, {"Mode", 35}, {"DisableRollback", 9}, {"StackId", 38}, {"OperationId", 39},
    {"StackName", 1, true}, {"RetainResources", 41}, {"RoleARN", 23}, {"ClientRequestToken", 31},
    {"DeletionMode", 43}, {"DeploymentConfig", 34}, {"member", 42}, {"StackName", 1, true},
    {"NextToken", 45}, {"StackEvents", 47}, {"NextToken", 45}, {"member", 48},
    {"StackId", 38, true}, {"EventId", 49, true}, {"StackName", 1, true}, {"OperationId", 39},
    {"LogicalResourceId", 42}, {"PhysicalResourceId", 50}, {"ResourceType", 22},
    {"Timestamp", 51, true}, {"ResourceStatus", 52}, {"ResourceStatusReason", 53},
    {"ResourceProperties", 54}, {"ClientRequestToken", 31}, {"HookType", 55}, {"HookStatus", 56},
    {"HookStatusReason", 57}, {"HookInvocationPoint", 58}, {"HookInvocationId", 59},
    {"HookFailureMode", 60}, {"DetailedStatus", 61}, {"StackName", 1}, {"LogicalResourceId", 42},
    {"PhysicalResourceId", 50}, {"StackResources", 64}, {"member", 65}, {"StackName", 1},
    {"StackId", 38}, {"LogicalResourceId", 42, true}, {"PhysicalResourceId", 50},
    {"ResourceType", 22, true}, {"Timestamp", 51, true}, {"ResourceStatus", 52, true},
    {"ResourceStatusReason", 53}, {"Description", 66}, {"DriftInformation", 67}, {"ModuleInfo", 69},
    {"StackResourceDriftStatus", 68, true}, {"LastCheckTimestamp", 51}, {"TypeHierarchy", 70},
    {"LogicalIdHierarchy", 71}, {"StackName", 1}, {"NextToken", 45}, {"Stacks", 74},
    {"NextToken", 45}, {"member", 75}, {"StackId", 38}, {"StackName", 1, true}, {"ChangeSetId", 76},
    {"Description", 66}, {"Parameters", 4}, {"CreationTime", 77, true}, {"DeletionTime", 78},
    {"LastUpdatedTime", 79}, {"RollbackConfiguration", 10}, {"StackStatus", 80, true},
    {"StackStatusReason", 81}, {"DisableRollback", 9}, {"DeploymentConfig", 34},
    {"NotificationARNs", 17}, {"TimeoutInMinutes", 16}, {"Capabilities", 19}, {"Outputs", 82},
    {"RoleARN", 23}, {"Tags", 27}, {"EnableTerminationProtection", 32}, {"ParentId", 38},
    {"RootId", 38}, {"DriftInformation", 87}, {"RetainExceptOnCreate", 33}, {"DeletionMode", 43},
    {"DetailedStatus", 61}, {"LastOperations", 89}, {"AliasName", 92}, {"member", 83},
    {"OutputKey", 84}, {"OutputValue", 85}, {"Description", 66}, {"ExportName", 86},
    {"StackDriftStatus", 88, true}, {"LastCheckTimestamp", 51}, {"member", 90},
    {"OperationType", 91}, {"OperationId", 39}, {"StackName", 1}, {"ChangeSetName", 94},
    {"TemplateStage", 95}, {"TemplateBody", 2}, {"StagesAvailable", 97}, {"member", 95},
    {"NextToken", 45}, {"StackStatusFilter", 99}, {"member", 80}, {"StackSummaries", 101},
    {"NextToken", 45}, {"member", 102}, {"StackId", 38}, {"StackName", 1, true},
    {"TemplateDescription", 103}, {"CreationTime", 77, true}, {"LastUpdatedTime", 79},
    {"DeletionTime", 78}, {"StackStatus", 80, true}, {"StackStatusReason", 81}, {"ParentId", 38},
    {"RootId", 38}, {"DriftInformation", 104}, {"LastOperations", 89},
    {"StackDriftStatus", 88, true}, {"LastCheckTimestamp", 51},
};

constexpr std::string_view words[] = {
    "CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND", "DO_NOTHING", "ROLLBACK",
    "DELETE", "STANDARD", "EXPRESS", "STANDARD", "FORCE_DELETE_STACK", "CREATE_IN_PROGRESS",
    "CREATE_FAILED", "CREATE_COMPLETE", "DELETE_IN_PROGRESS", "DELETE_FAILED", "DELETE_COMPLETE",
    "DELETE_SKIPPED", "UPDATE_IN_PROGRESS", "UPDATE_FAILED", "UPDATE_COMPLETE", "IMPORT_FAILED",
    "IMPORT_COMPLETE", "IMPORT_IN_PROGRESS", "IMPORT_ROLLBACK_IN_PROGRESS",
    "IMPORT_ROLLBACK_FAILED", "IMPORT_ROLLBACK_COMPLETE", "EXPORT_FAILED", "EXPORT_COMPLETE",
    "EXPORT_IN_PROGRESS", "EXPORT_ROLLBACK_IN_PROGRESS", "EXPORT_ROLLBACK_FAILED",
    "EXPORT_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE",
    "UPDATE_ROLLBACK_FAILED", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED",
    "HOOK_IN_PROGRESS", "HOOK_COMPLETE_SUCCEEDED", "HOOK_COMPLETE_FAILED", "HOOK_FAILED",
    "PRE_PROVISION", "FAIL", "WARN", "CONFIGURATION_COMPLETE", "VALIDATION_FAILED", "IN_SYNC",
    "MODIFIED", "DELETED", "NOT_CHECKED", "UNKNOWN", "UNSUPPORTED", "CREATE_IN_PROGRESS",
    "CREATE_FAILED", "CREATE_COMPLETE", "ROLLBACK_IN_PROGRESS", "ROLLBACK_FAILED",
    "ROLLBACK_COMPLETE", "DELETE_IN_PROGRESS", "DELETE_FAILED", "DELETE_COMPLETE",
    "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_COMPLETE", "UPDATE_FAILED",
    "UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_FAILED",
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE",
    "REVIEW_IN_PROGRESS", "IMPORT_IN_PROGRESS", "IMPORT_COMPLETE", "IMPORT_ROLLBACK_IN_PROGRESS",
    "IMPORT_ROLLBACK_FAILED", "IMPORT_ROLLBACK_COMPLETE", "DRIFTED", "IN_SYNC", "UNKNOWN",
    "NOT_CHECKED", "CREATE_STACK", "UPDATE_STACK", "DELETE_STACK", "CONTINUE_ROLLBACK", "ROLLBACK",
    "CREATE_CHANGESET", "Original", "Processed",
};

constexpr Pattern patterns[] = {
    {"[a-zA-Z0-9][-a-zA-Z0-9]*",
     "[a-zA-Z0-9][-a-zA-Z0-9]*"},
    {"^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$",
     "^[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}$"},
    {"arn:[-a-zA-Z0-9:/]*",
     "arn:[-a-zA-Z0-9:/]*"},
    {"[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/]*",
     "[a-zA-Z][-a-zA-Z0-9]*|arn:[-a-zA-Z0-9:/]*"},
};

}  // namespace

constinit const Service cloudformation_model = {
    .name = "cloudformation",
    .version = "2010-05-15",
    .target = "",
    .json_version = "",
    .xml_namespace = "http://cloudformation.amazonaws.com/doc/2010-05-15/",
    .style = Style::query,
    .operations = operations,
    .shapes = shapes,
    .members = members,
    .words = words,
    .patterns = patterns,
};

}  // namespace muster::api
