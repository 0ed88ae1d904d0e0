#include "cli/fit/submit_request.h"

#include <nlohmann/json.hpp>

#include "base/fields.h"
#include "base/text.h"
#include "cli/fit/fit_options.h"
#include "cli/view/job_view.h"
#include "platform/job_name.h"

namespace muster::cli {
namespace {

/// With --json-file the job is the file's: a flag that says otherwise would be lost.
Result<void> check_file_alone(const SubmitWords& words) {
  const bool more = !words.script.empty() || !words.source_folder.empty() || !words.image.empty() ||
                    !words.instance_type.empty() || !words.hosts.empty() || words.launch.any() ||
                    !words.output.empty() || !words.timeout.empty() || !words.priority.empty() ||
                    !words.volume_size.empty() || !words.checkpoints.empty() ||
                    !words.tags.empty() || !words.network.empty() || !words.inputs.empty() ||
                    !words.hyperparameters.empty() || !words.texts.empty() ||
                    !words.environment.empty() || !words.metrics.empty() || words.encrypted ||
                    !words.files.environment.empty() || !words.files.hyperparameters.empty();
  if (!more) return {};
  return fail(Errc::invalid_input,
              "--json-file: the file describes the whole job; --json-file can be combined only "
              "with --name, --wait and --json");
}

Result<void> check_script(const SubmitOptions& options) {
  if (!options.script.empty()) return {};
  if (!options.source_folder.empty())
    return fail(Errc::invalid_input, "--source-dir requires a SCRIPT");
  if (!options.launch.hyperparameter.empty())
    return fail(Errc::invalid_input,
                "launcher flags (--mpi, --torchrun, --processes-per-host, …) require a script");
  if (options.image == "host")
    return fail(
        Errc::invalid_input,
        "expected a script to run, --image NAME with an image that contains the program, or "
        "--json-file FILE");
  return {};
}

Json map_of(const Pairs& pairs) {
  Json map = Json::object();
  for (const auto& [name, value] : pairs) map[name] = value;
  return map;
}

Json hyperparameters_of(const SubmitOptions& options, const SubmitPlaces& places) {
  if (options.script.empty()) return map_of(options.hyperparameters.all);
  Json all = Json::object();
  for (const auto& [name, value] : encoded(options.hyperparameters)) all[name] = value;
  const auto send = [&](const char* name, const Json& value) { all[name] = to_text(value); };
  send("sagemaker_program", places.script);
  send("sagemaker_submit_directory", places.code);
  send("sagemaker_job_name", options.name);
  for (const auto& [name, value] : parameters_of(options.launch)) send(name.c_str(), value);
  return all;
}

Result<int> priority_of(const std::string& text) {
  if (text.empty()) return 0;
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '9') return text[0] - '0';
  return wrong_value("--priority", "a whole number from 0 to 9", text);
}

/// True for a job that is to reach nothing outside. What more it may have is the server's to say.
Result<bool> isolated_by(const std::string& text) {
  const bool none = text == "none";
  if (none || text.empty() || text == "nat") return none;
  return wrong_value("--network", "nat or none", text);
}

}  // namespace

bool is_s3(const std::string& text) {
  return text.starts_with("s3://");
}

std::string new_submit_line(const Args& args, const command::Page& page) {
  std::string script, name;
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    const std::string flag = arg.substr(0, arg.find('='));
    const bool joined = flag.size() < arg.size(), more = i + 1 < args.size();
    if (flag == "--script") {
      script = joined ? arg.substr(flag.size() + 1) : more ? args[++i] : "";
    } else if (!arg.starts_with("-")) {
      name = arg;
    } else {
      rest.push_back(arg);
      const command::Flag* known = command::find_flag(page, flag);
      if (known != nullptr && known->takes_value() && !joined && more) rest.push_back(args[++i]);
    }
  }
  if (script.empty()) return {};
  std::vector<std::string> line{"sm", "submit", script};
  if (!name.empty()) line.insert(line.end(), {"--name", name});
  line.insert(line.end(), rest.begin(), rest.end());
  return shell_quoted(line);
}

