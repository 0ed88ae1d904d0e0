// Written by tools/service_model.py from botocore's published service model.
#include "aws/api/model_table.h"

// clang-format off
namespace muster::api {

namespace {

constexpr Operation operations[] = {
    {"GetMetricData", 0, 25}, {"GetMetricStatistics", 36, 41}, {"ListMetrics", 45, 50},
};

constexpr Shape shapes[] = {
    {Kind::structure, 0, 7}, {Kind::list, 7, 1}, {Kind::structure, 8, 7},
    {Kind::string, 0, 0, 1, 255}, {Kind::structure, 15, 4}, {Kind::structure, 19, 3},
    {Kind::string, 0, 0, 1, 255, 0}, {Kind::string, 0, 0, 1, 255}, {Kind::list, 22, 1, no_min, 30},
    {Kind::structure, 23, 2}, {Kind::string, 0, 0, 1, 255}, {Kind::string, 0, 0, 1, 1024},
    {Kind::integer, 0, 0, 1}, {Kind::string}, {Kind::string, 0, 27}, {Kind::string, 0, 0, 1, 2048},
    {Kind::string}, {Kind::boolean}, {Kind::string, 0, 0, 1, 255}, {Kind::timestamp},
    {Kind::string}, {Kind::string, 27, 2}, {Kind::integer}, {Kind::structure, 25, 1},
    {Kind::string}, {Kind::structure, 26, 3}, {Kind::list, 29, 1}, {Kind::structure, 30, 6},
    {Kind::list, 36, 1}, {Kind::list, 37, 1}, {Kind::real}, {Kind::string, 29, 4},
    {Kind::list, 38, 1}, {Kind::structure, 39, 2}, {Kind::string}, {Kind::string},
    {Kind::structure, 41, 9}, {Kind::list, 50, 1, 1, 5}, {Kind::string, 33, 5},
    {Kind::list, 51, 1, 1, 10}, {Kind::string}, {Kind::structure, 52, 2}, {Kind::list, 54, 1},
    {Kind::structure, 55, 8}, {Kind::map, 63, 2}, {Kind::structure, 65, 7},
    {Kind::list, 72, 1, no_min, 10}, {Kind::structure, 73, 2}, {Kind::string, 38, 1},
    {Kind::boolean}, {Kind::structure, 75, 3}, {Kind::list, 78, 1}, {Kind::list, 79, 1},
};

constexpr Member members[] = {
    {"MetricDataQueries", 1, true}, {"StartTime", 19, true}, {"EndTime", 19, true},
    {"NextToken", 20}, {"ScanBy", 21}, {"MaxDatapoints", 22}, {"LabelOptions", 23}, {"member", 2},
    {"Id", 3, true}, {"MetricStat", 4}, {"Expression", 15}, {"Label", 16}, {"ReturnData", 17},
    {"Period", 12}, {"AccountId", 18}, {"Metric", 5, true}, {"Period", 12, true},
    {"Stat", 13, true}, {"Unit", 14}, {"Namespace", 6}, {"MetricName", 7}, {"Dimensions", 8},
    {"member", 9}, {"Name", 10, true}, {"Value", 11, true}, {"Timezone", 24},
    {"MetricDataResults", 26}, {"NextToken", 20}, {"Messages", 32}, {"member", 27}, {"Id", 3},
    {"Label", 16}, {"Timestamps", 28}, {"Values", 29}, {"StatusCode", 31}, {"Messages", 32},
    {"member", 19}, {"member", 30}, {"member", 33}, {"Code", 34}, {"Value", 35},
    {"Namespace", 6, true}, {"MetricName", 7, true}, {"Dimensions", 8}, {"StartTime", 19, true},
    {"EndTime", 19, true}, {"Period", 12, true}, {"Statistics", 37}, {"ExtendedStatistics", 39},
    {"Unit", 14}, {"member", 38}, {"member", 40}, {"Label", 16}, {"Datapoints", 42}, {"member", 43},
    {"Timestamp", 19}, {"SampleCount", 30}, {"Average", 30}, {"Sum", 30}, {"Minimum", 30},
    {"Maximum", 30}, {"Unit", 14}, {"ExtendedStatistics", 44}, {"key", 40}, {"value", 30},
    {"Namespace", 6}, {"MetricName", 7}, {"Dimensions", 46}, {"NextToken", 20},
    {"RecentlyActive", 48}, {"IncludeLinkedAccounts", 49}, {"OwningAccount", 18}, {"member", 47},
    {"Name", 10, true}, {"Value", 11}, {"Metrics", 51}, {"NextToken", 20}, {"OwningAccounts", 52},
    {"member", 5}, {"member", 18},
};

constexpr std::string_view words[] = {
    "Seconds", "Microseconds", "Milliseconds", "Bytes", "Kilobytes", "Megabytes", "Gigabytes",
    "Terabytes", "Bits", "Kilobits", "Megabits", "Gigabits", "Terabits", "Percent", "Count",
    "Bytes/Second", "Kilobytes/Second", "Megabytes/Second", "Gigabytes/Second", "Terabytes/Second",
    "Bits/Second", "Kilobits/Second", "Megabits/Second", "Gigabits/Second", "Terabits/Second",
    "Count/Second", "None", "TimestampDescending", "TimestampAscending", "Complete",
    "InternalError", "PartialData", "Forbidden", "SampleCount", "Average", "Sum", "Minimum",
    "Maximum", "PT3H",
};

constexpr Pattern patterns[] = {
    {"[^:].*",
     "[^:].*"},
};

}  // namespace

constinit const Service monitoring_model = {
    .name = "monitoring",
    .version = "2010-08-01",
    .target = "GraniteServiceVersion20100801",
    .json_version = "1.0",
    .xml_namespace = "http://monitoring.amazonaws.com/doc/2010-08-01/",
    .style = Style::json,
    .operations = operations,
    .shapes = shapes,
    .members = members,
    .words = words,
    .patterns = patterns,
};

}  // namespace muster::api
