#include "job/spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"
#include "job/bound_path.h"
#include "job/spec_fields.h"
#include "job/spec_groups.h"
#include "job/spec_s3.h"

namespace muster::job {
namespace {

bool is_channel_name(std::string_view name) {
  return !name.empty() && name.size() <= 64 && only_has(name, ".-_") && name != "." && name != "..";
}

Result<void> check_map(const std::string& field, const Env& map) {
  for (const auto& [name, value] : map) {
    if (name.empty()) return expected(field, "non-empty names");
    TRY(check_text(field, name));
    TRY(check_text(field + "[" + name + "]", value));
  }
  return {};
}

/// Names of hyperparameters may hold a '=' as on SageMaker; a program for which they become
/// variables is another matter (host/toolkit/refusals.h).
Result<void> check_environment(const Env& variables) {
  for (const auto& [name, value] : variables)
    if (name.find('=') != std::string::npos) return expected("Environment", "names without '='");
  return check_map("Environment", variables);
}

Result<void> check_input(const std::vector<InputChannel>& input) {
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::string field = "InputDataConfig[" + std::to_string(i) + "].";
    if (!is_channel_name(input[i].name))
      return expected(field + "ChannelName", "1 to 64 letters, digits, '.', '-' or '_'");
    TRY(check_source(field, input[i]));
    for (std::size_t j = 0; j < i; ++j)
      if (input[j].name == input[i].name)
        return expected(field + "ChannelName",
                        "unique channel names, but this one appears twice: " + input[i].name);
  }
  return {};
}

void read_own_part(const Json& json, Spec& spec, Fields& outer) {
  Fields own(json, "Muster");
  std::int64_t grace_ms = spec.grace.count();
  own.text("SourceFolder", spec.source_folder);
  own.text("Python", spec.python);
  own.text("Path", spec.path);
  own.integer("GraceMs", grace_ms);
  own.text("OutputFolder", spec.output_folder);
  own.integer("ShmBytes", spec.shm_bytes);
  own.integer("MemoryBytes", spec.memory_bytes);
  own.integer("CpuMillis", spec.cpu_millis);
  own.integer("Gpus", spec.gpus);
  own.integer("Spares", spec.spares);
  std::int64_t hang_after = 0;
  own.integer("HangAfter", hang_after);
  own.flag("EndHung", spec.end_hung);
  spec.hang_after = std::chrono::seconds(hang_after);
  own.text("PipConf", spec.pip_conf);
  std::string network = network_name(spec.network);
  own.text("Network", network);
  if (const std::optional<Network> known = network_from(network))
    spec.network = *known;
  else
    own.note(own.path_of("Network"), "none, nat or host");
  own.flag("Encrypted", spec.encrypted);
  if (const Json* const vpc = own.object("Vpc")) {
    Result<VpcPlace> read = vpc_place_from(*vpc);
    if (read)
      spec.vpc = *std::move(read);
    else
      own.fail(read.error());
  }
  read_group_resources(spec, own);
  if (const Json* const s3 = own.object("S3")) read_access(*s3, spec.s3, own);
  if (const Json* const bound = own.array("Bound")) read_bound(*bound, spec, own);
  if (const Json* const kept = own.object("Checkpoints")) read_checkpoints(*kept, spec, own);
  if (const Json* const image = own.object("Image")) {
    Result<Image> read = image_from(*image);
    if (read)
      spec.image = *std::move(read);
    else
      own.fail(read.error());
  }
  if (const Json* const binds = own.array("ReadOnlyBinds"))
    for (const Json& bind : *binds) spec.read_only_binds.push_back(bind.is_string() ? bind : "");
  if (const Json* const hidden = own.array("Hidden"))
    for (const Json& path : *hidden) spec.hidden.push_back(path.is_string() ? path : "");
  if (const Json* const notes = own.array("Notes"))
    for (const Json& note : *notes) spec.notes.push_back(note.is_string() ? note : "");
  own.no_others();
  spec.grace = std::chrono::milliseconds(grace_ms);
  outer.take(own);
}

Result<Spec> read_spec(const Json& json, Writer writer) {
  Spec spec;
  Fields fields(json, "");
  std::int64_t seconds = spec.run_time_max.count();
  std::int64_t wait_seconds = spec.wait_max.count();
  fields.text("TrainingJobName", spec.name, true);
  fields.texts("HyperParameters", spec.hyperparameters);
  fields.texts("Environment", spec.environment);
  if (const Json* const input = fields.array("InputDataConfig"))
    read_input(*input, spec, fields, writer);
  if (const Json* const resources = fields.object("ResourceConfig")) {
    Fields inner(*resources, "ResourceConfig");
    inner.integer("InstanceCount", spec.instance_count);
    inner.text("InstanceType", spec.instance_type);
    inner.integer("VolumeSizeInGB", spec.volume_gib);
    if (const Json* const groups = inner.array("InstanceGroups")) read_groups(*groups, spec, inner);
    fields.take(inner);
  }
  if (const Json* const stopping = fields.object("StoppingCondition")) {
    Fields inner(*stopping, "StoppingCondition");
    inner.integer("MaxRuntimeInSeconds", seconds);
    inner.integer("MaxWaitTimeInSeconds", wait_seconds);
    fields.take(inner);
  }
  if (const Json* const retry = fields.object("RetryStrategy")) {
    Fields inner(*retry, "RetryStrategy");
    inner.integer("MaximumRetryAttempts", spec.retries);
    fields.take(inner);
  }
  if (const Json* const algorithm = fields.object("AlgorithmSpecification")) {
    Fields inner(*algorithm, "AlgorithmSpecification");
    std::string mode = "File";
    inner.text("TrainingInputMode", mode);
    if (mode != "File" && mode != "FastFile")
      inner.note(inner.path_of("TrainingInputMode"), "File (or FastFile), got " + mode);
    inner.text_list("ContainerEntrypoint", spec.entrypoint);
    inner.text_list("ContainerArguments", spec.arguments);
    fields.take(inner);
  }
  read_outputs(fields, spec);
  if (writer == Writer::muster)
    if (const Json* const own = fields.object("Muster")) read_own_part(*own, spec, fields);
  if (fields.error()) return *fields.error();
  spec.run_time_max = std::chrono::seconds(seconds);
  spec.wait_max = std::chrono::seconds(wait_seconds);
  TRY(check(spec));
  return spec;
}

}  // namespace

