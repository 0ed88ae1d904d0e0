// Written by tools/service_model.py from botocore's published service model.
#include "aws/api/model_table.h"

// clang-format off
namespace muster::api {

namespace {

constexpr Operation operations[] = {
    {"AssumeRole", 0, 20}, {"GetCallerIdentity", 31, 32}, {"GetSessionToken", 35, 37},
};

constexpr Shape shapes[] = {
    {Kind::structure, 0, 13}, {Kind::string, 0, 0, 20, 2048, 0}, {Kind::string, 0, 0, 2, 64, 1},
    {Kind::list, 13, 1}, {Kind::structure, 14, 1}, {Kind::string, 0, 0, 1, no_max, 2},
    {Kind::integer, 0, 0, 900, 43200}, {Kind::list, 15, 1, no_min, 50}, {Kind::structure, 16, 2},
    {Kind::string, 0, 0, 1, 128, 3}, {Kind::string, 0, 0, 0, 256, 4},
    {Kind::list, 18, 1, no_min, 50}, {Kind::string, 0, 0, 2, 1224, 5},
    {Kind::string, 0, 0, 9, 256, 6}, {Kind::string, 0, 0, 6, 6, 7}, {Kind::string, 0, 0, 2, 64, 1},
    {Kind::list, 19, 1, 1, 5}, {Kind::structure, 20, 2}, {Kind::string, 0, 0, 4, 2048},
    {Kind::integer, 0, 0, 0, 4096}, {Kind::structure, 22, 6}, {Kind::structure, 28, 4},
    {Kind::string, 0, 0, 16, 128, 8}, {Kind::string}, {Kind::string}, {Kind::timestamp},
    {Kind::structure, 32, 2}, {Kind::string, 0, 0, 2, 193, 9}, {Kind::integer, 0, 0, 0},
    {Kind::integer, 0, 0, 0}, {Kind::integer, 0, 0, 0}, {Kind::structure, 34},
    {Kind::structure, 34, 3}, {Kind::string}, {Kind::string}, {Kind::structure, 37, 4},
    {Kind::integer, 0, 0, 900, 129600}, {Kind::structure, 41, 3},
};

constexpr Member members[] = {
    {"RoleArn", 1, true}, {"RoleSessionName", 2, true}, {"PolicyArns", 3}, {"Policy", 5},
    {"DurationSeconds", 6}, {"Tags", 7}, {"TransitiveTagKeys", 11}, {"ExternalId", 12},
    {"SerialNumber", 13}, {"TokenCode", 14}, {"SourceIdentity", 15}, {"ProvidedContexts", 16},
    {"MinimumSessionTokenSize", 19}, {"member", 4}, {"arn", 1}, {"member", 8}, {"Key", 9, true},
    {"Value", 10, true}, {"member", 9}, {"member", 17}, {"ProviderArn", 1},
    {"ContextAssertion", 18}, {"Credentials", 21}, {"AssumedRoleUser", 26},
    {"PackedPolicySize", 28}, {"SourceIdentity", 15}, {"SessionTokenUtilization", 29},
    {"SessionTokenSize", 30}, {"AccessKeyId", 22, true}, {"SecretAccessKey", 23, true},
    {"SessionToken", 24, true}, {"Expiration", 25, true}, {"AssumedRoleId", 27, true},
    {"Arn", 1, true}, {"UserId", 33}, {"Account", 34}, {"Arn", 1}, {"DurationSeconds", 36},
    {"SerialNumber", 13}, {"TokenCode", 14}, {"MinimumSessionTokenSize", 19}, {"Credentials", 21},
    {"SessionTokenUtilization", 29}, {"SessionTokenSize", 30},
};

constexpr Pattern patterns[] = {
    {"[\\u0009\\u000A\\u000D\\u0020-\\u007E\\u0085\\u00A0-\\uD7FF\\uE000-\\uFFFD\\u1000"
     "0-\\u10FFFF]+",
     "[\\x{0009}\\x{000A}\\x{000D}\\x{0020}-\\x{007E}\\x{0085}\\x{00A0}-\\x{D7FF}\\x{"
     "E000}-\\x{FFFD}\\x{10000}-\\x{10FFFF}]+"},
    {"[\\w+=,.@-]*",
     "[\\w+=,.@-]*"},
    {"[\\u0009\\u000A\\u000D\\u0020-\\u00FF]+",
     "[\\x{0009}\\x{000A}\\x{000D}\\x{0020}-\\x{00FF}]+"},
    {"[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]+",
     "[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]+"},
    {"[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*",
     "[\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*"},
    {"[\\w+=,.@:\\/-]*",
     "[\\w+=,.@:\\/-]*"},
    {"[\\w+=/:,.@-]*",
     "[\\w+=/:,.@-]*"},
    {"[\\d]*",
     "[\\d]*"},
    {"[\\w]*",
     "[\\w]*"},
    {"[\\w+=,.@:-]*",
     "[\\w+=,.@:-]*"},
};

}  // namespace

constinit const Service sts_model = {
    .name = "sts",
    .version = "2011-06-15",
    .target = "",
    .json_version = "",
    .xml_namespace = "https://sts.amazonaws.com/doc/2011-06-15/",
    .style = Style::query,
    .operations = operations,
    .shapes = shapes,
    .members = members,
    .words = {},
    .patterns = patterns,
};

}  // namespace muster::api
