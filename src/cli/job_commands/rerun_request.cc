#include "cli/job_commands/rerun_request.h"

#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "aws/api/model.h"
#include "base/fields.h"
#include "base/text.h"
#include "cli/fit/again.h"
#include "cli/fit/fit_options.h"
#include "cli/fit/submit_request.h"

namespace muster::cli {
namespace {

/// Everything of the description that CreateTrainingJob takes.
Json inputs_in(const Json& old) {
  const api::Service& service = *api::find_service("sagemaker");
  const api::Operation& create = *api::find_operation(service, "CreateTrainingJob");
  Json request = Json::object();
  for (const api::Member& member : service.members_of(service.shapes[create.input])) {
    const auto found = old.find(std::string(member.name));
    if (found != old.end() && !found->is_null()) request[std::string(member.name)] = *found;
  }
  return request;
}

/// Scripts get JSON, an image's own program gets texts.
void set_hyperparameters(Json& request, const NextJob& next) {
  Json& all = request["HyperParameters"];
  if (!all.is_object()) all = Json::object();
  const bool has_script = all.contains("sagemaker_program");
  for (const auto& [name, value] : next.hyperparameters.all) all[name] = value;
  if (!has_script) return;
  for (const auto& [name, value] : encoded(next.hyperparameters)) all[name] = value;
  all["sagemaker_job_name"] = to_text(Json(next.name));
}

/// A hyperparameter that is text, which SDKs send as JSON.
std::string text_in(const Json& hyperparameters, const char* name) {
  const std::string value = member_text(hyperparameters, name);
  const Result<Json> json = parse_json(value);
  return json && json->is_string() ? json->get<std::string>() : value;
}

}  // namespace

Result<Json> request_again(const Json& old, const Json& tags, const NextJob& next) {
  const std::string old_name = member_text(old, "TrainingJobName");
  Json request = inputs_in(old);
  request["TrainingJobName"] = next.name;
  set_hyperparameters(request, next);
  for (const auto& [name, value] : next.environment) request["Environment"][name] = value;
  for (const Json& tag : tags)  // AWS's own tags cannot be set.
    if (!member_text(tag, "Key").starts_with("aws:")) request["Tags"].push_back(tag);
  const std::string place = api::text_of(api::inside(old, {"CheckpointConfig"}), "S3Uri");
  if (next.resume && place.empty())
    return fail(Errc::invalid_input,
                "--resume: " + old_name + " has no CheckpointConfig, so it has no checkpoints");
  if (!next.resume && !place.empty())
    request["CheckpointConfig"]["S3Uri"] = new_place(place, old_name, next.name);
  return request;
}

std::vector<NamedObjects> objects_of(const Json& request, bool resume) {
  std::vector<NamedObjects> all;
  const Json hyperparameters = request.value("HyperParameters", Json::object());
  const std::string code = text_in(hyperparameters, "sagemaker_submit_directory");
  if (is_s3(code)) all.push_back({"code", code});
  for (const Json& channel : api::elements(request, "InputDataConfig")) {
    const Json& source = api::inside(channel, {"DataSource", "S3DataSource"});
    const std::string url = api::text_of(source, "S3Uri");
    const bool many = api::text_of(source, "S3DataType") == "S3Prefix";
    if (is_s3(url)) all.push_back({"input " + api::text_of(channel, "ChannelName"), url, many});
  }
  const std::string place = api::text_of(api::inside(request, {"CheckpointConfig"}), "S3Uri");
  if (resume) all.push_back({"checkpoints", place, true});
  return all;
}

}  // namespace muster::cli
