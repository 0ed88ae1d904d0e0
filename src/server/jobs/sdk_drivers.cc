#include "server/jobs/sdk_drivers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/json.h"
#include "base/text.h"
#include "job/training/training.h"

namespace muster::jobs {
namespace {

constexpr const char* channel_name = "sm_drivers";
constexpr const char* first_script = "/opt/ml/input/data/sm_drivers/sm_train.sh";
constexpr const char* code_folder = "/opt/ml/input/data/code";

/// The hyperparameters that correspond to `distributed`; null for an unknown class.
Json launcher_of(const Json& distributed) {
  if (distributed.empty()) return Json::object();
  Json launcher = Json::object();
  const auto count = distributed.find("process_count_per_node");
  if (count != distributed.end() && count->is_number_integer())
    launcher["sagemaker_mpi_num_of_processes_per_host"] = *count;
  if (distributed.contains("mpi_additional_options")) {
    launcher["sagemaker_mpi_enabled"] = true;
    Args words;
    for (const Json& word : distributed["mpi_additional_options"])
      if (word.is_string()) words.push_back(word.get<std::string>());
    if (!words.empty()) launcher["sagemaker_mpi_custom_mpi_options"] = shell_quoted(words);
    return launcher;
  }
  if (!distributed.contains("smp") || !distributed["smp"].is_null()) return nullptr;
  launcher["sagemaker_torch_distributed_enabled"] = true;
  return launcher;
}

}  // namespace

std::string drivers_url(const job::Spec& spec) {
  const bool starts = std::any_of(
      spec.arguments.begin(), spec.arguments.end(),
      [](const std::string& word) { return word.find(first_script) != std::string::npos; });
  if (!starts) return {};
  for (const job::InputChannel& channel : spec.input)
    if (channel.name == channel_name) return channel.s3.url;
  return {};
}

bool take_over(job::Spec& spec, std::string_view sourcecode, std::string_view distributed) {
  const Result<Json> source = parse_json(sourcecode);
  const Result<Json> distribution = parse_json(distributed);
  if (!source || !distribution || !distribution->is_object()) return false;
  const std::string script = api::text_of(*source, "entry_script");
  if (script.empty() || !api::text_of(*source, "command").empty()) return false;
  const Json launcher = launcher_of(*distribution);
  if (!launcher.is_object()) return false;
  spec.entrypoint.clear();
  spec.arguments.clear();
  const auto set = [&spec](const std::string& name, const Json& value) {
    spec.hyperparameters[name] = to_text(value);
  };
  set("sagemaker_program", script);
  set("sagemaker_submit_directory", code_folder);
  for (const auto& [name, value] : launcher.items()) set(name, value);
  spec.environment.try_emplace("SM_MASTER_ADDR", "algo-1");
  spec.environment.try_emplace("SM_MASTER_PORT", job::master_port);
  spec.environment.try_emplace("SM_HOST_COUNT", std::to_string(spec.instance_count));
  spec.environment.try_emplace("SM_ENTRY_SCRIPT", script);
  spec.environment.try_emplace("SM_SOURCE_DIR", code_folder);
  return true;
}

}  // namespace muster::jobs