const char* network_name(Network network) {
  switch (network) {
    case Network::nat:
      return "nat";
    case Network::host:
      return "host";
    case Network::none:
      break;
  }
  return "none";
}

std::optional<Network> network_from(std::string_view name) {
  for (const Network network : {Network::none, Network::nat, Network::host})
    if (name == network_name(network)) return network;
  return std::nullopt;
}

std::vector<std::string> host_names(int count) {
  std::vector<std::string> names;
  for (int i = 1; i <= count; ++i) names.push_back("algo-" + std::to_string(i));
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> check(const Spec& spec) {
  if (!is_job_name(spec.name))
    return expected("TrainingJobName",
                    "1 to 63 letters, digits and hyphens, with no hyphen at either end, got \"" +
                        to_utf8(spec.name) + "\"");
  TRY(check_map("HyperParameters", spec.hyperparameters));
  TRY(check_environment(spec.environment));
  TRY(check_input(spec.input));
  TRY(check_outputs(spec));
  if (spec.instance_count < 1 || spec.instance_count > hosts_max)
    return expected("ResourceConfig.InstanceCount",
                    "a number from 1 to " + std::to_string(hosts_max));
  TRY(check_text("ResourceConfig.InstanceType", spec.instance_type));
  TRY(check_groups(spec));
  if (spec.volume_gib < 0 || spec.volume_gib > volume_gib_max)
    return expected("ResourceConfig.VolumeSizeInGB", "a number from 1 to 16384, or 0 for no limit");
  if (spec.run_time_max.count() < 1 || spec.run_time_max > training_time_max)
    return expected("StoppingCondition.MaxRuntimeInSeconds",
                    "a number of seconds from 1 to 2419200 (28 days)");
  if (spec.wait_max.count() < 0 || spec.wait_max > wait_time_max)
    return expected("StoppingCondition.MaxWaitTimeInSeconds",
                    "a number of seconds from 1 to 2147483647, or 0 for no limit");
  if (spec.retries < 0 || spec.retries > retries_max)
    return expected("RetryStrategy.MaximumRetryAttempts",
                    "a number from 1 to 30, or 0 for no retries");
  const bool sees_hangs =
      spec.hang_after == std::chrono::seconds(0) ||
      (spec.hang_after >= hang_after_min && spec.hang_after <= training_time_max);
  if (!sees_hangs) return expected("Muster.HangAfter", "0, or 10 to 2419200 seconds");
  if (spec.spares < 0 || spec.spares > spares_max) return expected("Muster.Spares", "0 to 16");
  TRY(check_path("Muster.SourceFolder", spec.source_folder, true));
  TRY(check_path("Muster.Python", spec.python, true));
  TRY(check_text("Muster.Path", spec.path));
  TRY(check_path("Muster.OutputFolder", spec.output_folder, true));
  if (spec.grace.count() < 0 || spec.grace > stop_grace_max)
    return expected("Muster.GraceMs", "0 to 86400000 (a day)");
  if (spec.shm_bytes != 0 && spec.shm_bytes < shm_bytes_min)
    return expected("Muster.ShmBytes", "0 or at least 65536");
  if (spec.memory_bytes != 0 && spec.memory_bytes < memory_bytes_min)
    return expected("Muster.MemoryBytes", "0 (no limit) or at least 8388608");
  if (!is_cpu_limit(spec.cpu_millis))
    return expected("Muster.CpuMillis", "0 (no limit), or 10 to 1000000");
  if (spec.gpus < 0 || spec.gpus > gpus_max) return expected("Muster.Gpus", "0 to 1024");
  for (const std::string& path : spec.read_only_binds)
    TRY(check_path("Muster.ReadOnlyBinds", path, false));
  for (const BoundPath& bound : spec.bound)
    TRY(check_path("Muster.Bound.Outside", bound.outside, false));
  if (const Result<void> free = check_inside(spec.bound); !free)
    return free.error().in("Muster.Bound.Inside");
  for (const std::string& path : spec.hidden) TRY(check_path("Muster.Hidden", path, false));
  TRY(check_path("Muster.PipConf", spec.pip_conf, true));
  // Two hosts in one network would have every port and address in common.
  if (spec.network == Network::host && (spec.instance_count > 1 || spec.vpc))
    return expected("Muster.Network", "nat or none, because the job has several hosts or a VPC");
  if (spec.image) TRY(check(*spec.image));
  if (!spec.vpc) return {};
  TRY(check(*spec.vpc));
  const Result<std::vector<PlacedAddress>> addresses = addresses_of(*spec.vpc, spec.instance_count);
  return addresses ? Result<void>() : addresses.error().in("Muster.Vpc.Subnets");
}

Json to_json(const Spec& spec) {
  Json json{{"TrainingJobName", spec.name},
            {"HyperParameters", spec.hyperparameters},
            {"InputDataConfig", input_json(spec.input)},
            {"Environment", spec.environment},
            {"ResourceConfig",
             {{"InstanceCount", spec.instance_count}, {"InstanceType", spec.instance_type}}},
            {"StoppingCondition", {{"MaxRuntimeInSeconds", spec.run_time_max.count()}}},
            {"RetryStrategy", {{"MaximumRetryAttempts", spec.retries}}},
            {"AlgorithmSpecification",
             {{"TrainingImage", spec.image ? spec.image->name : "host"},
              {"TrainingInputMode", "File"},
              {"ContainerEntrypoint", spec.entrypoint},
              {"ContainerArguments", spec.arguments}}},
            {"Muster",
             {{"SourceFolder", spec.source_folder},
              {"Python", spec.python},
              {"Path", spec.path},
              {"GraceMs", spec.grace.count()},
              {"OutputFolder", spec.output_folder},
              {"ReadOnlyBinds", spec.read_only_binds},
              {"Hidden", spec.hidden},
              {"ShmBytes", spec.shm_bytes},
              {"MemoryBytes", spec.memory_bytes},
              {"CpuMillis", spec.cpu_millis},
              {"Gpus", spec.gpus},
              {"Network", network_name(spec.network)},
              {"S3", access_json(spec.s3)}}}};
  if (spec.volume_gib > 0) json["ResourceConfig"]["VolumeSizeInGB"] = spec.volume_gib;
  if (!spec.groups.empty()) {
    json["ResourceConfig"]["InstanceGroups"] = groups_json(spec.groups);
    add_group_resources(spec.groups, json["Muster"]);
  }
  if (spec.image) json["Muster"]["Image"] = to_json(*spec.image);
  if (spec.encrypted) json["Muster"]["Encrypted"] = true;
  if (spec.hang_after.count() > 0) json["Muster"]["HangAfter"] = spec.hang_after.count();
  if (spec.end_hung) json["Muster"]["EndHung"] = true;
  if (spec.spares > 0) json["Muster"]["Spares"] = spec.spares;
  if (spec.vpc) json["Muster"]["Vpc"] = to_json(*spec.vpc);
  if (!spec.pip_conf.empty()) json["Muster"]["PipConf"] = spec.pip_conf;
  if (!spec.notes.empty()) json["Muster"]["Notes"] = spec.notes;
  if (!spec.bound.empty()) json["Muster"]["Bound"] = bound_json(spec.bound);
  if (!spec.checkpoint_folder.empty()) json["Muster"]["Checkpoints"] = checkpoints_json(spec);
  add_outputs(spec, json);
  if (spec.wait_max.count() > 0)
    json["StoppingCondition"]["MaxWaitTimeInSeconds"] = spec.wait_max.count();
  return json;
}

Result<Spec> spec_from(const Json& json) {
  return read_spec(json, Writer::muster);
}

Result<Spec> spec_asked_for(const Json& request) {
  return read_spec(request, Writer::anybody);
}

}  // namespace muster::job
