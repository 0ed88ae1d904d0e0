#include "jobs/job_spec.h"

#include <nlohmann/json.hpp>

#include "api/inputs.h"

namespace muster::jobs {
namespace {

api::Refusal bad(std::string message) {
  return {"ValidationException", std::move(message)};
}

/// Groups of instances, or the job's one.
struct Group {
  std::string type;
  std::int64_t count = 0;
};

std::vector<Group> groups_of(const Json& request) {
  std::vector<Group> groups;
  const Json& resources = api::inside(request, {"ResourceConfig"});
  const auto add_group = [&groups](const Json& from) {
    groups.push_back(
        {api::text_of(from, "InstanceType"), api::integer_of(from, "InstanceCount").value_or(0)});
  };
  for (const Json& group : api::elements(resources, "InstanceGroups")) add_group(group);
  if (groups.empty()) add_group(resources);
  return groups;
}

/// A hyperparameter as the user meant it: the SDK's framework classes quote texts as JSON.
std::string hyperparameter(const Json& request, const char* name) {
  const std::string text = api::text_of(api::inside(request, {"HyperParameters"}), name);
  const Json decoded = Json::parse(text, nullptr, false);
  return decoded.is_string() ? decoded.get<std::string>() : text;
}

std::optional<api::Refusal> refused_channel(const Json& channel, std::size_t number) {
  const std::string where = "InputDataConfig[" + std::to_string(number) + "]";
  const Json& source = api::inside(channel, {"DataSource", "S3DataSource"});
  if (source.empty())
    return bad(where + ".DataSource: this server reads channels from S3 only; want S3DataSource");
  if (api::text_of(source, "S3DataType") == "AugmentedManifestFile")
    return bad(where + ".S3DataType: AugmentedManifestFile needs Pipe mode; want S3Prefix or " +
               "ManifestFile");
  if (api::text_of(channel, "InputMode") == "Pipe")
    return bad(where + ".InputMode is Pipe; this server has File");
  return std::nullopt;
}

}  // namespace

std::string image_of(const Json& request) {
  return api::text_of(api::inside(request, {"AlgorithmSpecification"}), "TrainingImage");
}

std::optional<api::Refusal> refused(const Json& request, const JobConfig& config) {
  const Json& algorithm = api::inside(request, {"AlgorithmSpecification"});
  const std::string image = image_of(request);
  if (image.empty())
    return bad(
        "AlgorithmSpecification.TrainingImage is missing: this server has no algorithms "
        "by name");
  if (!config.python_of(image))
    return bad("TrainingImage " + image +
               ": this server runs the image `host` and those that `jobs.images` of its config "
               "names");
  if (api::text_of(algorithm, "TrainingInputMode") == "Pipe")
    return bad("TrainingInputMode is Pipe; this server has File");
  std::int64_t hosts = 0;
  for (const Group& group : groups_of(request)) {
    if (group.count < 1 || group.type.empty())
      return bad("ResourceConfig: want InstanceType and InstanceCount, or InstanceGroups");
    if (!config.instance(group.type))
      return bad("InstanceType " + group.type + ": `jobs.instance_types` of the config has none");
    hosts += group.count;
  }
  std::size_t number = 0;
  for (const Json& channel : api::elements(request, "InputDataConfig"))
    if (std::optional<api::Refusal> refusal = refused_channel(channel, number++)) return refusal;
  const std::string checkpoints = api::text_of(api::inside(request, {"CheckpointConfig"}), "S3Uri");
  const Result<s3wire::S3Url> kept = s3wire::parse_s3_prefix(checkpoints);
  if (kept && kept->key.empty())
    return bad("CheckpointConfig.S3Uri " + checkpoints +
               " is a whole bucket, with other jobs' results; want a folder in it");
  const std::vector<std::string> lines = beyond(config.capacity, needs_of(request, config));
  if (lines.empty()) return std::nullopt;
  return api::Refusal{"ResourceLimitExceeded",
                      "The job can never start on this server: " + lines.front() + "."};
}

Result<job::Spec> job_spec(const Json& request, const JobConfig& config, const JobPlaces& places) {
  job::Spec spec = TRY(job::spec_asked_for(request));
  const auto memory_of = [&config](const std::string& type) {
    return config.instance(type).value_or(JobConfig::Instance{}).memory_bytes;
  };
  spec.python = places.python;
  spec.read_only_binds = places.interpreter;
  spec.path = places.path;
  spec.hidden = places.hidden;
  spec.s3 = places.s3;
  spec.grace = config.stop_grace;
  spec.memory_bytes = memory_of(spec.instance_type);
  for (job::HostGroup& group : spec.groups) group.memory_bytes = memory_of(group.type);
  for (const auto& [name, value] : places.environment) spec.environment.try_emplace(name, value);
  TRY(job::check(spec));
  return spec;
}

Amounts needs_of(const Json& request, const JobConfig& config) {
  Amounts needs;
  for (const Group& group : groups_of(request)) {
    const JobConfig::Instance instance =
        config.instance(group.type).value_or(JobConfig::Instance{});
    add(needs,
        {{"cpu", static_cast<std::int64_t>(instance.cpus * 1000)},
         {"memory", instance.memory_bytes},
         {"gpu", instance.gpus},
         {group.type, 1}},
        group.count);
  }
  return needs;
}

Result<access::KeyPolicy> policy_of(const Json& request) {
  access::KeyPolicy policy{.limited = true, .reads = {}, .writes = {}};
  for (const Json& channel : api::elements(request, "InputDataConfig")) {
    const Json& source = api::inside(channel, {"DataSource", "S3DataSource"});
    const std::string text = api::text_of(source, "S3Uri");
    if (text.empty()) continue;
    const s3wire::S3Url url = TRY(s3wire::parse_s3_prefix(text));
    const bool folder = url.key.empty() || url.key.ends_with('/');
    const bool manifest = api::text_of(source, "S3DataType") == "ManifestFile";
    policy.reads.push_back({url.bucket, url.key,
                            manifest ? access::Extent::object
                            : folder ? access::Extent::folder
                                     : access::Extent::start});
  }
  const std::string code = hyperparameter(request, "sagemaker_submit_directory");
  if (code.starts_with("s3://")) {
    const s3wire::S3Url url = TRY(s3wire::parse_s3_prefix(code));
    policy.reads.push_back({url.bucket, url.key, access::Extent::object});
  }
  std::string output = api::text_of(api::inside(request, {"OutputDataConfig"}), "S3OutputPath");
  while (output.ends_with('/')) output.pop_back();
  if (!output.empty()) output += "/" + api::text_of(request, "TrainingJobName") + "/";
  for (const std::string& text :
       {output, api::text_of(api::inside(request, {"CheckpointConfig"}), "S3Uri"),
        hyperparameter(request, "model_dir")}) {
    if (!text.starts_with("s3://")) continue;
    const s3wire::S3Url url = TRY(s3wire::parse_s3_prefix(text));
    if (url.key.empty()) continue;  // A whole bucket: other jobs' results, too.
    for (const access::Place& place : access::places_named(url)) {
      policy.reads.push_back(place);
      policy.writes.push_back(place);
    }
  }
  return policy;
}

}  // namespace muster::jobs
