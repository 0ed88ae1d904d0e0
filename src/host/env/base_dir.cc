#include "host/env/base_dir.h"

#include "base/variables.h"
#include "job/ml_paths.h"

namespace muster::env {

std::string base_dir(const Env& env) {
  return value_of(env, "SAGEMAKER_BASE_DIR", job::ml_path);
}

}  // namespace muster::env
