#include "base/process/rootless.h"

#include "base/process/private_folders.h"
#include "base/text.h"

namespace muster {

std::int64_t rootless_ids(const Env& env) {
  const Env::const_iterator found = env.find(rootless_variable);
  return found == env.end() ? 0 : parse_integer(found->second).value_or(0);
}

std::string user_state_folder(const Env& env) {
  for (const auto& [name, below] :
       {std::pair{"XDG_STATE_HOME", "/muster"}, std::pair{"HOME", "/.local/state/muster"}}) {
    const Env::const_iterator found = env.find(name);
    if (found != env.end() && found->second.starts_with('/')) return found->second + below;
  }
  return {};
}

std::string private_folder_register_of(const Env& env) {
  const std::string folder = rootless_ids(env) > 0 ? user_state_folder(env) : std::string();
  return folder.empty() ? private_folder_register : folder + "/folders";
}

}  // namespace muster
