// Written by tools/service_model.py from botocore's published service model.
#include "aws/api/model_table.h"

// clang-format off
namespace muster::api {

namespace {

constexpr Operation operations[] = {
    {"DescribeLogGroups", 0}, {"DescribeLogStreams", 11}, {"FilterLogEvents", 15},
    {"GetLogEvents", 23},
};

constexpr Shape shapes[] = {
    {Kind::structure, 0, 8}, {Kind::list, 8, 1, 0, 20}, {Kind::string, 0, 0, 12, 12, 0},
    {Kind::string, 0, 0, 1, 512, 1}, {Kind::string, 0, 0, 0, 512, 2}, {Kind::string, 0, 0, 1},
    {Kind::integer, 0, 0, 1, 50}, {Kind::boolean}, {Kind::string, 0, 4}, {Kind::list, 9, 1, 1, 50},
    {Kind::string, 0, 0, 1, 2048, 3}, {Kind::structure, 10, 7}, {Kind::string, 0, 0, 1, 512, 4},
    {Kind::string, 4, 2}, {Kind::boolean}, {Kind::structure, 17, 12}, {Kind::list, 29, 1, 1, 100},
    {Kind::long_integer, 0, 0, 0}, {Kind::string, 0, 0, 0, 1024}, {Kind::integer, 0, 0, 1, 10000},
    {Kind::boolean}, {Kind::boolean}, {Kind::boolean}, {Kind::structure, 30, 9},
};

constexpr Member members[] = {
    {"accountIdentifiers", 1}, {"logGroupNamePrefix", 3}, {"logGroupNamePattern", 4},
    {"nextToken", 5}, {"limit", 6}, {"includeLinkedAccounts", 7}, {"logGroupClass", 8},
    {"logGroupIdentifiers", 9}, {"member", 2}, {"member", 10}, {"logGroupName", 3},
    {"logGroupIdentifier", 10}, {"logStreamNamePrefix", 12}, {"orderBy", 13}, {"descending", 14},
    {"nextToken", 5}, {"limit", 6}, {"logGroupName", 3}, {"logGroupIdentifier", 10},
    {"logStreamNames", 16}, {"logStreamNamePrefix", 12}, {"startTime", 17}, {"endTime", 17},
    {"filterPattern", 18}, {"nextToken", 5}, {"limit", 19}, {"startFromHead", 20},
    {"interleaved", 21}, {"unmask", 22}, {"member", 12}, {"logGroupName", 3},
    {"logGroupIdentifier", 10}, {"logStreamName", 12, true}, {"startTime", 17}, {"endTime", 17},
    {"nextToken", 5}, {"limit", 19}, {"startFromHead", 20}, {"unmask", 22},
};

constexpr std::string_view words[] = {
    "STANDARD", "INFREQUENT_ACCESS", "DELIVERY", "ESSENTIALS", "LogStreamName", "LastEventTime",
};

constexpr Pattern patterns[] = {
    {"^\\d{12}$",
     "^\\d{12}$"},
    {"[\\.\\-_/#A-Za-z0-9]+",
     "[\\.\\-_/#A-Za-z0-9]+"},
    {"[\\.\\-_/#A-Za-z0-9]*",
     "[\\.\\-_/#A-Za-z0-9]*"},
    {"[\\w#+=/:,.@-]*",
     "[\\w#+=/:,.@-]*"},
    {"[^:*]*",
     "[^:*]*"},
};

}  // namespace

constinit const Service logs_model = {
    .name = "logs",
    .version = "2014-03-28",
    .target = "Logs_20140328",
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
