#include "job/host_settings.h"

#include "base/text.h"

namespace muster::job {

std::string take_host_settings(Env& env) {
  std::string text;
  for (const auto& [name, value] : env)
    if (name.starts_with("MUSTER_")) text += name + "=" + value + '\0';
  std::erase_if(env, [](const auto& variable) { return variable.first.starts_with("MUSTER_"); });
  return text;
}

Result<Env> with_host_settings(Env env, const std::string& text) {
  std::vector<std::string> settings = split(text, '\0');
  if (settings.back().empty()) settings.pop_back();
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    if (!setting.starts_with("MUSTER_") || equals == std::string::npos)
      return fail(Errc::invalid_input, "expected MUSTER_NAME=VALUE, each ended by a NUL");
    env.emplace(setting.substr(0, equals), setting.substr(equals + 1));
  }
  return env;
}

}  // namespace muster::job
