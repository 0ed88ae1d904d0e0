#pragma once

#include <string>

#include "base/command.h"

namespace muster::env {

/// The folder of the job's files: /opt/ml, or the value of SAGEMAKER_BASE_DIR. Pure.
std::string base_dir(const Env& env);

}  // namespace muster::env
