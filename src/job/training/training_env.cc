// What a training job looks like to the script: variables, arguments, the failure text.

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "base/text.h"
#include "job/training/training.h"
#include "job/training/upper.h"

namespace muster::job {
namespace {

std::string variable_text(const PyValue& value) {
  if (value.is_null()) return {};
  return value.is_text() ? value.text : python_dumps(value);
}

std::string argument_text(const PyValue& value) {
  if (value.is_null()) return {};
  if (!value.is_dict()) return python_str(value);
  std::vector<std::string> parts;
  for (const PyValue::Member* member : value.sorted())
    parts.push_back(member->first + "=" + python_str(member->second));
  return join(parts, ",");
}

Result<void> check_argument(const std::string& name, const std::string& text) {
  if (text.find('\0') != std::string::npos)
    return fail(
        Errc::invalid_input,
        "hyperparameter " + name + " contains a NUL character, which is not allowed in arguments");
  if (!is_utf8(text))
    return fail(Errc::invalid_input, "hyperparameter " + to_utf8(name) +
                                         " contains a lone surrogate, which is not valid in UTF-8");
  return {};
}

/// The properties that are variables of their own, by the same name.
constexpr std::array own_variables = {
    std::string_view("hosts"),
    std::string_view("network_interface_name"),
    std::string_view("user_entry_point"),
    std::string_view("resource_config"),
    std::string_view("input_data_config"),
    std::string_view("output_data_dir"),
    std::string_view("current_host"),
    std::string_view("current_instance_type"),
    std::string_view("current_instance_group"),
    std::string_view("current_instance_group_hosts"),
    std::string_view("instance_groups"),
    std::string_view("instance_groups_dict"),
    std::string_view("distribution_instance_groups"),
    std::string_view("is_hetero"),
    std::string_view("module_name"),
    std::string_view("log_level"),
    std::string_view("framework_module"),
    std::string_view("input_dir"),
    std::string_view("input_config_dir"),
    std::string_view("output_dir"),
    std::string_view("num_cpus"),
    std::string_view("num_gpus"),
    std::string_view("num_neurons"),
    std::string_view("model_dir"),
    std::string_view("module_dir"),
    std::string_view("output_intermediate_dir"),
};

}  // namespace

Args to_cmd_args(const Training& training) {
  Args args;
  for (const PyValue::Member* member : training.hyperparameters.sorted()) {
    const std::string& name = member->first;
    // One letter is one code point.
    const bool one = !name.empty() && std::count_if(name.begin(), name.end(), [](char c) {
                                        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                                      }) == 1;
    args.push_back(name.empty() ? "" : (one ? "-" : "--") + name);
    args.push_back(argument_text(member->second));
  }
  args.insert(args.end(), training.script_args.begin(), training.script_args.end());
  return args;
}

Env to_env_vars(const Training& training) {
  const PyValue properties = job::properties(training);
  PyValue all = PyValue::new_dict();
  for (const PyValue::Member& member : properties.members)
    if (std::find(own_variables.begin(), own_variables.end(), member.first) != own_variables.end())
      all.set(member.first, member.second);
  all.set("hps", training.hyperparameters);
  all.set("framework_params", training.framework_parameters);
  std::vector<std::string> channels = training.channels;
  std::sort(channels.begin(), channels.end());
  all.set("channels", PyValue::of_list(channels));
  all.set("training_env", properties);
  all.set("user_args", PyValue::of_list(to_cmd_args(training)));
  if (training.topology.truthy()) all.set("topology", training.topology);
  for (const PyValue::Member& channel : properties.find("channel_input_dirs")->members)
    all.set("channel_" + channel.first, channel.second);
  for (const PyValue::Member& member : training.hyperparameters.members)
    all.set("hp_" + member.first, member.second);

  Env env;
  for (const PyValue::Member& member : all.members)
    env["SM_" + python_upper(member.first)] = variable_text(member.second);
  return env;
}

Env elder_variables(const Training& training) {
  const Facts& facts = training.facts;
  const std::string model = facts.base_dir + "/model";
  std::vector<std::string> channels = training.channels;
  std::sort(channels.begin(), channels.end());
  Env env = {{"SAGEMAKER_CHANNELS", join(channels, ",")}, {"SAGEMAKER_MODEL_DIR", model}};
  // A name that an image may well use for its own ends.
  const Env::const_iterator own = facts.env.find("MODEL_DIR");
  env["MODEL_DIR"] = own == facts.env.end() ? model : own->second;
  for (const std::string& channel : channels)
    env["SAGEMAKER_CHANNEL_" + python_upper(channel)] = facts.base_dir + "/input/data/" + channel;
  return env;
}

Env sm_variables(const Training& training) {
  Env env = to_env_vars(training);
  env.merge(elder_variables(training));
  env["CURRENT_HOST"] = training.current_host;
  env["SAGEMAKER_JOB_NAME"] = training.declared_job_name;
  env["SAGEMAKER_REGION"] = training.region;
  return env;
}

Result<Args> user_args(const Training& training) {
  for (const PyValue::Member& member : training.hyperparameters.members) {
    TRY(check_argument(member.first, member.first));
    TRY(check_argument(member.first, argument_text(member.second)));
    TRY(check_argument(member.first, variable_text(member.second)));
  }
  return to_cmd_args(training);
}

Result<void> check_entry_point(const std::string& name) {
  const auto invalid_name = [&name](const std::string& why) {
    return fail(Errc::invalid_input, "sagemaker_program: the entry point \"" + to_utf8(name) +
                                         "\" " + why +
                                         "; expected a relative path inside the source folder, "
                                         "such as train.py or bin/train.sh");
  };
  if (name.empty())
    return fail(Errc::invalid_input,
                "sagemaker_program: the job has no entry point; set this hyperparameter or "
                "SAGEMAKER_PROGRAM to a script inside the source folder, such as train.py");
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/";
  const std::size_t odd = name.find_first_not_of(plain);
  if (odd != std::string::npos)
    return invalid_name("contains characters other than letters, digits and . _ + - /");
  if (name.front() == '-') return invalid_name("starts with '-', like an option");
  if (name.front() == '/') return invalid_name("is an absolute path");
  if (name.front() == '+') return invalid_name("starts with '+'");
  for (const std::string& part : split(name, '/'))
    if (part.empty() || part == "." || part == "..")
      return invalid_name("contains a path component that is empty, '.' or '..'");
  return {};
}

namespace {

/// Paths of SageMaker's own compiler in tracebacks, by which the reference recognizes its errors.
bool from_training_compiler(const std::string& lines) {
  for (const char* path : {"tensorflow/compiler/xla", "tensorflow/compiler/tf2xla",
                           "tensorflow/python/compiler/xla", "torch_xla/"})
    if (lines.find(path) != std::string::npos) return true;
  return false;
}

}  // namespace

std::string failure_text(const Verdict& verdict) {
  const Outcome& outcome = verdict.outcome;
  // Nothing was run: the reference's ClientError is its bare line.
  if (outcome.kind == Outcome::Kind::failed && verdict.command.empty() &&
      verdict.error_class.empty())
    return describe(verdict);
  // Python counts a death by signal N as exit code -N.
  const int code = outcome.kind == Outcome::Kind::signaled ? -outcome.number : exit_code(outcome);
  std::string message = describe(verdict);
  if (!verdict.last_lines.empty()) message += "\n" + verdict.last_lines;
  std::string extra;
  if (verdict.out_of_memory)
    extra = "OutOfMemory: Process killed by SIGKILL (signal 9)";
  else if (from_training_compiler(verdict.last_lines))
    extra = "SMTrainingCompiler Error: Error occurred in SMTrainingCompiler.";
  const std::string& name = verdict.error_class;
  return (name.empty() ? "ExecuteUserScriptError" : name) + ":\nExitCode " + std::to_string(code) +
         "\nErrorMessage \"" + message + "\"" +
         (extra.empty() ? "" : "\nExtraInfo \"" + extra + "\"") + "\nCommand \"" + verdict.command +
         "\"";
}

std::string framework_failure_text(const std::string& line) {
  return "Framework Error: \n" + line;
}

int framework_exit_code(const Error& error) {
  if (error.code == Errc::not_found) return ENOENT;
  return error.code == Errc::denied ? EACCES : 1;
}

std::string env_text(const Env& env) {
  std::string text;
  for (const auto& [name, value] : env) text += name + "=" + value + "\n";
  return text;
}

std::string env_shell(const Env& env) {
  std::string text;
  for (const auto& [name, value] : env) {
    // A hyperparameter's name may be no shell name: such variables exist, but cannot be exported.
    const bool shell_name = name.find_first_not_of(
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrst"
                                "uvwxyz0123456789") == std::string::npos;
    if (shell_name) text += "export " + name + "=" + shell_quoted({value}) + "\n";
  }
  return text;
}

std::string env_json(const Env& env) {
  PyValue object = PyValue::new_dict();
  for (const auto& [name, value] : env) object.set(name, PyValue::of_text(value));
  return python_dumps(object);
}

}  // namespace muster::job
