#include "server/jobs/job_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aws/api/inputs.h"
#include "base/text.h"
#include "net/http/url.h"
#include "platform/interpreter.h"
#include "server/jobs/remote_function.h"
#include "server/jobs/training_image.h"

namespace muster::jobs {
namespace {

/// From the end of a job's processes to the last of its results in S3. A larger model takes longer:
/// then the job is overdue, and no other job passes it for that reason.
constexpr std::chrono::minutes results_time{10};

/// The instance groups, or the job's only group.
std::vector<job::HostGroup> groups_of(const job::Spec& spec) {
  if (!spec.groups.empty()) return spec.groups;
  return {{.type = spec.instance_type, .count = spec.instance_count, .gpus = spec.gpus}};
}

/// The value of the job's own variable; none if it is unset or invalid.
constexpr const char* hang_variable = "MUSTER_HANG_AFTER";
std::optional<std::chrono::seconds> hang_after_in(const Env& environment) {
  const auto found = environment.find(hang_variable);
  const std::optional<std::int64_t> seconds =
      found == environment.end() ? std::nullopt : parse_integer(found->second);
  if (!seconds) return std::nullopt;
  const std::chrono::seconds after(*seconds);
  const bool may =
      *seconds == 0 || (after >= job::hang_after_min && after <= job::training_time_max);
  return may ? std::optional(after) : std::nullopt;
}

/// A hyperparameter as the user meant it: the SDK's framework classes quote texts as JSON.
std::string hyperparameter(const job::Spec& spec, const char* name) {
  const auto found = spec.hyperparameters.find(name);
  if (found == spec.hyperparameters.end()) return {};
  const Json decoded = Json::parse(found->second, nullptr, false);
  return decoded.is_string() ? decoded.get<std::string>() : found->second;
}

/// A job reaches S3 through its steward, whatever proxy is set for the outside. If both spellings
/// of a variable exist, most programs read the lower-case one.
void keep_from_proxy(Env& environment, const std::string& endpoint) {
  const auto has = [&](const char* name) { return environment.contains(name); };
  const bool proxied = has("http_proxy") || has("HTTP_PROXY") || has("https_proxy") ||
                       has("HTTPS_PROXY") || has("all_proxy") || has("ALL_PROXY");
  const Result<http::Url> url = http::parse_url(endpoint);
  if (!proxied || endpoint.empty() || !url) return;
  const std::string given = has("no_proxy") ? environment["no_proxy"] : environment["NO_PROXY"];
  const std::string all = (given.empty() ? "" : given + ",") + url->origin.host;
  for (const char* name : {"no_proxy", "NO_PROXY"}) environment.insert_or_assign(name, all);
}

}  // namespace

Result<void, aws::Refusal> check_request(const api::JobRequest& request, const JobConfig& config) {
  if (request.image.empty())
    return api::invalid(
        "AlgorithmSpecification.TrainingImage is missing; AlgorithmName is not supported");
  TRY(training_image(request.image, request.credentials_provider, config));
  if (request.spec.environment.contains(hang_variable) && !hang_after_in(request.spec.environment))
    return api::invalid(
        "Environment MUSTER_HANG_AFTER: expected 0, or a number of seconds from 10 to 2419200");
  for (const job::HostGroup& group : groups_of(request.spec))
    if (!config.instance(group.type))
      return api::invalid("InstanceType " + group.type +
                          ": unknown instance type; this server supports " + config.known_types() +
                          " and AWS's types; see `jobs.instance_types` in its config");
  for (const job::HostGroup& group : groups_of(request.spec))
    if (group.type == "local_gpu" && config.instance(group.type)->gpus == 0)
      return api::invalid("InstanceType local_gpu: this machine has no GPU that hosts can use" +
                          (config.notes.contains("gpu") ? ": " + config.notes.at("gpu") : ""));
  const std::string& checkpoints = request.spec.checkpoint_url;
  const Result<s3wire::S3Url> kept = s3wire::parse_s3_prefix(checkpoints);
  if (kept && kept->key.empty())
    return api::invalid(
        "CheckpointConfig.S3Uri " + checkpoints +
        " is a whole bucket, which also contains other jobs' results; use a folder in this bucket");
  const std::vector<std::string> lines =
      beyond(config.capacity, needs_of(request.spec, config), config.notes);
  if (lines.empty()) return {};
  return aws::Refusal{"ResourceLimitExceeded",
                      "The job can never start on this server: " + lines.front() + "."};
}

Result<job::Spec> job_spec(job::Spec spec, const JobConfig& config, const JobPlaces& places) {
  const auto instance = [&config](const std::string& type) {
    return config.instance(type).value_or(JobConfig::Instance{});
  };
  spec.python = places.python;
  spec.read_only_binds = places.interpreter;
  spec.path = places.path;
  spec.hidden = places.hidden;
  spec.s3 = places.s3;
  spec.grace = config.stop_grace;
  spec.hang_after = hang_after_in(spec.environment).value_or(config.hang_after);
  spec.end_hung = config.end_hung;
  spec.network = places.network;
  spec.pip_conf = config.pip_conf;
  spec.memory_bytes = instance(spec.instance_type).memory_bytes;
  spec.cpu_millis = instance(spec.instance_type).cpu_millis;
  if (spec.volume_gib == 0) spec.volume_gib = job::volume_gib_default;
  spec.gpus = instance(spec.instance_type).gpus;
  for (job::HostGroup& group : spec.groups) {
    group.memory_bytes = instance(group.type).memory_bytes;
    group.cpu_millis = instance(group.type).cpu_millis;
    group.gpus = instance(group.type).gpus;
  }
  for (const Env* const more : {&places.environment, &config.environment})
    for (const auto& [name, value] : *more) spec.environment.try_emplace(name, value);
  keep_from_proxy(spec.environment, places.s3.endpoint);
  if (places.packages) platform::add_packages(spec.environment);
  TRY(job::check(spec));
  return spec;
}

std::string no_gpu_note(const job::Spec& spec) {
  std::vector<std::string> types;
  for (const job::HostGroup& group : groups_of(spec))
    if (group.gpus == 0 && is_aws_gpu_type(group.type) &&
        std::find(types.begin(), types.end(), group.type) == types.end())
      types.push_back(group.type);
  if (types.empty()) return {};
  return "hosts of type " + join(types, ", ") +
         " get no GPU, because jobs.instance_types of the server's config sets no gpus for them";
}

Amounts needs_of(const job::Spec& spec, const JobConfig& config) {
  Amounts needs;
  for (const job::HostGroup& group : groups_of(spec)) {
    const JobConfig::Instance instance =
        config.instance(group.type).value_or(JobConfig::Instance{});
    add(needs,
        {{"cpu", instance.cpu_millis},
         {"memory", instance.memory_bytes},
         {"gpu", instance.gpus},
         {"hosts", 1},
         {group.type, 1}},
        group.count);
  }
  // Waiting does not help with GPUs: a job that requests more than exist never gets them.
  if (config.larger_alone)
    for (const auto& [name, most] : config.capacity)
      if (name != "gpu") needs[name] = std::min(needs[name], most);
  return needs;
}

Demand demand_of(const std::string& name, const job::Spec& spec, const JobConfig& config) {
  const UnixMillis run_time = spec.run_time_max;
  return {.job = name,
          .needs = needs_of(spec, config),
          .run_time = run_time,
          .length = run_time + config.stop_grace + results_time};
}

std::uint64_t s3_budget_of(const job::Spec& spec, std::optional<std::uint64_t> asked) {
  if (asked) return *asked;
  constexpr std::uint64_t gib = std::uint64_t{1} << 30;
  const std::int64_t volume = spec.volume_gib == 0 ? job::volume_gib_default : spec.volume_gib;
  const auto hosts = static_cast<std::uint64_t>(std::max(spec.instance_count, 1));
  return std::max(2 * static_cast<std::uint64_t>(volume) * hosts, std::uint64_t{10}) * gib;
}

Result<access::KeyPolicy> results_policy_of(const job::Spec& spec) {
  access::KeyPolicy policy{.limited = true, .reads = {}, .writes = {}};
  policy.may_fill_disk = true;
  if (spec.s3_output.empty()) return policy;
  const s3wire::S3Url url = TRY(s3wire::parse_s3_prefix(job::s3_results(spec) + "/"));
  policy.writes = access::places_named(url);
  return policy;
}

Result<access::KeyPolicy> policy_of(const job::Spec& spec) {
  access::KeyPolicy policy;
  policy.limited = true;
  for (const job::InputChannel& channel : spec.input) {
    if (channel.s3.url.empty()) continue;
    const s3wire::S3Url url = TRY(s3wire::parse_s3_prefix(channel.s3.url));
    const bool folder = url.key.empty() || url.key.ends_with('/');
    policy.reads.push_back({url.bucket, url.key,
                            channel.s3.manifest ? access::Extent::object
                            : folder            ? access::Extent::folder
                                                : access::Extent::start});
  }
  const std::string code = hyperparameter(spec, "sagemaker_submit_directory");
  if (code.starts_with("s3://")) {
    const s3wire::S3Url url = TRY(s3wire::parse_s3_prefix(code));
    policy.reads.push_back({url.bucket, url.key, access::Extent::object});
  }
  std::string output = spec.s3_output;
  while (output.ends_with('/')) output.pop_back();
  if (!output.empty()) output += "/" + spec.name + "/";
  for (const std::string& text :
       {output, spec.checkpoint_url, hyperparameter(spec, "model_dir"), function_url(spec)}) {
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
