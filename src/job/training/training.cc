#include "job/training/training.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "base/variables.h"
#include "job/training/config_files.h"

namespace muster::job {
namespace {

constexpr const char* homogeneous = "homogeneousCluster";

/// Parameters of the platform; other names that begin with sagemaker_ are the frameworks'.
const std::set<std::string>& platform_parameters() {
  static const std::set<std::string> names = {"sagemaker_program",
                                              "sagemaker_submit_directory",
                                              "sagemaker_enable_cloudwatch_metrics",
                                              "sagemaker_region",
                                              "sagemaker_container_log_level",
                                              "sagemaker_job_name",
                                              "default_user_module_name",
                                              "_tuning_objective_metric",
                                              "sagemaker_s3_output"};
  return names;
}

/// The value of a platform parameter as text, `standard` if it is not set.
std::string text_or(const PyValue& parameters, const char* name, const std::string& standard) {
  const PyValue* value = parameters.find(name);
  return value == nullptr ? standard : python_str(*value);
}

struct SplitParameters {
  PyValue user = PyValue::new_dict();
  PyValue platform = PyValue::new_dict();
  PyValue framework = PyValue::new_dict();
};

SplitParameters split_parameters(const PyValue& all) {
  SplitParameters result;
  for (const PyValue::Member& member : all.members) {
    if (platform_parameters().contains(member.first))
      result.platform.set(member.first, member.second);
    else if (member.first.starts_with("sagemaker_"))
      result.framework.set(member.first, member.second);
    else
      result.user.set(member.first, member.second);
  }
  return result;
}

/// Hyperparameters that ask for MPI.
struct MpiParameters {
  std::string_view enabled;
  std::string_view processes_per_host;
  std::string_view processes;
  std::string_view options;
};
constexpr MpiParameters mpi = {"sagemaker_mpi_enabled", "sagemaker_mpi_num_of_processes_per_host",
                               "sagemaker_mpi_num_processes", "sagemaker_mpi_custom_mpi_options"};
/// The Chainer estimator's. Source: SageMaker's SDK 2.257.7, chainer/estimator.py.
constexpr MpiParameters chainer_mpi = {"sagemaker_use_mpi", "sagemaker_process_slots_per_host",
                                       "sagemaker_num_processes",
                                       "sagemaker_additional_mpi_options"};

bool enabled(const PyValue& framework, std::string_view name) {
  const PyValue* value = framework.find(name);
  return value != nullptr && value->truthy();
}

/// A group takes part in the distribution if any of these parameters is true.
bool distributed(const PyValue& framework) {
  const std::vector<std::string_view>& names = distribution_parameters();
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return enabled(framework, name); });
}

bool holds_text(const PyValue& list, const std::string& text) {
  if (list.is_text()) return list.text.find(text) != std::string::npos;  // Python's `in`.
  return std::any_of(list.items.begin(), list.items.end(),
                     [&](const PyValue& item) { return item.is_text() && item.text == text; });
}

void set_groups(Training& training, const std::vector<InstanceGroup>& groups) {
  training.instance_groups_dict = PyValue::new_dict();
  for (const InstanceGroup& group : groups) {
    training.instance_groups.push_back(group.name);
    training.instance_groups_dict.set(group.name, group.source);
    if (group.name == training.instance_group && training.instance_group_hosts.empty())
      training.instance_group_hosts = group.hosts;
  }
  const PyValue* named =
      training.framework_parameters.find("sagemaker_distribution_instance_groups");
  if (named != nullptr)
    training.distribution_instance_groups = *named;
  else if (distributed(training.framework_parameters))
    training.distribution_instance_groups = PyValue::of_list({training.instance_group});
  else
    training.distribution_instance_groups = PyValue::new_list();
  if (groups.empty()) training.distribution_hosts = training.hosts;
  for (const InstanceGroup& group : groups)
    if (holds_text(training.distribution_instance_groups, group.name))
      training.distribution_hosts.insert(training.distribution_hosts.end(), group.hosts.begin(),
                                         group.hosts.end());
  training.leader = training.distribution_hosts.empty() ? training.hosts.front()
                                                        : training.distribution_hosts.front();
  training.groups_apart =
      named == nullptr && groups.size() > 1 && !training.distribution_hosts.empty();
}

