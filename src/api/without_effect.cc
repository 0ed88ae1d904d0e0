#include "api/without_effect.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/inputs.h"

namespace muster::api {
namespace {

struct Member {
  std::vector<const char*> path;
  const char* instead;
};

const std::vector<Member>& members() {
  static const std::vector<Member> all = {
      {{"ResourceConfig", "KeepAlivePeriodInSeconds"}, "no host is kept when its job has ended"},
      {{"ResourceConfig", "InstancePlacementConfig"}, "hosts are where the server is"},
      {{"ResourceConfig", "TrainingPlanArn"}, "nothing is reserved"},
      {{"ResourceConfig", "VolumeKmsKeyId"}, "disks are as the machine has them"},
      {{"OutputDataConfig", "KmsKeyId"}, "objects are stored as they are"},
      {{"RetryStrategy"}, "a job runs once"},
      {{"EnableManagedSpotTraining"}, "hosts are neither bought nor taken away"},
      {{"EnableNetworkIsolation"}, "hosts always reach only each other and the job's S3"},
      {{"VpcConfig"}, "hosts always reach only each other and the job's S3"},
      {{"DebugRuleConfigurations"}, "there is no Debugger"},
      {{"ProfilerRuleConfigurations"}, "there is no profiler"},
      {{"TensorBoardOutputConfig"}, "write events to /opt/ml/output or the checkpoints"},
      {{"ExperimentConfig"}, "there are no Experiments"},
      {{"SessionChainingConfig"}, "a job has a key of its own"},
  };
  return all;
}

/// Whether the member says anything: `false`, "" and {} do not.
bool is_said(const Json& input, const std::vector<const char*>& path) {
  const Json* value = &input;
  for (const char* name : path) {
    if (!value->is_object() || !value->contains(name)) return false;
    value = &value->at(name);
  }
  return !value->is_null() && *value != Json(false) && *value != Json("") &&
         !(value->is_structured() && value->empty());
}

bool is_fast_file(const Json& input) {
  const Json& channels = elements(input, "InputDataConfig");
  return text_of(inside(input, {"AlgorithmSpecification"}), "TrainingInputMode") == "FastFile" ||
         std::any_of(channels.begin(), channels.end(), [](const Json& channel) {
           return text_of(channel, "InputMode") == "FastFile";
         });
}

}  // namespace

std::string without_effect(const Json& input) {
  std::string text;
  const auto add = [&text](const std::string& name, const std::string& instead) {
    text += (text.empty() ? "taken without effect: " : ", ") + name + " (" + instead + ")";
  };
  if (is_fast_file(input)) add("FastFile", "as File: all data is there before the job starts");
  for (const Member& member : members()) {
    if (!is_said(input, member.path)) continue;
    std::string name;
    for (const char* each : member.path) name += (name.empty() ? "" : ".") + std::string(each);
    add(name, member.instead);
  }
  return text;
}

}  // namespace muster::api
