// What a training job looks like to the script: variables, arguments, the failure text.

#include <algorithm>

#include "base/text.h"
#include "job/training.h"

namespace muster::job {
namespace {

PyValue text_or_null(const std::string& text) {
  return text.empty() ? PyValue() : PyValue::of_text(text);
}

PyValue channel_dirs(const Training& training) {
  PyValue dirs = PyValue::new_dict();
  for (const std::string& channel : training.channels)
    dirs.set(channel, PyValue::of_text(training.facts.base_dir + "/input/data/" + channel));
  return dirs;
}

/// The reference's value is the variable itself if that is empty, null without it, else a bool.
PyValue modelparallel_enabled(const Env& env) {
  const Env::const_iterator found = env.find("SM_HP_MP_PARAMETERS");
  if (found == env.end()) return PyValue();
  if (found->second.empty()) return PyValue::of_text("");
  return PyValue::of_bool(found->second != "{}");
}

/// The properties that stand both in SM_* variables of their own and in SM_TRAINING_ENV.
PyValue shared_properties(const Training& training) {
  const std::string& base = training.facts.base_dir;
  PyValue all = PyValue::new_dict();
  const auto set_text = [&all](const char* name, const std::string& value) {
    all.set(name, PyValue::of_text(value));
  };
  all.set("hosts", PyValue::of_list(training.hosts));
  set_text("network_interface_name", training.interface);
  all.set("user_entry_point", text_or_null(training.user_entry_point));
  all.set("resource_config", training.resource_config);
  all.set("input_data_config", training.input_data_config);
  set_text("output_data_dir", base + "/output/data");
  set_text("current_host", training.current_host);
  set_text("current_instance_type", training.instance_type);
  set_text("current_instance_group", training.instance_group);
  all.set("current_instance_group_hosts", PyValue::of_list(training.instance_group_hosts));
  all.set("instance_groups", PyValue::of_list(training.instance_groups));
  all.set("instance_groups_dict", training.instance_groups_dict);
  all.set("distribution_instance_groups", training.distribution_instance_groups);
  all.set("is_hetero", PyValue::of_bool(training.instance_groups.size() > 1));
  set_text("module_name", training.module_name);
  all.set("log_level", training.log_level);
  all.set("framework_module",
          training.framework_module ? PyValue::of_text(*training.framework_module) : PyValue());
  set_text("input_dir", base + "/input");
  set_text("input_config_dir", base + "/input/config");
  set_text("output_dir", base + "/output");
  all.set("num_cpus", PyValue::of_int(training.facts.num_cpus));
  all.set("num_gpus", PyValue::of_int(training.facts.num_gpus));
  all.set("num_neurons", PyValue::of_int(training.facts.num_neurons));
  set_text("model_dir", base + "/model");
  set_text("module_dir", training.module_dir);
  set_text("output_intermediate_dir", base + "/output/intermediate");
  return all;
}

/// The whole Environment as the reference dumps it.
PyValue training_env(const Training& training) {
  PyValue all = shared_properties(training);
  all.set("additional_framework_parameters", training.framework_parameters);
  all.set("channel_input_dirs", channel_dirs(training));
  all.set("distribution_hosts", PyValue::of_list(training.distribution_hosts));
  all.set("hyperparameters", training.hyperparameters);
  all.set("is_master", PyValue::of_bool(training.is_leader()));
  all.set("is_modelparallel_enabled", modelparallel_enabled(training.facts.env));
  all.set("is_smddpmprun_installed", PyValue::of_bool(training.facts.smddpmprun_installed));
  all.set("is_smddprun_installed", PyValue::of_bool(training.facts.smddprun_installed));
  all.set("job_name", training.facts.env.contains("TRAINING_JOB_NAME")
                          ? PyValue::of_text(training.job_name)
                          : PyValue());
  all.set("master_hostname", PyValue::of_text(training.leader));
  all.set("topology", training.topology);
  return all;
}

/// str.upper() for ASCII; other letters stay (Python would raise them too).
std::string upper(std::string text) {
  for (char& c : text)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return text;
}

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
    return fail(Errc::invalid_input,
                "hyperparameter " + name + ": holds a NUL, which no argument can carry");
  if (!is_utf8(text))
    return fail(Errc::invalid_input,
                "hyperparameter " + to_utf8(name) + ": holds a lone surrogate, which is no text");
  return {};
}

Args lenient_args(const Training& training) {
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
  return args;
}

}  // namespace

Env sm_variables(const Training& training) {
  PyValue all = shared_properties(training);
  all.set("hps", training.hyperparameters);
  all.set("framework_params", training.framework_parameters);
  std::vector<std::string> channels = training.channels;
  std::sort(channels.begin(), channels.end());
  all.set("channels", PyValue::of_list(channels));
  all.set("training_env", training_env(training));
  all.set("user_args", PyValue::of_list(lenient_args(training)));
  if (training.topology.truthy()) all.set("topology", training.topology);
  for (const PyValue::Member& channel : channel_dirs(training).members)
    all.set("channel_" + channel.first, channel.second);
  for (const PyValue::Member& member : training.hyperparameters.members)
    all.set("hp_" + member.first, member.second);

  Env env;
  for (const PyValue::Member& member : all.members)
    env["SM_" + upper(member.first)] = variable_text(member.second);
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
  Args args = lenient_args(training);
  args.insert(args.end(), training.script_args.begin(), training.script_args.end());
  return args;
}

Result<void> check_entry_point(const std::string& name) {
  const auto wrong = [&name](const std::string& why) {
    return fail(Errc::invalid_input,
                "sagemaker_program: the entry point \"" + to_utf8(name) + "\" " + why +
                    "; expected a path inside the source folder, such as train.py or bin/train.sh");
  };
  if (name.empty())
    return fail(Errc::invalid_input,
                "sagemaker_program: the job names no entry point; set this hyperparameter or "
                "SAGEMAKER_PROGRAM to a script inside the source folder, such as train.py");
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/";
  const std::size_t odd = name.find_first_not_of(plain);
  if (odd != std::string::npos)
    return wrong("has characters other than letters, digits and . _ + - /");
  if (name.front() == '-') return wrong("begins with '-', as an option does");
  if (name.front() == '/') return wrong("is an absolute path");
  if (name.front() == '+') return wrong("begins with '+'");
  for (const std::string& part : split(name, '/'))
    if (part.empty() || part == "." || part == "..") return wrong("has an empty, '.' or '..' part");
  return {};
}

std::string failure_text(const Verdict& verdict) {
  const Outcome& outcome = verdict.outcome;
  // Python counts a death by signal N as exit code -N.
  const int code = outcome.kind == Outcome::Kind::signaled ? -outcome.number : exit_code(outcome);
  std::string message = describe(verdict);
  if (!verdict.last_lines.empty()) message += "\n" + verdict.last_lines;
  return "ExecuteUserScriptError:\nExitCode " + std::to_string(code) + "\nErrorMessage \"" +
         message + "\"\nCommand \"" + verdict.command + "\"";
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
