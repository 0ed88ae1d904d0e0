#include "env/variables.h"

#include "job/ml_paths.h"

namespace muster::env {

std::string value_of(const Env& env, const std::string& name, const std::string& otherwise) {
  const Env::const_iterator found = env.find(name);
  return found == env.end() ? otherwise : found->second;
}

std::string base_dir(const Env& env) {
  return value_of(env, "SAGEMAKER_BASE_DIR", job::ml_path);
}

}  // namespace muster::env
