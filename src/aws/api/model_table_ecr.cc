// Written by tools/service_model.py from botocore's published service model.
#include "aws/api/model_table.h"

// clang-format off
namespace muster::api {

namespace {

constexpr Operation operations[] = {
    {"BatchDeleteImage", 0}, {"BatchGetImage", 7}, {"CreateRepository", 10},
    {"DeleteRepository", 25}, {"DescribeImages", 27}, {"DescribeRepositories", 33},
    {"GetAuthorizationToken", 35}, {"GetLifecyclePolicy", 37}, {"ListImages", 38},
    {"ListTagsForResource", 40},
};

constexpr Shape shapes[] = {
    {Kind::structure, 0, 3}, {Kind::string, 0, 0, no_min, no_max, 0},
    {Kind::string, 0, 0, 2, 256, 1}, {Kind::list, 3, 1, 1, 100}, {Kind::structure, 4, 2},
    {Kind::string}, {Kind::string, 0, 0, 1, 300}, {Kind::structure, 6, 4},
    {Kind::list, 10, 1, 1, 100}, {Kind::string}, {Kind::structure, 11, 7}, {Kind::list, 18, 1},
    {Kind::structure, 19, 2}, {Kind::string}, {Kind::string}, {Kind::string, 0, 4},
    {Kind::list, 21, 1, 1, 5}, {Kind::structure, 22, 2}, {Kind::string, 4, 1},
    {Kind::string, 0, 0, 1, 128, 2}, {Kind::structure, 24, 1}, {Kind::boolean},
    {Kind::structure, 25, 2}, {Kind::string, 5, 3}, {Kind::string, 0, 0, 1, 2048},
    {Kind::structure, 27, 3}, {Kind::boolean}, {Kind::structure, 30, 6}, {Kind::string},
    {Kind::integer, 0, 0, 1, 1000}, {Kind::structure, 36, 2}, {Kind::string, 8, 3},
    {Kind::string, 11, 4}, {Kind::structure, 38, 4}, {Kind::list, 42, 1, 1, 100},
    {Kind::structure, 43, 1}, {Kind::list, 44, 1, 1, 10}, {Kind::structure, 45, 2},
    {Kind::structure, 47, 5}, {Kind::structure, 52, 2}, {Kind::structure, 54, 1}, {Kind::string},
};

constexpr Member members[] = {
    {"registryId", 1}, {"repositoryName", 2, true}, {"imageIds", 3, true}, {"member", 4},
    {"imageDigest", 5}, {"imageTag", 6}, {"registryId", 1}, {"repositoryName", 2, true},
    {"imageIds", 3, true}, {"acceptedMediaTypes", 8}, {"member", 9}, {"registryId", 1},
    {"repositoryName", 2, true}, {"tags", 11}, {"imageTagMutability", 15},
    {"imageTagMutabilityExclusionFilters", 16}, {"imageScanningConfiguration", 20},
    {"encryptionConfiguration", 22}, {"member", 12}, {"Key", 13, true}, {"Value", 14, true},
    {"member", 17}, {"filterType", 18, true}, {"filter", 19, true}, {"scanOnPush", 21},
    {"encryptionType", 23, true}, {"kmsKey", 24}, {"registryId", 1}, {"repositoryName", 2, true},
    {"force", 26}, {"registryId", 1}, {"repositoryName", 2, true}, {"imageIds", 3},
    {"nextToken", 28}, {"maxResults", 29}, {"filter", 30}, {"tagStatus", 31}, {"imageStatus", 32},
    {"registryId", 1}, {"repositoryNames", 34}, {"nextToken", 28}, {"maxResults", 29},
    {"member", 2}, {"registryIds", 36}, {"member", 1}, {"registryId", 1},
    {"repositoryName", 2, true}, {"registryId", 1}, {"repositoryName", 2, true}, {"nextToken", 28},
    {"maxResults", 29}, {"filter", 39}, {"tagStatus", 31}, {"imageStatus", 32},
    {"resourceArn", 41, true},
};

constexpr std::string_view words[] = {
    "MUTABLE", "IMMUTABLE", "IMMUTABLE_WITH_EXCLUSION", "MUTABLE_WITH_EXCLUSION", "WILDCARD",
    "AES256", "KMS", "KMS_DSSE", "TAGGED", "UNTAGGED", "ANY", "ACTIVE", "ARCHIVED", "ACTIVATING",
    "ANY",
};

constexpr Pattern patterns[] = {
    {"[0-9]{12}",
     "[0-9]{12}"},
    {"[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*(\\/[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*)"
     "*",
     "[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*(\\/[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*)"
     "*"},
    {"^[0-9a-zA-Z._*-]{1,128}$",
     "^[0-9a-zA-Z._*-]{1,128}$"},
};

}  // namespace

constinit const Service ecr_model = {
    .name = "ecr",
    .version = "2015-09-21",
    .target = "AmazonEC2ContainerRegistry_V20150921",
    .json_version = "1.1",
    .xml_namespace = "",
    .style = Style::json,
    .operations = operations,
    .shapes = shapes,
    .members = members,
    .words = words,
    .patterns = patterns,
};

}  // namespace muster::api
