#pragma once

#include <string>

#include "base/command.h"

namespace muster::env {

/// The folder of the job's files: /opt/ml, or where SAGEMAKER_BASE_DIR moves it. Pure.
std::string base_dir(const Env& env);

}  // namespace muster::env
