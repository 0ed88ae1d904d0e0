#include "job/host_settings.h"

#include "base/text.h"

namespace muster::job {
namespace {

/// PATH of an image that names none.
constexpr const char* usual_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

}  // namespace

std::string variables_text(const Env& env) {
  std::string text;
  for (const auto& [name, value] : env) text += name + "=" + value + '\0';
  return text;
}

Result<Env> variables_from(const std::string& text) {
  Env env;
  std::vector<std::string> variables = split(text, '\0');
  if (variables.back().empty()) variables.pop_back();
  for (const std::string& variable : variables) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Errc::invalid_input,
                  "expected NAME=VALUE entries, each terminated by a NUL character");
    env.emplace(variable.substr(0, equals), variable.substr(equals + 1));
  }
  return env;
}

Env over_variables(Env env, const Env& own) {
  for (const auto& [name, value] : own) env[name] = value;
  std::string& path = env["PATH"];
  if (path.empty()) path = usual_path;
  path += ":" + std::string(own_programs_path);
  return env;
}

std::string take_host_settings(Env& env) {
  Env settings;
  for (const auto& [name, value] : env)
    if (name.starts_with("MUSTER_")) settings.emplace(name, value);
  std::string text = variables_text(settings);
  std::erase_if(env, [](const auto& variable) { return variable.first.starts_with("MUSTER_"); });
  return text;
}

Result<Env> with_host_settings(Env env, const std::string& text) {
  std::vector<std::string> settings = split(text, '\0');
  if (settings.back().empty()) settings.pop_back();
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (!setting.starts_with("MUSTER_") || equals == std::string::npos)
      return fail(Errc::invalid_input,
                  "expected MUSTER_NAME=VALUE entries, each terminated by a NUL character");
    env.emplace(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return env;
}

}  // namespace muster::job
