// Written by tools/service_model.py from botocore's published service model.
#include "api/model_table.h"

// clang-format off
namespace muster::api {

namespace {

constexpr Operation operations[] = {
    {"GetCallerIdentity", 0, 1},
};

constexpr Shape shapes[] = {
    {Kind::structure}, {Kind::structure, 0, 3}, {Kind::string}, {Kind::string},
    {Kind::string, 0, 0, 20, 2048, 0},
};

constexpr Member members[] = {
    {"UserId", 2}, {"Account", 3}, {"Arn", 4},
};

constexpr Pattern patterns[] = {
    {"[\\u0009\\u000A\\u000D\\u0020-\\u007E\\u0085\\u00A0-\\uD7FF\\uE000-\\uFFFD\\u1000"
     "0-\\u10FFFF]+",
     "[\\x{0009}\\x{000A}\\x{000D}\\x{0020}-\\x{007E}\\x{0085}\\x{00A0}-\\x{D7FF}\\x{"
     "E000}-\\x{FFFD}\\x{10000}-\\x{10FFFF}]+"},
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
