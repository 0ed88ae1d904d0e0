// Written by tools/service_model.py from botocore's published service model.
#include "aws/api/model_table.h"

// clang-format off
namespace muster::api {

namespace {

constexpr Operation operations[] = {
    {"GetRole", 0, 2}, {"SimulatePrincipalPolicy", 21, 43},
};

constexpr Shape shapes[] = {
    {Kind::structure, 0, 1}, {Kind::string, 0, 0, 1, 64, 0}, {Kind::structure, 1, 1},
    {Kind::structure, 2, 12}, {Kind::string, 0, 0, 1, 512, 1}, {Kind::string, 0, 0, 16, 128, 2},
    {Kind::string, 0, 0, 20, 2048}, {Kind::timestamp}, {Kind::string, 0, 0, 1, 131072, 3},
    {Kind::string, 0, 0, no_min, 1000, 4}, {Kind::integer, 0, 0, 3600, 43200},
    {Kind::structure, 14, 2}, {Kind::string, 0, 1}, {Kind::list, 16, 1, no_min, 50},
    {Kind::structure, 17, 2}, {Kind::string, 0, 0, 1, 128, 5}, {Kind::string, 0, 0, 0, 256, 6},
    {Kind::structure, 19, 2}, {Kind::string}, {Kind::structure, 21, 2}, {Kind::integer},
    {Kind::structure, 23, 13}, {Kind::list, 36, 1}, {Kind::list, 37, 1, no_min, 256},
    {Kind::structure, 38, 3}, {Kind::string, 1, 6}, {Kind::structure, 41, 3},
    {Kind::string, 0, 0, 1, 128, 0}, {Kind::string, 7, 3}, {Kind::string, 0, 0, 1, 128, 0},
    {Kind::list, 44, 1}, {Kind::string, 0, 0, 3, 128}, {Kind::list, 45, 1},
    {Kind::string, 0, 0, 1, 2048}, {Kind::list, 46, 1}, {Kind::structure, 47, 3},
    {Kind::string, 0, 0, 5, 256}, {Kind::list, 50, 1}, {Kind::string}, {Kind::string, 10, 12},
    {Kind::string, 0, 0, 1, 64}, {Kind::integer, 0, 0, 1, 1000}, {Kind::string, 0, 0, 1, 320, 7},
    {Kind::structure, 51, 3}, {Kind::list, 54, 1}, {Kind::structure, 55, 9}, {Kind::string, 22, 3},
    {Kind::list, 64, 1}, {Kind::structure, 65, 4}, {Kind::string}, {Kind::string, 25, 7},
    {Kind::structure, 69, 2}, {Kind::integer}, {Kind::integer}, {Kind::list, 71, 1},
    {Kind::structure, 72, 1}, {Kind::boolean}, {Kind::structure, 73, 1}, {Kind::map, 74, 2},
    {Kind::string, 0, 0, 3, 256}, {Kind::list, 76, 1}, {Kind::structure, 77, 6}, {Kind::string},
};

constexpr Member members[] = {
    {"RoleName", 1, true}, {"Role", 3, true}, {"Path", 4, true}, {"RoleName", 1, true},
    {"RoleId", 5, true}, {"Arn", 6, true}, {"CreateDate", 7, true}, {"AssumeRolePolicyDocument", 8},
    {"Description", 9}, {"MaxSessionDuration", 10}, {"PermissionsBoundary", 11}, {"Tags", 13},
    {"RoleLastUsed", 17}, {"SourceRoleTemplate", 19}, {"PermissionsBoundaryType", 12},
    {"PermissionsBoundaryArn", 6}, {"member", 14}, {"Key", 15, true}, {"Value", 16, true},
    {"LastUsedDate", 7}, {"Region", 18}, {"TemplateArn", 6, true},
    {"TemplateMinorVersion", 20, true}, {"PolicySourceArn", 6, true}, {"PolicyInputList", 22},
    {"PermissionsBoundaryPolicyInputList", 22}, {"PolicyExclusionList", 23},
    {"ActionNames", 30, true}, {"ResourceArns", 32}, {"ResourcePolicy", 8}, {"ResourceOwner", 33},
    {"CallerArn", 33}, {"ContextEntries", 34}, {"ResourceHandlingOption", 40}, {"MaxItems", 41},
    {"Marker", 42}, {"member", 8}, {"member", 24}, {"PolicyType", 25}, {"PolicyArn", 6},
    {"InlinePolicyIdentifier", 26}, {"PolicyName", 27, true}, {"AttachmentType", 28, true},
    {"AttachmentName", 29, true}, {"member", 31}, {"member", 33}, {"member", 35},
    {"ContextKeyName", 36}, {"ContextKeyValues", 37}, {"ContextKeyType", 39}, {"member", 38},
    {"EvaluationResults", 44}, {"IsTruncated", 56}, {"Marker", 62}, {"member", 45},
    {"EvalActionName", 31, true}, {"EvalResourceName", 33}, {"EvalDecision", 46, true},
    {"MatchedStatements", 47}, {"MissingContextValues", 54}, {"OrganizationsDecisionDetail", 55},
    {"PermissionsBoundaryDecisionDetail", 57}, {"EvalDecisionDetails", 58},
    {"ResourceSpecificResults", 60}, {"member", 48}, {"SourcePolicyId", 49},
    {"SourcePolicyType", 50}, {"StartPosition", 51}, {"EndPosition", 51}, {"Line", 52},
    {"Column", 53}, {"member", 36}, {"AllowedByOrganizations", 56},
    {"AllowedByPermissionsBoundary", 56}, {"key", 59}, {"value", 46}, {"member", 61},
    {"EvalResourceName", 33, true}, {"EvalResourceDecision", 46, true}, {"MatchedStatements", 47},
    {"MissingContextValues", 54}, {"EvalDecisionDetails", 58},
    {"PermissionsBoundaryDecisionDetail", 57},
};

constexpr std::string_view words[] = {
    "PermissionsBoundaryPolicy", "inline", "aws-managed", "user-managed", "permission-boundary",
    "scp", "rcp", "user", "group", "role", "string", "stringList", "numeric", "numericList",
    "boolean", "booleanList", "ip", "ipList", "binary", "binaryList", "date", "dateList", "allowed",
    "explicitDeny", "implicitDeny", "user", "group", "role", "aws-managed", "user-managed",
    "resource", "none",
};

constexpr Pattern patterns[] = {
    {"[\\w+=,.@-]+",
     "[\\w+=,.@-]+"},
    {"(\\u002F)|(\\u002F[\\u0021-\\u007E]+\\u002F)",
     "(\\x{002F})|(\\x{002F}[\\x{0021}-\\x{007E}]+\\x{002F})"},
    {"[\\w]+",
     "[\\w]+"},
    {"[\\u0009\\u000A\\u000D\\u0020-\\u00FF]+",
     "[\\x{0009}\\x{000A}\\x{000D}\\x{0020}-\\x{00FF}]+"},
    {"[\\u0009\\u000A\\u000D\\u0020-\\u007E\\u00A1-\\u00FF]*",
     "[\\x{0009}\\x{000A}\\x{000D}\\x{0020}-\\x{007E}\\x{00A1}-\\x{00FF}]*"},
    {"[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]+",
     "[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]+"},
    {"[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*",
     "[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*"},
    {"[\\u0020-\\u00FF]+",
     "[\\x{0020}-\\x{00FF}]+"},
};

}  // namespace

constinit const Service iam_model = {
    .name = "iam",
    .version = "2010-05-08",
    .target = "",
    .json_version = "",
    .xml_namespace = "https://iam.amazonaws.com/doc/2010-05-08/",
    .style = Style::query,
    .operations = operations,
    .shapes = shapes,
    .members = members,
    .words = words,
    .patterns = patterns,
};

}  // namespace muster::api
