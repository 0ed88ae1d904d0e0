// Written by tools/service_model.py from botocore's published service model.
#include "api/model_table.h"

// clang-format off
namespace muster::api {

namespace {

constexpr Operation operations[] = {
    {"DescribeImages", 0}, {"GetAuthorizationToken", 12},
};

constexpr Shape shapes[] = {
    {Kind::structure, 0, 6}, {Kind::string, 0, 0, no_min, no_max, 0},
    {Kind::string, 0, 0, 2, 256, 1}, {Kind::list, 6, 1, 1, 100}, {Kind::structure, 7, 2},
    {Kind::string}, {Kind::string, 0, 0, 1, 300}, {Kind::string}, {Kind::integer, 0, 0, 1, 1000},
    {Kind::structure, 9, 2}, {Kind::string, 0, 3}, {Kind::string, 3, 4}, {Kind::structure, 11, 1},
    {Kind::list, 12, 1, 1, 10},
};

constexpr Member members[] = {
    {"registryId", 1}, {"repositoryName", 2, true}, {"imageIds", 3}, {"nextToken", 7},
    {"maxResults", 8}, {"filter", 9}, {"member", 4}, {"imageDigest", 5}, {"imageTag", 6},
    {"tagStatus", 10}, {"imageStatus", 11}, {"registryIds", 13}, {"member", 1},
};

constexpr std::string_view words[] = {
    "TAGGED", "UNTAGGED", "ANY", "ACTIVE", "ARCHIVED", "ACTIVATING", "ANY",
};

constexpr Pattern patterns[] = {
    {"[0-9]{12}",
     "[0-9]{12}"},
    {"[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*(\\/[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*)"
     "*",
     "[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*(\\/[a-z0-9]+((\\.|_|__|-+)[a-z0-9]+)*)"
     "*"},
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