void set_parameters(Training& training, const PyValue& all) {
  const SplitParameters parts = split_parameters(all);
  const Env& env = training.facts.env;
  training.hyperparameters = parts.user;
  training.framework_parameters = parts.framework;
  training.entry_point_value = PyValue::of_text(value_of(env, "SAGEMAKER_PROGRAM"));
  const PyValue* program = parts.platform.find("sagemaker_program");
  if (!training.entry_point_value.truthy())
    training.entry_point_value = program == nullptr ? PyValue() : *program;
  if (training.entry_point_value.truthy())
    training.user_entry_point = python_str(training.entry_point_value);
  std::string module = env.contains("SAGEMAKER_PROGRAM")
                           ? value_of(env, "SAGEMAKER_PROGRAM")
                           : text_or(parts.platform, "sagemaker_program", "None");
  if (module.ends_with(".py")) module.resize(module.size() - 3);
  training.module_name = module;
  const std::string submitted = value_of(env, "SAGEMAKER_SUBMIT_DIRECTORY");
  training.module_dir = text_or(parts.platform, "sagemaker_submit_directory",
                                submitted.empty() ? training.code_dir() : submitted);
  const PyValue* level = parts.platform.find("sagemaker_container_log_level");
  training.log_level = level == nullptr ? PyValue::of_int(20) : *level;
  const PyValue* name = parts.platform.find("sagemaker_job_name");
  training.declared_job_name = name == nullptr || name->is_null() ? "" : python_str(*name);
  const PyValue* output = parts.platform.find("sagemaker_s3_output");
  training.s3_output = output == nullptr || output->is_null() ? "" : python_str(*output);
  const PyValue* region = parts.platform.find("sagemaker_region");
  if (region == nullptr)
    training.region = value_of(env, "AWS_DEFAULT_REGION");
  else
    training.region = region->is_null() ? "" : python_str(*region);
  if (env.contains("SAGEMAKER_TRAINING_MODULE"))
    training.framework_module = value_of(env, "SAGEMAKER_TRAINING_MODULE");
  training.job_name = value_of(env, "TRAINING_JOB_NAME");
}

Result<Args> script_args(const Env& env) {
  Args args;
  const Env::const_iterator found = env.find("MUSTER_SCRIPT_ARGS");
  if (found == env.end()) return args;
  const Result<PyValue> list = python_loads(found->second);
  const Error wrong =
      fail(Errc::invalid_input, "MUSTER_SCRIPT_ARGS: expected a JSON list of strings");
  if (!list || !list->is_list()) return wrong;
  for (const PyValue& item : list->items) {
    if (!item.is_text() || item.text.find('\0') != std::string::npos) return wrong;
    args.push_back(item.text);
  }
  return args;
}

}  // namespace

Result<GivenConfig> given_config(const std::string& text) {
  if (!is_utf8(text)) return fail(Errc::invalid_input, "expected UTF-8");
  const PyValue all = TRY(python_loads(text));
  if (!all.is_dict()) return fail(Errc::invalid_input, "expected a JSON object");
  GivenConfig given;
  for (const PyValue::Member& member : all.members) {
    PyValue* const place = member.first == "hyperparameters"     ? &given.hyperparameters
                           : member.first == "resource_config"   ? &given.resource_config
                           : member.first == "input_data_config" ? &given.input_data_config
                                                                 : nullptr;
    if (place == nullptr)
      return fail(Errc::invalid_input,
                  "\"" + member.first +
                      "\": expected hyperparameters, resource_config or input_data_config");
    if (member.second.truthy() && !member.second.is_dict())
      return fail(Errc::invalid_input, "\"" + member.first + "\": expected a JSON object");
    *place = member.second;
  }
  return given;
}

