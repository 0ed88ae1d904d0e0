// Written by tools/service_model.py from botocore's published service model.
#include "api/model_table.h"

// clang-format off
namespace muster::api {

namespace {

constexpr Operation operations[] = {
    {"BatchGetImage", 0}, {"CreateRepository", 9}, {"DeleteRepository", 24}, {"DescribeImages", 26},
    {"DescribeRepositories", 32}, {"GetAuthorizationToken", 34}, {"ListImages", 36},
};

constexpr Shape shapes[] = {
    {Kind::structure, 0, 4}, {Kind::string, 0, 0, no_min, no_max, 0},
    {Kind::string, 0, 0, 2, 256, 1}, {Kind::list, 4, 1, 1, 100}, {Kind::structure, 5, 2},
    {Kind::string}, {Kind::string, 0, 0, 1, 300}, {Kind::list, 7, 1, 1, 100}, {Kind::string},
    {Kind::structure, 8, 7}, {Kind::list, 15, 1}, {Kind::structure, 16, 2}, {Kind::string},
    {Kind::string}, {Kind::string, 0, 4}, {Kind::list, 18, 1, 1, 5}, {Kind::structure, 19, 2},
    {Kind::string, 4, 1}, {Kind::string, 0, 0, 1, 128, 2}, {Kind::structure, 21, 1},
    {Kind::boolean}, {Kind::structure, 22, 2}, {Kind::string, 5, 3}, {Kind::string, 0, 0, 1, 2048},
    {Kind::structure, 24, 3}, {Kind::boolean}, {Kind::structure, 27, 6}, {Kind::string},
    {Kind::integer, 0, 0, 1, 1000}, {Kind::structure, 33, 2}, {Kind::string, 8, 3},
    {Kind::string, 11, 4}, {Kind::structure, 35, 4}, {Kind::list, 39, 1, 1, 100},
    {Kind::structure, 40, 1}, {Kind::list, 41, 1, 1, 10}, {Kind::structure, 42, 5},
    {Kind::structure, 47, 2},
};

constexpr Member members[] = {
    {"registryId", 1}, {"repositoryName", 2, true}, {"imageIds", 3, true},
    {"acceptedMediaTypes", 7}, {"member", 4}, {"imageDigest", 5}, {"imageTag", 6}, {"member", 8},
    {"registryId", 1}, {"repositoryName", 2, true}, {"tags", 10}, {"imageTagMutability", 14},
    {"imageTagMutabilityExclusionFilters", 15}, {"imageScanningConfiguration", 19},
    {"encryptionConfiguration", 21}, {"member", 11}, {"Key", 12, true}, {"Value", 13, true},
    {"member", 16}, {"filterType", 17, true}, {"filter", 18, true}, {"scanOnPush", 20},
    {"encryptionType", 22, true}, {"kmsKey", 23}, {"registryId", 1}, {"repositoryName", 2, true},
    {"force", 25}, {"registryId", 1}, {"repositoryName", 2, true}, {"imageIds", 3},
    {"nextToken", 27}, {"maxResults", 28}, {"filter", 29}, {"tagStatus", 30}, {"imageStatus", 31},
    {"registryId", 1}, {"repositoryNames", 33}, {"nextToken", 27}, {"maxResults", 28},
    {"member", 2}, {"registryIds", 35}, {"member", 1}, {"registryId", 1},
    {"repositoryName", 2, true}, {"nextToken", 27}, {"maxResults", 28}, {"filter", 37},
    {"tagStatus", 30}, {"imageStatus", 31},
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
