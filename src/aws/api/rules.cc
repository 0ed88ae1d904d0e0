#include "aws/api/rules.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "aws/api/inputs.h"
#include "aws/api/validate.h"
#include "base/fields.h"

namespace muster::api {

namespace {

using Checked = Result<void, aws::Refusal>;

Checked missing(const std::string& path) {
  return invalid("1 validation error detected: Value null at '" + path +
                 "' failed to satisfy constraint: Member must not be null");
}

/// The member; a null if there is none. `object` may be no object.
const Json& at(const Json& object, std::string_view name) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(name);
  return found == object.end() ? none : *found;
}

bool has(const Json& object, std::string_view name) {
  return !at(object, name).is_null();
}

/// The first `name` that two of `list`'s objects share; empty if there is none.
std::string repeated(const Json& list, std::string_view name) {
  std::set<std::string> seen;
  for (const Json& each : list)
    if (std::string one = member_text(each, name); !seen.insert(one).second) return one;
  return "";
}

Checked algorithm_rules(const Json& input) {
  if (!has(input, "AlgorithmSpecification")) return missing("algorithmSpecification");
  const Json& algorithm = at(input, "AlgorithmSpecification");
  const bool image = has(algorithm, "TrainingImage");
  if (image && has(algorithm, "AlgorithmName"))
    return invalid(
        "TrainingImage and AlgorithmName cannot both be given in AlgorithmSpecification.");
  if (!image && !has(algorithm, "AlgorithmName"))
    return invalid(
        "Either TrainingImage or AlgorithmName must be given in AlgorithmSpecification.");
  return {};
}

Checked resource_rules(const Json& input) {
  if (!has(input, "ResourceConfig")) return missing("resourceConfig");
  const Json& resources = at(input, "ResourceConfig");
  const Json& groups = at(resources, "InstanceGroups");
  const bool type = has(resources, "InstanceType");
  const bool count = has(resources, "InstanceCount");
  if (!groups.is_null() && !groups.empty()) {
    if (type || count)
      return invalid(
          "InstanceGroups in ResourceConfig cannot be combined with InstanceType and "
          "InstanceCount.");
    if (const std::string name = repeated(groups, "InstanceGroupName"); !name.empty())
      return invalid("InstanceGroups in ResourceConfig has two groups named " + name + ".");
    std::size_t number = 0;
    for (const Json& group : groups) {
      ++number;
      for (const char* member : {"InstanceType", "InstanceCount", "InstanceGroupName"})
        if (!has(group, member)) {
          std::string name = member;
          name[0] = 'i';
          return missing("resourceConfig.instanceGroups." + std::to_string(number) + ".member." +
                         name);
        }
    }
    return {};
  }
  if (!type) return missing("resourceConfig.instanceType");
  if (!count) return missing("resourceConfig.instanceCount");
  return {};
}

Checked source_rules(const std::string& channel, const Json& source, const Json& groups) {
  int sources = 0;
  for (const char* name : {"S3DataSource", "FileSystemDataSource", "DatasetSource"})
    sources += has(source, name) ? 1 : 0;
  if (sources != 1)
    return invalid("Channel " + channel + ": DataSource must have exactly one data source, not " +
                   std::to_string(sources) + ".");
  const Json& s3 = at(source, "S3DataSource");
  const bool augmented = member_text(s3, "S3DataType") == "AugmentedManifestFile";
  const bool named = has(s3, "AttributeNames") && !at(s3, "AttributeNames").empty();
  if (augmented && !named)
    return invalid("Channel " + channel + ": an AugmentedManifestFile requires AttributeNames.");
  if (!augmented && named)
    return invalid("Channel " + channel +
                   ": AttributeNames requires the S3DataType AugmentedManifestFile.");
  for (const Json& name : at(s3, "InstanceGroupNames")) {
    bool known = false;
    for (const Json& group : groups) known = known || at(group, "InstanceGroupName") == name;
    if (!known)
      return invalid("Channel " + channel + ": ResourceConfig has no instance group named " +
                     (name.is_string() ? name.get<std::string>() : "so") + ".");
  }
  return {};
}

Checked channel_rules(const Json& input) {
  const Json& channels = at(input, "InputDataConfig");
  if (const std::string name = repeated(channels, "ChannelName"); !name.empty())
    return invalid("Channel names must be unique; InputDataConfig has " + name + " twice.");
  for (const Json& channel : channels) {
    const Json& groups = at(at(input, "ResourceConfig"), "InstanceGroups");
    const std::string name = member_text(channel, "ChannelName");
    TRY(source_rules(name, at(channel, "DataSource"), groups));
  }
  return {};
}

Checked spot_rules(const Json& input) {
  const Json& stopping = at(input, "StoppingCondition");
  const Json& wait = at(stopping, "MaxWaitTimeInSeconds");
  if (at(input, "EnableManagedSpotTraining") != Json(true)) {
    if (wait.is_null()) return {};
    return invalid(
        "Invalid MaxWaitTimeInSeconds. It is supported only when EnableManagedSpotTraining is set "
        "to true");
  }
  const Json& run = at(stopping, "MaxRuntimeInSeconds");
  const double run_seconds = run.is_null() ? 86400 : run.get<double>();
  if (wait.is_null() || wait.get<double>() < run_seconds)
    return invalid(
        "Invalid MaxWaitTimeInSeconds. It must be present and be greater than or equal to "
        "MaxRuntimeInSeconds");
  return {};
}

Checked tag_rules(const Json& input) {
  const Json& tags = at(input, "Tags");
  for (const Json& tag : tags)
    if (member_text(tag, "Key").starts_with("aws:"))
      return invalid("aws: prefixed tag key names are not allowed for external use.");
  if (const std::string key = repeated(tags, "Key"); !key.empty())
    return invalid("Duplicate tag keys are not allowed: " + key + ".");
  return {};
}

Checked training_job_rules(const Json& input) {
  for (const auto rules : {algorithm_rules, resource_rules, channel_rules, spot_rules, tag_rules})
    TRY(rules(input));
  return {};
}

Checked interval_rules(const Json& input) {
  if (at(input, "StartTime").get<double>() < at(input, "EndTime").get<double>()) return {};
  return aws::Refusal{"InvalidParameterCombination",
                      "The parameter StartTime must be less than the parameter EndTime."};
}

Checked metric_statistics_rules(const Json& input) {
  TRY(interval_rules(input));
  if (!has(input, "Statistics") && !has(input, "ExtendedStatistics"))
    return aws::Refusal{"InvalidParameterCombination",
                        "At least one of the parameters Statistics and ExtendedStatistics must be "
                        "specified."};
  const double period = at(input, "Period").get<double>();
  const bool fine = period == 1 || period == 5 || period == 10 || period == 20 || period == 30;
  if (!fine && std::fmod(period, 60) != 0)
    return aws::Refusal{"InvalidParameterValue",
                        "The parameter Period must be 1, 5, 10, 20, 30 or a multiple of 60."};
  const double seconds = at(input, "EndTime").get<double>() - at(input, "StartTime").get<double>();
  if (const double points = std::ceil(seconds / period); points > 1440)
    return aws::Refusal{
        "InvalidParameterCombination",
        "You have requested up to " + std::to_string(std::llround(points)) +
            " datapoints, which exceeds the limit of 1,440. You may reduce the "
            "datapoints requested by increasing Period, or decreasing the time range."};
  return {};
}

Checked metric_data_rules(const Json& input) {
  TRY(interval_rules(input));
  const Json& queries = at(input, "MetricDataQueries");
  if (const std::string id = repeated(queries, "Id"); !id.empty())
    return aws::Refusal{"ValidationError",
                        "The values for parameter Id in MetricDataQueries are not "
                        "unique: " +
                            id + "."};
  for (const Json& query : queries)
    if (has(query, "MetricStat") == has(query, "Expression"))
      return aws::Refusal{"ValidationError", "MetricDataQueries: " + member_text(query, "Id") +
                                                 " must have either MetricStat or Expression."};
  return {};
}

Checked log_group_rules(const Json& input) {
  if (has(input, "logGroupName") != has(input, "logGroupIdentifier")) return {};
  return aws::Refusal{"InvalidParameterException",
                      "Exactly one of logGroupName and logGroupIdentifier must be given."};
}

Checked log_streams_rules(const Json& input) {
  TRY(log_group_rules(input));
  if (member_text(input, "orderBy") == "LastEventTime" && has(input, "logStreamNamePrefix"))
    return aws::Refusal{"InvalidParameterException",
                        "Cannot order by LastEventTime with a logStreamNamePrefix."};
  return {};
}

Checked filter_rules(const Json& input) {
  TRY(log_group_rules(input));
  if (has(input, "logStreamNames") && has(input, "logStreamNamePrefix"))
    return aws::Refusal{"InvalidParameterException",
                        "logStreamNames and logStreamNamePrefix cannot be combined."};
  return {};
}

struct Rules {
  std::string_view service;
  std::string_view operation;
  Checked (*check)(const Json& input);
};

constexpr Rules all_rules[] = {
    {"sagemaker", "CreateTrainingJob", training_job_rules},
    {"sagemaker", "AddTags", tag_rules},
    {"monitoring", "GetMetricStatistics", metric_statistics_rules},
    {"monitoring", "GetMetricData", metric_data_rules},
    {"logs", "DescribeLogStreams", log_streams_rules},
    {"logs", "GetLogEvents", log_group_rules},
    {"logs", "FilterLogEvents", filter_rules},
};

}  // namespace

Result<void, aws::Refusal> check_rules(std::string_view service, std::string_view operation,
                                       const Json& input) {
  for (const Rules& rules : all_rules)
    if (rules.service == service && rules.operation == operation) return rules.check(input);
  return {};
}

}  // namespace muster::api