Result<Training> training_from(const ConfigFiles& files, Facts facts, const GivenConfig& given) {
  Training training;
  training.facts = std::move(facts);
  const std::string config = training.facts.base_dir + "/input/config/";

  const PyValue parameters =
      given.hyperparameters.truthy()
          ? given.hyperparameters
          : TRY(read_hyperparameters(files.hyperparameters, config + "hyperparameters.json"));
  set_parameters(training, parameters);
  training.script_args = TRY(script_args(training.facts.env));

  ResourceConfig resources =
      given.resource_config.truthy()
          ? TRY(resource_config_from(given.resource_config, "resource_config"))
          : TRY(read_resource_config(files.resource_config, config + "resourceconfig.json",
                                     training.facts.host_name));
  training.hosts = std::move(resources.hosts);
  training.current_host = std::move(resources.current_host);
  training.instance_type = std::move(resources.instance_type);
  // What the reference takes it for, whatever the tools say.
  if (training.instance_type.find("trn2.48xlarge") != std::string::npos)
    training.facts.num_neurons = 64;
  training.instance_group = resources.group.empty() ? homogeneous : resources.group;
  training.interface = std::move(resources.interface);
  training.topology = std::move(resources.topology);
  training.resource_config = std::move(resources.source);
  set_groups(training, resources.groups);

  training.input_data_config =
      given.input_data_config.truthy()
          ? TRY(channels_from(given.input_data_config, "input_data_config"))
          : TRY(read_channels(files.input_data_config, config + "inputdataconfig.json"));
  for (const PyValue::Member& member : training.input_data_config.members)
    training.channels.push_back(member.first);
  return training;
}

const std::vector<std::string_view>& distribution_parameters() {
  static const std::vector<std::string_view> names = {
      "sagemaker_mpi_enabled",
      "sagemaker_parameter_server_enabled",
      "sagemaker_distributed_dataparallel_enabled",
      "sagemaker_pytorch_ddp_enabled",
      "sagemaker_pytorch_xla_multi_worker_enabled",
      "sagemaker_multi_worker_mirrored_strategy_enabled",
      "sagemaker_torch_distributed_enabled",
      "sagemaker_deepspeed_enabled",  // muster's own.
      chainer_mpi.enabled,
  };
  return names;
}

bool asks_for(const Training& training, std::string_view hyperparameter) {
  const PyValue& framework = training.framework_parameters;
  const bool by_chainer = hyperparameter == mpi.enabled && enabled(framework, chainer_mpi.enabled);
  return (by_chainer || enabled(framework, hyperparameter)) &&
         holds_text(training.distribution_instance_groups, training.instance_group);
}

bool mpi_enabled(const Training& training) {
  return asks_for(training, mpi.enabled);
}

namespace {

/// A framework parameter that is a count; none where it is not set, or null as the SDK sends it.
Result<std::optional<int>> count_of(const Training& training, std::string_view name) {
  const PyValue* value = training.framework_parameters.find(name);
  if (value == nullptr || !value->truthy()) return std::optional<int>();
  // The SDK sends numbers; a quoted one is what people write by hand.
  const bool digits = value->kind == PyValue::Kind::integer || value->is_text();
  const std::optional<std::int64_t> number = digits ? parse_integer(value->text) : std::nullopt;
  if (!number || *number < 1 || *number > 1000000)
    return fail(Errc::invalid_input, "hyperparameter " + std::string(name) + " is " +
                                         python_dumps(*value) + "; expected a whole number >= 1");
  return std::optional<int>(static_cast<int>(*number));
}

/// The names by which a job asks for MPI: Chainer's where only its own enables it.
const MpiParameters& mpi_parameters(const Training& training) {
  const PyValue& framework = training.framework_parameters;
  const bool by_chainer =
      enabled(framework, chainer_mpi.enabled) && !enabled(framework, mpi.enabled);
  return by_chainer ? chainer_mpi : mpi;
}

}  // namespace

Result<int> processes_per_host(const Training& training) {
  const std::optional<int> count =
      TRY(count_of(training, mpi_parameters(training).processes_per_host));
  if (count) return *count;
  if (training.facts.num_gpus > 0) return training.facts.num_gpus;
  return std::max(training.facts.num_neurons, 1);
}

Result<std::optional<int>> num_processes(const Training& training) {
  return count_of(training, mpi_parameters(training).processes);
}

Result<std::string> custom_mpi_options(const Training& training, std::string_view name) {
  if (name == mpi.options) name = mpi_parameters(training).options;
  const PyValue* value = training.framework_parameters.find(name);
  if (value == nullptr || value->is_null()) return std::string();
  if (value->is_text()) return value->text;
  return fail(Errc::invalid_input, "hyperparameter " + std::string(name) + " is " +
                                       python_dumps(*value) + "; expected a string");
}

}  // namespace muster::job