Result<SubmitOptions> submit_options(const SubmitWords& words) {
  SubmitOptions options;
  options.name = words.name;
  options.wait = words.wait;
  options.json = words.json;
  options.raw = words.raw;
  if (!words.name.empty()) {
    const Result<void> named = platform::check_job_name(words.name);
    if (!named) return named.error().in("--name");
  }
  options.json_file = words.json_file;
  if (!words.json_file.empty()) {
    TRY(check_file_alone(words));
    return options;
  }
  options.script = words.script;
  options.source_folder = words.source_folder;
  if (!words.image.empty()) options.image = words.image;
  if (!words.instance_type.empty()) options.instance_type = words.instance_type;
  options.hosts = TRY(whole_number("--hosts", words.hosts, job::hosts_max, 1));
  options.volume_gib = TRY(
      whole_number("--volume-size", words.volume_size, job::volume_gib_max, options.volume_gib));
  options.launch = TRY(launch_choice(words.launch, options.hosts));
  options.inputs = TRY(pairs("--input", "NAME=DIR or NAME=s3://…", words.inputs));
  options.hyperparameters =
      TRY(hyperparameters_from(words.hyperparameters, words.texts, "sm submit"));
  options.environment = TRY(pairs("--env", "NAME=VALUE", words.environment));
  options.metrics = TRY(metrics_from(words.metrics));
  if (!words.output.empty() && !is_s3(words.output))
    return wrong_value("--output", "s3://BUCKET or s3://BUCKET/PREFIX", words.output);
  options.output = words.output;
  options.checkpoints = words.checkpoints;
  options.tags = TRY(pairs("--tag", "KEY=VALUE", words.tags));
  options.timeout = TRY(timeout_of(words.timeout));
  options.encrypted = words.encrypted;
  options.priority = TRY(priority_of(words.priority));
  options.isolated = TRY(isolated_by(words.network));
  TRY(check_script(options));
  return options;
}

Json create_request(const SubmitOptions& options, const SubmitPlaces& places,
                    const std::string& account) {
  Json request{
      {"TrainingJobName", options.name},
      {"RoleArn", "arn:aws:iam::" + account + ":role/muster"},
      {"AlgorithmSpecification", {{"TrainingImage", options.image}, {"TrainingInputMode", "File"}}},
      {"ResourceConfig",
       {{"InstanceType", options.instance_type},
        {"InstanceCount", options.hosts},
        {"VolumeSizeInGB", options.volume_gib}}},
      {"StoppingCondition", {{"MaxRuntimeInSeconds", options.timeout.count()}}},
      {"OutputDataConfig", {{"S3OutputPath", places.output}}},
      {"HyperParameters", hyperparameters_of(options, places)}};
  const auto tag = [&request](const std::string& key, const std::string& value) {
    request["Tags"].push_back({{"Key", key}, {"Value", value}});
  };
  for (const auto& [key, value] : options.tags) tag(key, value);
  if (options.priority > 0) tag("muster:priority", std::to_string(options.priority));
  if (!places.checkpoints.empty()) request["CheckpointConfig"] = {{"S3Uri", places.checkpoints}};
  if (!options.metrics.empty())
    request["AlgorithmSpecification"]["MetricDefinitions"] = to_json(options.metrics);
  if (options.isolated) request["EnableNetworkIsolation"] = true;
  if (options.encrypted) request["EnableInterContainerTrafficEncryption"] = true;
  Json environment = map_of(options.environment);
  if (!environment.empty()) request["Environment"] = std::move(environment);
  for (const auto& [name, url] : places.inputs)
    request["InputDataConfig"].push_back({{"ChannelName", name},
                                          {"DataSource",
                                           {{"S3DataSource",
                                             {{"S3DataType", "S3Prefix"},
                                              {"S3Uri", url},
                                              {"S3DataDistributionType", "FullyReplicated"}}}}}});
  return request;
}

Result<Json> request_from(const std::string& text, const std::string& name) {
  Json request = TRY(parse_json(text));
  if (!request.is_object())
    return fail(Errc::invalid_input, "expected a JSON object: the input of CreateTrainingJob");
  if (!name.empty()) request["TrainingJobName"] = name;
  if (member_text(request, "TrainingJobName").empty())
    return fail(Errc::invalid_input, "TrainingJobName is missing; set it with --name NAME");
  return request;
}

}  // namespace muster::cli
