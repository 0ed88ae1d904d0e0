#include "base/variables.h"

namespace muster {

std::string value_of(const Env& env, const std::string& name, const std::string& otherwise) {
  const Env::const_iterator found = env.find(name);
  return found == env.end() ? otherwise : found->second;
}

}  // namespace muster
